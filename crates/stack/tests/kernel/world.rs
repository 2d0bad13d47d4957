//! A TUN device with the kernel at one end and a stack at the other.

use std::io::{Read, Write};
use std::net::{
    IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use std::{io, thread};

use tinygram_stack::device::{Abilities, Device, Offload, Received};
use tinygram_stack::{Stack, StackSettings, Tun, TunSettings};

use crate::common::{Digest, PIECE, Stream, Troubled, Troubles};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    V4,
    V6,
}

/// What lies between the two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) mtu: u16,
    pub(crate) offload: bool,
    pub(crate) threaded_napi: bool,
    pub(crate) troubles: Option<Troubles>,
    /// Whether the stack has as little memory as possible.
    pub(crate) scarce: bool,
}

impl Line {
    pub(crate) const PLAIN: Self = Self {
        mtu: 1500,
        offload: false,
        threaded_napi: false,
        troubles: None,
        scarce: false,
    };
    pub(crate) const OFFLOAD: Self = Self {
        offload: true,
        ..Self::PLAIN
    };
}

/// Both ends of a line. Each has a network of its own, so that trials may run side by side.
pub(crate) struct World {
    pub(crate) stack: Stack,
    number: u8,
    deaf: Arc<AtomicBool>,
}

impl World {
    pub(crate) fn new(line: Line) -> Self {
        static NUMBER: AtomicU8 = AtomicU8::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let tun = Tun::open(&TunSettings {
            mtu: line.mtu,
            ipv4: Some((v4(number, 1), 24)),
            ipv6: Some((v6(number, 1), 64)),
            offload: line.offload,
            threaded_napi: line.threaded_napi,
            ..TunSettings::default()
        })
        .expect("a TUN device");
        let addresses = [IpAddr::V4(v4(number, 2)), IpAddr::V6(v6(number, 2))];
        wait_for(addresses_of_the_kernel(number));
        let deaf = Arc::new(AtomicBool::new(false));
        let device = Deaf {
            device: tun,
            deaf: Arc::clone(&deaf),
        };
        let mut settings = StackSettings::default();
        if line.scarce {
            settings.memory = 1 << 20;
        }
        let stack = match line.troubles {
            Some(troubles) => {
                Stack::with_settings(Troubled::new(device, troubles), &addresses, &settings)
            }
            None => Stack::with_settings(device, &addresses, &settings),
        };
        Self {
            stack: stack.expect("a stack"),
            number,
            deaf,
        }
    }

    pub(crate) fn kernel(&self, family: Family, port: u16) -> SocketAddr {
        self.end(family, 1, port)
    }

    pub(crate) fn stack(&self, family: Family, port: u16) -> SocketAddr {
        self.end(family, 2, port)
    }

    fn end(&self, family: Family, last: u8, port: u16) -> SocketAddr {
        match family {
            Family::V4 => SocketAddr::new(v4(self.number, last).into(), port),
            Family::V6 => SocketAddr::new(v6(self.number, last).into(), port),
        }
    }

    /// From now on drops everything the kernel sends, or stops doing so.
    pub(crate) fn set_deaf(&self, deaf: bool) {
        self.deaf.store(deaf, Ordering::SeqCst);
    }

    /// Returns a connection between the kernel and us, opened by one or the other. Our runtime goes on while the kernel
    /// works: on a line with losses the last segment of the handshake may have to be sent again.
    pub(crate) async fn connected(
        &self,
        family: Family,
        we_open: bool,
    ) -> (tinygram_stack::TcpStream, TcpStream) {
        if we_open {
            let listener = TcpListener::bind(self.kernel(family, 0)).expect("a listener");
            let address = listener.local_addr().expect("its address");
            let accepts = thread::spawn(move || listener.accept().expect("a connection").0);
            let ours = tinygram_stack::TcpStream::connect(&self.stack, address)
                .await
                .expect("a connection");
            (ours, kernel(|| accepts.join().expect("no panic")).await)
        } else {
            let listener = tinygram_stack::TcpListener::bind(&self.stack, self.stack(family, 0))
                .expect("a listener");
            let address = listener.local_addr();
            let connects =
                thread::spawn(move || TcpStream::connect(address).expect("a connection"));
            let (ours, _) = listener.accept().await.expect("a connection");
            (ours, kernel(|| connects.join().expect("no panic")).await)
        }
    }
}

/// Runs the blocking calls of the kernel's end on another thread, while our runtime continues.
pub(crate) async fn kernel<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("no panic")
}

/// Writes the stream and ends it.
pub(crate) fn kernel_sends(mut to: &TcpStream, seed: u64, len: u64) -> io::Result<()> {
    let mut stream = Stream::new(seed, len);
    let mut buffer = vec![0; PIECE];
    loop {
        match stream.fill(&mut buffer) {
            0 => return to.shutdown(Shutdown::Write),
            some => to.write_all(&buffer[..some])?,
        }
    }
}

/// Reads until the end.
pub(crate) fn kernel_receives(mut from: &TcpStream) -> io::Result<(u64, u64)> {
    let mut digest = Digest::default();
    let mut buffer = vec![0; PIECE];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(digest.finish()),
            some => digest.add(&buffer[..some]),
        }
    }
}

fn addresses_of_the_kernel(number: u8) -> [SocketAddr; 2] {
    [v4(number, 1).into(), v6(number, 1).into()].map(|ip: IpAddr| SocketAddr::new(ip, 0))
}

/// Waits until the addresses can be used: an IPv6 address becomes usable a moment after it is set,
/// when the kernel has checked that nobody else has it.
fn wait_for(addresses: [SocketAddr; 2]) {
    for address in addresses {
        let there = (0..5000).any(|_| {
            thread::sleep(Duration::from_millis(1));
            UdpSocket::bind(address).is_ok()
        });
        assert!(there, "the kernel does not take {address}");
    }
}

fn v4(number: u8, last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, number, last)
}

fn v6(number: u8, last: u8) -> Ipv6Addr {
    Ipv6Addr::new(0xfd77, 0, 0, number.into(), 0, 0, 0, last.into())
}

/// A device that can be made deaf.
struct Deaf {
    device: Tun,
    deaf: Arc<AtomicBool>,
}

impl Device for Deaf {
    fn abilities(&self) -> Abilities {
        self.device.abilities()
    }

    fn send(&self, octets: &mut [u8], offload: Option<Offload>) -> io::Result<()> {
        self.device.send(octets, offload)
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<Received> {
        loop {
            let received = self.device.receive(buffer)?;
            if !self.deaf.load(Ordering::SeqCst) {
                return Ok(received);
            }
        }
    }

    fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.device.poll_readable(context)
    }
}
