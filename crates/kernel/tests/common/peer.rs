//! The other end of a connection, made by hand: it sees each segment on the wire, and acknowledges when it is told to.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::mem;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// A network of one host, on a device whose other end is this process. It ends with the thread.
pub(crate) struct Network {
    device: File,
}

/// One connection: a socket of the kernel, and its peer.
pub(crate) struct Connection<'a> {
    network: &'a mut Network,
    pub(crate) socket: OwnedFd,
    /// The kernel's port, and its number of the first octet.
    port: u16,
    first: u32,
    window: u16,
    acknowledged: u32,
}

/// A data segment: where it begins, counted from the connection's first octet, and how long it is.
pub(crate) type Segment = (u32, usize);

impl Network {
    /// Makes the network for this thread; `None` if this machine does not let us, with the reason on standard error.
    pub(crate) fn new() -> Option<Self> {
        // SAFETY: takes a number, and changes this thread alone.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            eprintln!(
                "skipped: no network namespace: {}",
                io::Error::last_os_error()
            );
            return None;
        }
        match Self::device() {
            Ok(device) => Some(Self { device }),
            Err(error) => {
                eprintln!("skipped: no TUN device: {error}");
                None
            }
        }
    }

    fn device() -> io::Result<File> {
        let device = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/net/tun")?;
        // SAFETY: all zeros is a valid request.
        let mut request: libc::ifreq = unsafe { mem::zeroed() };
        for (slot, octet) in request.ifr_name.iter_mut().zip(b"tg0") {
            *slot = *octet as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
        control(device.as_raw_fd(), TUNSETIFF, &request)?;
        let socket = tcp()?;
        request.ifr_ifru.ifru_addr = address(HOST, 0);
        control(socket.as_raw_fd(), libc::SIOCSIFADDR, &request)?;
        request.ifr_ifru.ifru_netmask = address(Ipv4Addr::new(255, 255, 255, 0), 0);
        control(socket.as_raw_fd(), libc::SIOCSIFNETMASK, &request)?;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
        control(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &request)?;
        // SAFETY: our own descriptor.
        unsafe { libc::fcntl(device.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
        Ok(device)
    }

    /// Opens a connection with the congestion control of this name and TCP_NODELAY.
    pub(crate) fn connect(&mut self, congestion: &str) -> Connection<'_> {
        self.connect_after(congestion, Duration::ZERO)
    }

    /// Does the same with a peer that takes so long to answer the SYN.
    pub(crate) fn connect_after(&mut self, congestion: &str, wait: Duration) -> Connection<'_> {
        let socket = tcp().unwrap();
        set(&socket, libc::TCP_CONGESTION, congestion.as_bytes());
        set(&socket, libc::TCP_NODELAY, &1_i32.to_ne_bytes());
        // SAFETY: our own descriptor, and an address of the right length.
        unsafe {
            libc::fcntl(socket.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK);
            let peer = address(PEER, 80);
            let length = size_of::<libc::sockaddr_in>() as u32;
            libc::connect(socket.as_raw_fd(), &raw const peer, length);
            libc::fcntl(socket.as_raw_fd(), libc::F_SETFL, 0);
        }
        // What is left of earlier connections is passed over.
        let syn = std::iter::from_fn(|| self.next()).find(|packet| packet[33] & SYN != 0);
        let syn = syn.expect("a SYN");
        std::thread::sleep(wait);
        let port = u16::from_be_bytes([syn[20], syn[21]]);
        let first = u32::from_be_bytes(syn[24..28].try_into().unwrap()).wrapping_add(1);
        let mss = [2, 4, (MSS >> 8) as u8, MSS as u8];
        let mut connection = Connection {
            network: self,
            socket,
            port,
            first,
            window: WIDE,
            acknowledged: 0,
        };
        connection
            .network
            .send(&segment(port, OURS, first, SYN | ACK, WIDE, &mss));
        connection.seen();
        connection
    }

    /// Returns the next TCP packet of the kernel's, if there is one.
    fn next(&mut self) -> Option<Vec<u8>> {
        let mut packet = vec![0; 4096];
        loop {
            let length = self.device.read(&mut packet).ok()?;
            if packet[0] >> 4 == 4 && packet[9] == 6 {
                packet.truncate(length);
                return Some(packet);
            }
        }
    }

    fn send(&mut self, packet: &[u8]) {
        self.device.write_all(packet).unwrap();
    }
}

