//! The kernel's end: sockets as any program has them, against a stack that keeps three services.
//!
//!     load to ADDRESS SECONDS             octets to port 5001, as many as go
//!     load from ADDRESS SECONDS           octets from port 5002
//!     load ask ADDRESS SECONDS OCTETS     questions of so many octets to port 5003, answers as long
//!     load serve                          the three services, by the kernel's sockets
//!     load device SECONDS OCTETS          what a TUN device carries without a stack, both ways
//!     load reflect NAME                   a TUN device that sends every packet back
//!     load bounce ADDRESS SECONDS OCTETS  as `ask`, in UDP, against `reflect`
//!
//! One line of figures on stdout: Gbit/s, or transactions a second, p50 and p99 in us.

mod device;

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, setsockopt, socket, sockopt,
};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let octets = |word: &str| word.parse().expect("octets");
    match words[..] {
        ["to", address, seconds] => bulk(to, address, 5001, length(seconds)),
        ["from", address, seconds] => bulk(from, address, 5002, length(seconds)),
        ["ask", address, seconds, len] => ask(address, length(seconds), octets(len)),
        ["serve"] => serve(),
        ["device", seconds, len] => device::both_ways(length(seconds), octets(len)),
        ["reflect", name] => device::reflect(name),
        ["bounce", address, seconds, len] => device::bounce(address, length(seconds), octets(len)),
        _ => panic!("see the first lines of the source"),
    }
}

fn length(seconds: &str) -> Duration {
    Duration::from_secs_f64(seconds.parse().expect("seconds"))
}

fn connect(address: &str, port: u16) -> TcpStream {
    let address = SocketAddrV4::new(address.parse().expect("an address"), port);
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Inet, SockType::Stream, flags, None).expect("a socket");
    choose_cubic(&socket);
    nix::sys::socket::connect(socket.as_raw_fd(), &SockaddrIn::from(address))
        .expect("a connection");
    TcpStream::from(socket)
}

/// Linux's own default, chosen before the connection is opened. Where the machine's owner chose BBR,
/// the kernel paces what it sends, and the rate would be that of the pacing; a connection that began
/// with BBR is paced to its end, whatever is chosen later.
fn choose_cubic(socket: &impl AsFd) {
    if let Err(error) = setsockopt(socket, sockopt::TcpCongestion, &OsString::from("cubic")) {
        eprintln!("the kernel keeps its congestion control: {error}");
    }
}

type Step = fn(&mut TcpStream, &mut [u8]) -> io::Result<usize>;

fn to(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    stream.write(buffer)
}

fn from(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    stream.read(buffer)
}

/// Octets that go through a connection at one time.
const CHUNK: usize = 256 * 1024;

/// The first fifth warms up and does not count.
fn bulk(step: Step, address: &str, port: u16, length: Duration) {
    let mut stream = connect(address, port);
    let mut buffer = vec![0; CHUNK];
    let mut carry = |length: Duration| {
        let (began, mut octets) = (Instant::now(), 0);
        while began.elapsed() < length {
            octets += step(&mut stream, &mut buffer).expect("the connection");
        }
        8.0 * octets as f64 / began.elapsed().as_secs_f64() / 1e9
    };
    carry(length / 5);
    println!("{:.3}", carry(length));
}

fn ask(address: &str, length: Duration, octets: usize) {
    let mut stream = connect(address, 5003);
    stream.set_nodelay(true).expect("TCP_NODELAY");
    let first = (octets as u32).to_be_bytes();
    stream.write_all(&first).expect("a write");
    let mut buffer = vec![7; octets];
    transactions(length, || {
        stream.write_all(&buffer).expect("a question");
        stream.read_exact(&mut buffer).expect("an answer");
    });
}

/// One after the other; the first fifth of the time warms up and does not count.
fn transactions(length: Duration, mut one: impl FnMut()) {
    let mut took = Vec::new();
    let (mut began, mut warm) = (Instant::now(), false);
    loop {
        let asked = Instant::now();
        one();
        took.push(asked.elapsed());
        let limit = if warm { length } else { length / 5 };
        if began.elapsed() >= limit {
            if warm {
                break;
            }
            (warm, began) = (true, Instant::now());
            took.clear();
        }
    }
    let rate = took.len() as f64 / began.elapsed().as_secs_f64();
    took.sort_unstable();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize].as_nanos() as f64 / 1e3;
    println!("{rate:.0} {:.2} {:.2}", at(0.5), at(0.99));
}

/// What the stacks do, done by the kernel.
fn serve() {
    let services: [(u16, fn(TcpStream) -> io::Result<()>); 3] =
        [(5001, sink), (5002, source), (5003, answer)];
    let listening = services.map(|(port, service)| {
        let listener = TcpListener::bind(("0.0.0.0", port)).expect("a port");
        choose_cubic(&listener);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || service(stream));
            }
        })
    });
    eprintln!("ready");
    for thread in listening {
        thread.join().expect("a listener");
    }
}

fn sink(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    while stream.read(&mut buffer)? > 0 {}
    Ok(())
}

fn source(mut stream: TcpStream) -> io::Result<()> {
    let buffer = vec![0; CHUNK];
    loop {
        stream.write_all(&buffer)?;
    }
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut octets = [0; 4];
    stream.read_exact(&mut octets)?;
    let mut buffer = vec![0; u32::from_be_bytes(octets) as usize];
    loop {
        stream.read_exact(&mut buffer)?;
        stream.write_all(&buffer)?;
    }
}
