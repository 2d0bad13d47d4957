//! The kernel's end: sockets as any program has them, against a stack that keeps three services.
//!
//!     load to ADDRESS SECONDS          octets to port 5001, as many as go
//!     load from ADDRESS SECONDS        octets from port 5002
//!     load ask ADDRESS SECONDS OCTETS  questions of so many octets to port 5003, answers as long
//!     load device SECONDS OCTETS       what the TUN device alone carries, both ways
//!
//! One line of figures on stdout: Gbit/s, or transactions a second, p50 and p99 in us.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::{Duration, Instant};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["to", address, seconds] => bulk(to, address, 5001, seconds),
        ["from", address, seconds] => bulk(from, address, 5002, seconds),
        ["ask", address, seconds, octets] => ask(address, seconds, octets.parse().expect("octets")),
        ["device", seconds, octets] => device(seconds, octets.parse().expect("octets")),
        _ => panic!("see the first lines of the source"),
    }
}

fn length(seconds: &str) -> Duration {
    Duration::from_secs_f64(seconds.parse().expect("seconds"))
}

fn connect(address: &str, port: u16) -> TcpStream {
    TcpStream::connect((address, port)).expect("a connection")
}

type Step = fn(&mut TcpStream, &mut [u8]) -> usize;

fn to(stream: &mut TcpStream, buffer: &mut [u8]) -> usize {
    stream.write(buffer).expect("a write")
}

fn from(stream: &mut TcpStream, buffer: &mut [u8]) -> usize {
    stream.read(buffer).expect("a read")
}

/// The first fifth warms up and does not count.
fn bulk(step: Step, address: &str, port: u16, seconds: &str) {
    let mut stream = connect(address, port);
    let mut buffer = vec![0; 256 * 1024];
    let mut carry = |length: Duration| {
        let (began, mut octets) = (Instant::now(), 0);
        while began.elapsed() < length {
            octets += step(&mut stream, &mut buffer);
        }
        8.0 * octets as f64 / began.elapsed().as_secs_f64() / 1e9
    };
    carry(length(seconds) / 5);
    println!("{:.3}", carry(length(seconds)));
}

fn ask(address: &str, seconds: &str, octets: usize) {
    let mut stream = connect(address, 5003);
    stream.set_nodelay(true).expect("TCP_NODELAY");
    stream.write_all(&(octets as u32).to_be_bytes()).expect("a write");
    let mut buffer = vec![7; octets];
    let mut took = Vec::new();
    let (length, mut began) = (length(seconds), Instant::now());
    let mut warm = false;
    loop {
        let asked = Instant::now();
        stream.write_all(&buffer).expect("a question");
        stream.read_exact(&mut buffer).expect("an answer");
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

/// Packets that the kernel drops as soon as it has looked at their address, and packets that it
/// sends to an address beyond the device.
fn device(seconds: &str, octets: usize) {
    let tun = tun_rs::DeviceBuilder::new()
        .name("alone")
        .mtu(1500)
        .offload(octets > 1500)
        .ipv4("10.98.0.1", 24, None)
        .tx_queue_len(10_000)
        .build_sync()
        .expect("a device");
    let header = if octets > 1500 { tun_rs::VIRTIO_NET_HDR_LEN } else { 0 };
    let mut packet = vec![0; header + octets];
    packet[header..header + 20].copy_from_slice(&[
        0x45, 0, (octets >> 8) as u8, octets as u8, 0, 0, 0x40, 0, 64, 253, 0, 0, 10, 98, 0, 2, 10, 98, 0, 9,
    ]);
    let sum: u32 = packet[header..header + 20]
        .chunks(2)
        .map(|two| u32::from(u16::from_be_bytes([two[0], two[1]])))
        .sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[header + 10..header + 12].copy_from_slice(&sum.to_be_bytes());
    let (began, mut written) = (Instant::now(), 0_u64);
    while began.elapsed() < length(seconds) {
        for _ in 0..100 {
            tun.send(&packet).expect("a packet");
            written += octets as u64;
        }
    }
    let to_kernel = 8.0 * written as f64 / began.elapsed().as_secs_f64() / 1e9;
    let floods = std::thread::spawn(|| {
        let socket = UdpSocket::bind("10.98.0.1:0").expect("a socket");
        let octets = [0; 1472];
        while socket.send_to(&octets, "10.98.0.2:9").is_ok() {}
    });
    let mut buffer = vec![0; 70_000];
    let (began, mut read) = (Instant::now(), 0_u64);
    while began.elapsed() < length(seconds) {
        for _ in 0..100 {
            read += (tun.recv(&mut buffer).expect("a packet") - header) as u64;
        }
    }
    let from_kernel = 8.0 * read as f64 / began.elapsed().as_secs_f64() / 1e9;
    drop(tun);
    let _ = floods.join();
    println!("{to_kernel:.3} {from_kernel:.3}");
}