impl Connection<'_> {
    /// Writes, and returns what left.
    pub(crate) fn write(&mut self, octets: usize, flags: i32) -> Vec<Segment> {
        let data = vec![b'x'; octets];
        // SAFETY: our own descriptor and buffer.
        let written =
            unsafe { libc::send(self.socket.as_raw_fd(), data.as_ptr().cast(), octets, flags) };
        assert_eq!(written, octets as isize);
        self.seen()
    }

    /// Acknowledges up to this octet, and returns what left.
    pub(crate) fn acknowledge(&mut self, to: u32) -> Vec<Segment> {
        self.acknowledged = to;
        self.speak(&[])
    }

    /// Acknowledges up to this octet and offers another window, and returns what left.
    pub(crate) fn shrink(&mut self, to: u32, window: u16) -> Vec<Segment> {
        self.window = window;
        self.acknowledge(to)
    }

    /// Sets TCP_NODELAY once more, and returns what left.
    pub(crate) fn flush(&mut self) -> Vec<Segment> {
        set(&self.socket, libc::TCP_NODELAY, &1_i32.to_ne_bytes());
        self.seen()
    }

    /// Changes the congestion control.
    pub(crate) fn choose(&self, congestion: &str) {
        set(&self.socket, libc::TCP_CONGESTION, congestion.as_bytes());
    }

    /// Offers another window, and returns what left.
    pub(crate) fn offer(&mut self, window: u16) -> Vec<Segment> {
        self.window = window;
        self.speak(&[])
    }

    fn speak(&mut self, octets: &[u8]) -> Vec<Segment> {
        let ack = self.first.wrapping_add(self.acknowledged);
        let packet = segment(self.port, OURS + 1, ack, ACK, self.window, octets);
        self.network.send(&packet);
        self.seen()
    }

    /// Returns the data segments that have left since it was last asked.
    pub(crate) fn seen(&mut self) -> Vec<Segment> {
        let mut seen = Vec::new();
        while let Some(packet) = self.network.next() {
            let length = packet.len() - 20 - usize::from(packet[32] >> 4) * 4;
            if length > 0 && u16::from_be_bytes([packet[20], packet[21]]) == self.port {
                let seq = u32::from_be_bytes(packet[24..28].try_into().unwrap());
                seen.push((seq.wrapping_sub(self.first), length));
            }
        }
        seen
    }
}

fn tcp() -> io::Result<OwnedFd> {
    // SAFETY: takes numbers.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just made.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

fn set(socket: &OwnedFd, option: i32, value: &[u8]) {
    // SAFETY: our own descriptor and value.
    let failed = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            option,
            value.as_ptr().cast(),
            value.len() as u32,
        )
    };
    assert_eq!(failed, 0, "option {option}: {}", io::Error::last_os_error());
}

fn control(fd: i32, request: libc::Ioctl, argument: &libc::ifreq) -> io::Result<()> {
    // SAFETY: each of the requests used here takes such an argument.
    match unsafe { libc::ioctl(fd, request, std::ptr::from_ref(argument)) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn address(address: Ipv4Addr, port: u16) -> libc::sockaddr {
    let address = SocketAddrV4::new(address, port);
    let own = libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr {
            s_addr: u32::from_ne_bytes(address.ip().octets()),
        },
        sin_zero: [0; 8],
    };
    // SAFETY: both are 16 octets.
    unsafe { mem::transmute(own) }
}

/// Makes a packet from the peer's port 80 with these options.
fn segment(to: u16, seq: u32, ack: u32, flags: u8, window: u16, options: &[u8]) -> Vec<u8> {
    let length = 40 + options.len();
    let mut packet = vec![0; length];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    packet[8] = 64;
    packet[9] = 6;
    packet[12..16].copy_from_slice(&PEER.octets());
    packet[16..20].copy_from_slice(&HOST.octets());
    let sum = checksum(&packet[..20], 0);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet[20..22].copy_from_slice(&80_u16.to_be_bytes());
    packet[22..24].copy_from_slice(&to.to_be_bytes());
    packet[24..28].copy_from_slice(&seq.to_be_bytes());
    packet[28..32].copy_from_slice(&ack.to_be_bytes());
    packet[32] = ((20 + options.len()) as u8 / 4) << 4;
    packet[33] = flags;
    packet[34..36].copy_from_slice(&window.to_be_bytes());
    packet[40..].copy_from_slice(options);
    // The pseudo header: both addresses, the protocol, the length.
    let pseudo = 6 + (length as u32 - 20);
    let addresses: Vec<u8> = packet[12..20].to_vec();
    let sum = checksum(&[&addresses, &packet[20..]].concat(), pseudo);
    packet[36..38].copy_from_slice(&sum.to_be_bytes());
    packet
}

fn checksum(octets: &[u8], start: u32) -> u16 {
    let words = octets
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low)));
    let mut sum = start + words.sum::<u32>();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

pub(crate) const MSS: u16 = 1000;
pub(crate) const WIDE: u16 = 65_535;
const HOST: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
const PEER: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
const OURS: u32 = 1_000_000;
const SYN: u8 = 2;
const ACK: u8 = 16;
const TUNSETIFF: libc::Ioctl = 0x4004_54ca;
