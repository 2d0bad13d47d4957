//! smoltcp's end: `smol NAME wire|napi usual|best` on the TUN device NAME, which is there already.
//! It has no offload. One thread, one loop, sockets with buffers of a megabyte, as ours have.

use std::os::fd::{AsRawFd, IntoRawFd};
use std::time::Duration;

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Medium, TunTapInterface, wait};
use smoltcp::socket::tcp::{Socket, SocketBuffer};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

/// What a socket does with its connections.
enum Service {
    Sink,
    Source,
    /// The length of question and answer, once it is known, and how much of the answer is to go.
    Answer {
        octets: Option<usize>,
        left: usize,
    },
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let best = words[2] == "best";
    let mut device = match words[1].as_str() {
        "napi" => with_napi(&words[0]),
        _ => TunTapInterface::new(&words[0], Medium::Ip).expect("the device"),
    };
    // How long to look for packets before going to sleep, where that keeps no other program waiting.
    let alone = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
    let patience = Duration::from_micros(if best && alone { 50 } else { 0 });
    let mut last_busy = std::time::Instant::now();
    let fd = device.as_raw_fd();
    let mut interface = Interface::new(
        Config::new(HardwareAddress::Ip),
        &mut device,
        Instant::now(),
    );
    interface.update_ip_addrs(|all| {
        let address = IpCidr::new(IpAddress::v4(10, 99, 0, 2), 24);
        all.push(address).expect("room");
    });
    let mut sockets = SocketSet::new(vec![]);
    let mut services: Vec<(SocketHandle, u16, Service)> = Vec::new();
    for port in [5001, 5002, 5003] {
        let buffer = || SocketBuffer::new(vec![0; 1 << 20]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_nagle_enabled(!best);
        // A question is acknowledged by its answer; bulk data by nothing else.
        if best && port == 5001 {
            socket.set_ack_delay(None);
        }
        services.push((sockets.add(socket), port, Service::Sink));
    }
    eprintln!("ready");
    let mut octets = vec![0; 1 << 20];
    loop {
        let now = Instant::now();
        interface.poll(now, &mut device, &mut sockets);
        let mut busy = false;
        for (handle, port, service) in &mut services {
            let socket = sockets.get_mut::<Socket>(*handle);
            if !socket.is_open() {
                socket.listen(*port).expect("a port");
                *service = match port {
                    5001 => Service::Sink,
                    5002 => Service::Source,
                    _ => Service::Answer {
                        octets: None,
                        left: 0,
                    },
                };
            }
            if socket.may_send() && !socket.may_recv() {
                socket.close();
            }
            busy |= serve(socket, service, &mut octets);
        }
        if busy {
            last_busy = std::time::Instant::now();
        } else if last_busy.elapsed() >= patience {
            wait(fd, interface.poll_delay(Instant::now(), &sockets)).expect("the device");
        }
    }
}

/// The device with IFF_NAPI: what we write to it the kernel takes in by a thread of its own.
fn with_napi(name: &str) -> TunTapInterface {
    let tun = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/net/tun");
    let fd = tun.expect("/dev/net/tun").into_raw_fd();
    let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_NAPI;
    // SAFETY: all zeros is a request; the calls read it, and are given a descriptor that is open.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (place, octet) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *place = octet as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = flags as libc::c_short;
        assert_eq!(libc::ioctl(fd, libc::TUNSETIFF, &request), 0, "the device");
        assert_eq!(
            libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK),
            0,
            "non-blocking"
        );
    }
    TunTapInterface::from_fd(fd, Medium::Ip, 1500).expect("the device")
}

/// Reads and writes what is possible; gives whether anything was.
fn serve(socket: &mut Socket<'_>, service: &mut Service, buffer: &mut [u8]) -> bool {
    match service {
        Service::Sink => {
            let mut octets = 0;
            while socket.can_recv() {
                octets += socket.recv_slice(&mut buffer[..256 * 1024]).unwrap_or(0);
            }
            octets > 0
        }
        Service::Source => {
            let room = socket.can_send() && socket.may_recv();
            room && socket
                .send_slice(&buffer[..256 * 1024])
                .is_ok_and(|octets| octets > 0)
        }
        Service::Answer {
            octets: octets @ None,
            ..
        } => {
            if socket.recv_queue() < 4 {
                return false;
            }
            let mut length = [0; 4];
            socket.recv_slice(&mut length).expect("four octets");
            *octets = Some(u32::from_be_bytes(length) as usize);
            true
        }
        Service::Answer {
            octets: Some(octets),
            left,
        } => {
            let mut busy = false;
            if *left == 0 && socket.recv_queue() >= *octets {
                socket
                    .recv_slice(&mut buffer[..*octets])
                    .expect("a question");
                *left = *octets;
                busy = true;
            }
            if *left > 0 && socket.can_send() {
                let from = *octets - *left;
                *left -= socket.send_slice(&buffer[from..*octets]).unwrap_or(0);
                busy = true;
            }
            busy
        }
    }
}
