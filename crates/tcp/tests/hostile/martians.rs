//! Ends that no connection can have: RFC 9293, MUST-46 (a call with such an end fails) and MUST-63
//! (what arrives from there is dropped), for IPv4 and IPv6.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};

use tinygram_engine::{Flags, Instant};
use tinygram_tcp::{Abilities, Batch, Core, SocketOptions, Unfit};
use tinygram_wire::checksum::Sum;
use tinygram_wire::encode::{Checksum, Path};
use tinygram_wire::options::Options;
use tinygram_wire::packet::{Header, Verify};

const V4: &str = "10.0.0.1";
const V6: &str = "fd00::1";

/// A stack with an address of each family, which listens on port 80.
fn core() -> Core {
    let abilities = Abilities {
        mtu: 1500,
        offload: false,
        headroom: 0,
    };
    let own = [V4, V6].map(ip);
    let mut core = Core::with_keys(abilities, &own, [[1; 16], [2; 16]]);
    let any = SocketAddr::new(ip("::"), 80);
    core.listen(any, 5, &SocketOptions::default()).unwrap();
    core
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn start() -> Instant {
    Instant::from_nanos(1)
}

#[test]
fn connect_refuses_an_end_that_nobody_has() {
    let refused = [
        ("0.0.0.0:80", Unfit::Unspecified),
        ("[::]:80", Unfit::Unspecified),
        ("127.0.0.1:80", Unfit::Loopback),
        ("[::1]:80", Unfit::Loopback),
        ("224.0.0.1:80", Unfit::Multicast),
        ("239.255.255.255:80", Unfit::Multicast),
        ("[ff02::1]:80", Unfit::Multicast),
        ("255.255.255.255:80", Unfit::Broadcast),
        ("240.0.0.1:80", Unfit::Broadcast),
        ("[::ffff:10.0.0.2]:80", Unfit::Mapped),
        ("10.0.0.1:80", Unfit::Own),
        ("[fd00::1]:80", Unfit::Own),
        ("10.0.0.2:0", Unfit::Port),
        ("[fd00::2]:0", Unfit::Port),
    ];
    let mut core = core();
    for (remote, reason) in refused {
        let remote = remote.parse().expect("an address and a port");
        let error = core
            .connect(start(), None, remote, &SocketOptions::default())
            .expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{remote}");
        let told = error.get_ref().and_then(|error| error.downcast_ref());
        assert_eq!(told, Some(&reason), "{remote}");
    }
    assert!(!core.has_packets(), "nothing was sent");
    assert_eq!(core.connections(), 0);
    for remote in ["10.0.0.2:80", "[fd00::2]:80", "0.0.0.1:80", "[fe80::2]:80"] {
        let remote = remote.parse().expect("an address and a port");
        let options = SocketOptions::default();
        let connected = core.connect(start(), None, remote, &options);
        assert!(connected.is_ok(), "{remote}: {connected:?}");
    }
}

/// Sends `flags` from this source to port 80; returns how many packets answer.
fn answers_to(core: &mut Core, source: &str, flags: Flags) -> usize {
    let source = ip(source);
    let destination = ip(if source.is_ipv4() { V4 } else { V6 });
    // The source port of a LAND attack is the destination's, too.
    let path = Path::new(
        SocketAddr::new(source, 80),
        SocketAddr::new(destination, 80),
    );
    let path = path.expect("one family");
    let header = Header {
        seq: 7,
        ack: 0,
        flags,
        window: 1000,
        options: Options::default(),
    };
    let mut packet = vec![0; path.headers_len(&header.options)];
    path.write_headers(&header, Checksum::Full, &mut packet);
    arrive(core, &packet)
}

/// Hands the packet to the core; returns how many packets answer.
fn arrive(core: &mut Core, packet: &[u8]) -> usize {
    core.on_packet(start(), packet, Verify::Checksum);
    core.on_batch_end(start());
    let (mut batch, mut count) = (Batch::default(), 0);
    while core.has_packets() {
        core.fill(&mut batch);
        batch.drain(0, |_, _| count += 1);
    }
    count
}

const MARTIANS: [&str; 7] = ["0.0.0.0", "127.0.0.1", "127.9.9.9", V4, "::", "::1", V6];

#[test]
fn nothing_from_a_source_that_nobody_has_is_answered() {
    for flags in [
        Flags::SYN,
        Flags::ACK,
        Flags::SYN.with(Flags::ACK),
        Flags::FIN,
    ] {
        for source in MARTIANS {
            let mut core = core();
            assert_eq!(answers_to(&mut core, source, flags), 0, "{source}");
            assert_eq!(core.connections(), 0, "{source}");
            assert_eq!(core.counters().martians, 1, "{source}");
        }
    }
    for source in ["10.0.0.2", "fd00::2", "0.0.0.1"] {
        let mut core = core();
        assert_eq!(answers_to(&mut core, source, Flags::SYN), 1, "{source}");
        assert_eq!(core.counters().martians, 0, "{source}");
    }
    // Those that no header may have at all are refused before their ports are read.
    for source in ["224.0.0.1", "255.255.255.255", "ff02::1"] {
        let mut core = core();
        assert_eq!(answers_to(&mut core, source, Flags::SYN), 0, "{source}");
        assert_eq!(core.counters().refused, 1, "{source}");
    }
}

/// Returns an echo request of IPv4 to the stack.
fn echo_request(source: &str, more_fragments: bool) -> Vec<u8> {
    let IpAddr::V4(source) = ip(source) else {
        unreachable!("the callers' sources are of IPv4");
    };
    let fragment = if more_fragments { 0x20 } else { 0 };
    let mut packet = vec![0x45, 0, 0, 36, 0, 9, fragment, 0, 64, 1, 0, 0];
    packet.extend(source.octets());
    packet.extend([10, 0, 0, 1]);
    let sum = Sum::default().with(&packet).checksum();
    packet[10..12].copy_from_slice(&sum);
    packet.extend([8, 0, 0, 0, 0, 1, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8]);
    let sum = Sum::default().with(&packet[20..]).checksum();
    packet[22..24].copy_from_slice(&sum);
    packet
}

#[test]
fn an_echo_request_from_such_a_source_is_not_answered() {
    for source in ["0.0.0.0", "127.0.0.1", V4] {
        let mut core = core();
        assert_eq!(arrive(&mut core, &echo_request(source, false)), 0);
        assert_eq!(core.counters().martians, 1, "{source}");
        assert_eq!(arrive(&mut core, &echo_request(source, true)), 0);
        assert_eq!(core.held_in_fragments(), 0, "{source}");
    }
    let mut core = core();
    assert_eq!(arrive(&mut core, &echo_request("10.0.0.2", false)), 1);
    arrive(&mut core, &echo_request("10.0.0.2", true));
    assert!(core.held_in_fragments() > 0);
}
