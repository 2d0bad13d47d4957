//! The device without a stack: what any stack on it can reach at best.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

use nix::sys::socket::{setsockopt, sockopt};
use tun_rs::{DeviceBuilder, SyncDevice, VIRTIO_NET_HDR_LEN};

use crate::transactions;

const MTU: usize = 1500;
/// Of IPv4 and UDP.
const HEADERS: usize = 28;
/// The port at both ends, so that a packet is answered by exchanging its addresses.
const PORT: u16 = 5003;

fn device(name: &str, address: Ipv4Addr, offload: bool) -> SyncDevice {
    DeviceBuilder::new()
        .name(name)
        .mtu(MTU as u16)
        .offload(offload)
        .ipv4(address, 24, None)
        .tx_queue_len(4096)
        .build_sync()
        .expect("a device")
}

/// Packets that the kernel drops as soon as it has looked at their address, and packets that it
/// sends to an address beyond the device, from a socket that hands it many at a time.
pub(crate) fn both_ways(length: Duration, octets: usize) {
    let offload = octets > MTU;
    let here = Ipv4Addr::new(10, 98, 0, 1);
    let tun = device("alone", here, offload);
    let to_kernel = written(&tun, length, octets, offload);
    let floods = std::thread::spawn(move || {
        let socket = UdpSocket::bind((here, 0)).expect("a socket");
        let segment = (MTU - HEADERS) as i32;
        setsockopt(&socket, sockopt::UdpGsoSegment, &segment).expect("UDP_SEGMENT");
        let octets = vec![0; 44 * segment as usize];
        while socket.send_to(&octets, "10.98.0.2:9").is_ok() {}
    });
    let from_kernel = read(&tun, length, offload);
    drop(tun);
    // Without the device it has no way to send.
    let _ = floods.join();
    println!("{to_kernel:.3} {from_kernel:.3}");
}

fn rate(octets: u64, began: Instant) -> f64 {
    8.0 * octets as f64 / began.elapsed().as_secs_f64() / 1e9
}

fn written(tun: &SyncDevice, length: Duration, octets: usize, offload: bool) -> f64 {
    let header = if offload { VIRTIO_NET_HDR_LEN } else { 0 };
    let mut packet = vec![0; header + octets];
    packet[header..header + 20].copy_from_slice(&[
        0x45,
        0,
        (octets >> 8) as u8,
        octets as u8,
        0,
        0,
        0x40,
        0,
        64,
        253,
        0,
        0,
        10,
        98,
        0,
        2,
        10,
        98,
        0,
        9,
    ]);
    let sum: u32 = packet[header..header + 20]
        .chunks(2)
        .map(|two| u32::from(u16::from_be_bytes([two[0], two[1]])))
        .sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[header + 10..header + 12].copy_from_slice(&sum.to_be_bytes());
    let (began, mut written) = (Instant::now(), 0);
    while began.elapsed() < length {
        for _ in 0..100 {
            tun.send(&packet).expect("a packet");
            written += octets as u64;
        }
    }
    rate(written, began)
}

fn read(tun: &SyncDevice, length: Duration, offload: bool) -> f64 {
    let header = if offload { VIRTIO_NET_HDR_LEN } else { 0 };
    let mut buffer = vec![0; 70_000];
    let (began, mut read) = (Instant::now(), 0);
    while began.elapsed() < length {
        for _ in 0..100 {
            read += (tun.recv(&mut buffer).expect("a packet") - header) as u64;
        }
    }
    rate(read, began)
}

/// Sends every packet back to where it came from: two system calls for each, and nothing else.
/// Exchanging the addresses changes no checksum, and ports are the same at both ends.
pub(crate) fn reflect(name: &str) {
    let tun = device(name, Ipv4Addr::new(10, 99, 0, 1), false);
    eprintln!("ready");
    let mut buffer = [0; 2 * MTU];
    loop {
        let len = tun.recv(&mut buffer).expect("a packet");
        let packet = &mut buffer[..len];
        if len >= 20 && packet[0] == 0x45 {
            let (source, destination) = packet[12..20].split_at_mut(4);
            source.swap_with_slice(destination);
            let _ = tun.send(packet);
        }
    }
}

/// Questions and answers in UDP; more than fits into a packet is fragmented and put together by the
/// kernel.
pub(crate) fn bounce(address: &str, length: Duration, octets: usize) {
    let socket = UdpSocket::bind(("10.99.0.1", PORT)).expect("a socket");
    socket.connect((address, PORT)).expect("an address");
    let patience = Some(Duration::from_millis(500));
    socket.set_read_timeout(patience).expect("a time-out");
    let mut buffer = vec![7; octets];
    transactions(length, || {
        socket.send(&buffer).expect("a question");
        // Lost is lost: it counts as a slow one.
        let _ = socket.recv(&mut buffer);
    });
}
