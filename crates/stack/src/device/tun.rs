//! A TUN device of Linux.

mod napi;

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Handle;
use tun_rs::{DeviceBuilder, SyncDevice};

use super::{Abilities, Device, Offload, Received};

/// The settings of a TUN device. The addresses are the *kernel's* on it; the stack's own are others of
/// the same networks.
#[derive(Clone, Debug)]
pub struct TunSettings {
    /// Its name; the kernel chooses one if there is none. A device of that name that exists already
    /// is taken over (`ip tuntap add` makes one that needs no privileges).
    pub name: Option<String>,
    /// The largest packet, in octets (at least 576; IPv6 needs 1280).
    pub mtu: u16,
    /// The kernel's IPv4 address, and how many bits of it name the network.
    pub ipv4: Option<(Ipv4Addr, u8)>,
    /// The kernel's IPv6 address, and how many bits of it name the network.
    pub ipv6: Option<(Ipv6Addr, u8)>,
    /// Checksums and segmentation are left to the kernel, and packets up to 64 KiB pass. Without it
    /// every packet is as it would be on a wire.
    pub offload: bool,
    /// The kernel takes in what we send by a thread of its own, many packets at a time and joined
    /// where they continue each other (threaded NAPI with GRO, as from a network card). Bulk data to
    /// the kernel goes at twice the rate and more; a single packet waits for one thread more to be
    /// woken. On the device every packet still is as on a wire. Means nothing with `offload`, under
    /// which packets are large already. Needs the network namespace's own `/sys`.
    pub threaded_napi: bool,
    /// Packets that may wait for us to read them; more are lost. Where only a user namespace's root
    /// asks, who may make a device and not set this, the kernel's 500 stand.
    pub queue: u32,
}

impl Default for TunSettings {
    fn default() -> Self {
        Self {
            name: None,
            mtu: 1500,
            ipv4: None,
            ipv6: None,
            offload: true,
            threaded_napi: false,
            queue: 4096,
        }
    }
}

/// A TUN device.
pub struct Tun {
    device: Arc<SyncDevice>,
    abilities: Abilities,
    runtime: Handle,
    /// The runtime's watch on the device, while there is one: with it, every packet that the kernel
    /// sends goes through epoll's locks, whether or not anybody sleeps.
    watch: Mutex<Option<AsyncFd<Arc<SyncDevice>>>>,
}

impl Tun {
    /// Makes the device and sets it up. Must be called on a tokio runtime with its IO driver.
    ///
    /// # Errors
    ///
    /// If there is no `/dev/net/tun`, or the right to make a device (`CAP_NET_ADMIN`) is missing.
    pub fn open(settings: &TunSettings) -> io::Result<Self> {
        let device = match settings.threaded_napi && !settings.offload {
            true => napi::open(settings)?,
            false => build(settings)?,
        };
        match device.set_tx_queue_len(settings.queue) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            set => set?,
        }
        device.set_nonblocking(true)?;
        let headroom = match settings.offload {
            true => tun_rs::VIRTIO_NET_HDR_LEN,
            false => 0,
        };
        let tun = Self {
            device: Arc::new(device),
            abilities: Abilities {
                mtu: settings.mtu,
                offload: settings.offload,
                headroom,
            },
            runtime: Handle::current(),
            watch: Mutex::new(None),
        };
        *tun.lock_watch() = Some(tun.new_watch()?);
        Ok(tun)
    }

    fn new_watch(&self) -> io::Result<AsyncFd<Arc<SyncDevice>>> {
        let _inside = self.runtime.enter();
        // SAFETY: the device owns its descriptor, always gives that one, and outlives the `AsyncFd`,
        // which holds it and takes it out of the reactor when it is dropped.
        unsafe { AsyncFd::register_with_interest(Arc::clone(&self.device), Interest::READABLE) }
            .map_err(Into::into)
    }

    /// Locks the watch. It is whole even where another thread panicked.
    fn lock_watch(&self) -> MutexGuard<'_, Option<AsyncFd<Arc<SyncDevice>>>> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the name that the kernel knows it by.
    ///
    /// # Errors
    ///
    /// If the kernel does not say.
    pub fn name(&self) -> io::Result<String> {
        self.device.name()
    }
}

impl Device for Tun {
    fn abilities(&self) -> Abilities {
        self.abilities
    }

    #[inline]
    fn send(&self, octets: &mut [u8], offload: Option<Offload>) -> io::Result<()> {
        if self.abilities.offload {
            let header = offload.map_or_else(tun_rs::VirtioNetHdr::default, virtio);
            header.encode(octets)?;
        }
        self.device.send(octets).map(|_| ())
    }

    #[inline]
    fn receive(&self, buffer: &mut [u8]) -> io::Result<Received> {
        let end = self.device.recv(buffer)?;
        let start = self.abilities.headroom.min(end);
        // With offload what the kernel sends has its checksum still to come (NEEDS_CSUM), or was
        // found right where it entered the machine (DATA_VALID).
        let vouched = NEEDS_CSUM | DATA_VALID;
        let verified = start > 0 && buffer[0] & vouched != 0;
        Ok(Received {
            start,
            end,
            verified,
        })
    }

    fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut watch = self.lock_watch();
        let watch = match &mut *watch {
            Some(watch) => watch,
            // A new one tells of what is there already, too.
            none => none.insert(self.new_watch()?),
        };
        let mut guard = ready!(watch.poll_read_ready(context))?;
        // The caller reads until nothing is left, so that the next packet is told of anew.
        guard.clear_ready();
        Poll::Ready(Ok(()))
    }

    fn unwatch(&self) {
        self.lock_watch().take();
    }
}

fn build(settings: &TunSettings) -> io::Result<SyncDevice> {
    let mut builder = DeviceBuilder::new()
        .mtu(settings.mtu)
        .offload(settings.offload)
        .packet_information(false);
    if let Some(name) = &settings.name {
        builder = builder.name(name);
    }
    if let Some((address, prefix)) = settings.ipv4 {
        builder = builder.ipv4(address, prefix, None);
    }
    if let Some((address, prefix)) = settings.ipv6 {
        builder = builder.ipv6(address, prefix);
    }
    builder.build_sync()
}

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`; the crate does not name it, nor the two that follow.
const NEEDS_CSUM: u8 = 1;
/// `VIRTIO_NET_HDR_F_DATA_VALID`.
const DATA_VALID: u8 = 2;
/// `VIRTIO_NET_HDR_GSO_NONE`.
const WHOLE: u8 = 0;
/// Where in a TCP header the checksum stands.
const CHECKSUM_AT: u16 = 16;

/// Returns what the kernel wants to know of a packet that it is to finish (virtio 1.2, section 5.1.6).
fn virtio(offload: Offload) -> tun_rs::VirtioNetHdr {
    let gso_type = match (offload.segment, offload.ipv6) {
        (0, _) => WHOLE,
        (_, false) => tun_rs::VIRTIO_NET_HDR_GSO_TCPV4,
        (_, true) => tun_rs::VIRTIO_NET_HDR_GSO_TCPV6,
    };
    tun_rs::VirtioNetHdr {
        flags: NEEDS_CSUM,
        gso_type,
        hdr_len: offload.headers,
        gso_size: offload.segment,
        csum_start: offload.ip_header,
        csum_offset: CHECKSUM_AT,
    }
}
