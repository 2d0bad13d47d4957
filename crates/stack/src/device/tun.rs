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

/// The settings of a TUN device. The addresses are the *kernel's* on the device; the stack has
/// other addresses of the same networks.
#[derive(Clone, Debug)]
pub struct TunSettings {
    /// Its name; `None` lets the kernel choose. An existing device of that name is used
    /// (`ip tuntap add` makes one that needs no privileges).
    pub name: Option<String>,
    /// The largest packet, in octets (at least 576; IPv6 needs 1280).
    pub mtu: u16,
    /// The kernel's IPv4 address, and the number of its bits that name the network.
    pub ipv4: Option<(Ipv4Addr, u8)>,
    /// The kernel's IPv6 address, and the number of its bits that name the network.
    pub ipv6: Option<(Ipv6Addr, u8)>,
    /// Whether checksums and segmentation are left to the kernel and packets of up to 64 KiB pass.
    /// Without it every packet is as on a wire.
    pub offload: bool,
    /// Whether a kernel thread takes in what the stack sends, many packets at a time, joining those
    /// that continue each other (threaded NAPI with GRO, as from a network card). Bulk data to the
    /// kernel then flows at least twice as fast, but a single packet waits until one more thread is
    /// woken. On the device every packet is still as on a wire. It has no effect with `offload`,
    /// which already makes packets large. It needs the network namespace's own `/sys`.
    pub threaded_napi: bool,
    /// The most packets that wait for the stack to read them; further ones are dropped. The root of
    /// a mere user namespace may make a device but not set this; then the kernel's 500 apply.
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
    /// The runtime's watch on the device, while there is one. With it, every packet that the kernel
    /// sends passes through epoll's locks, whether or not any task sleeps.
    watch: Mutex<Option<AsyncFd<Arc<SyncDevice>>>>,
}

impl Tun {
    /// Opens and sets up the device. Must be called on a tokio runtime with its IO driver.
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
        // SAFETY: the device owns its descriptor, always returns that one, and outlives the
        // `AsyncFd`, which holds it and takes it out of the reactor when it is dropped.
        unsafe { AsyncFd::register_with_interest(Arc::clone(&self.device), Interest::READABLE) }
            .map_err(Into::into)
    }

    /// Locks the watch. It is valid even if another thread panicked.
    fn lock_watch(&self) -> MutexGuard<'_, Option<AsyncFd<Arc<SyncDevice>>>> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the kernel's name of the device.
    ///
    /// # Errors
    ///
    /// If the kernel does not return it.
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
        // With offload, a packet from the kernel has no checksum yet (NEEDS_CSUM), or its checksum
        // was verified where it entered the machine (DATA_VALID).
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
            // A new watch also reports what is there already.
            none => none.insert(self.new_watch()?),
        };
        let mut guard = ready!(watch.poll_read_ready(context))?;
        // The caller reads until nothing is left, so the next packet causes a new notification.
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

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`; the crate has no name for it, nor for the next two.
const NEEDS_CSUM: u8 = 1;
/// `VIRTIO_NET_HDR_F_DATA_VALID`.
const DATA_VALID: u8 = 2;
/// `VIRTIO_NET_HDR_GSO_NONE`.
const WHOLE: u8 = 0;
/// The offset of the checksum in a TCP header.
const CHECKSUM_AT: u16 = 16;

/// Returns the header that tells the kernel how to finish a packet (virtio 1.2, section 5.1.6).
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
