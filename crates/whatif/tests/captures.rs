//! A service is captured at one of its hosts, and what `TCP_NODELAY` would do is predicted; then it is done.

mod common;

use std::io::Cursor;

use common::Service;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tinygram_engine::{Duration, Flags, Instant, Offset, Segment};
use tinygram_sim::medium::{MediumFrame, Side};
use tinygram_whatif::capture::read;
use tinygram_whatif::change::Change;
use tinygram_whatif::forecast::{Forecast, forecast};
use tinygram_whatif::offer::{AskedChanges, At};
use tinygram_whatif::rules::Rules;
use tinygram_wire::capture::{Frame, LinkType, PcapWriter};
use tinygram_wire::encode::{Path, encode};
use tinygram_wire::sequence::{Numbering, Sequence};

/// A server that answers in two writes, some way off.
fn far() -> Service {
    Service {
        writes: [vec![50], vec![100, 200]],
        think: [Duration::from_millis(3), Duration::from_micros(200)],
        gap: Duration::from_micros(5),
        rtt: Duration::from_millis(10),
        turns: 300,
    }
}

/// Returns the frames as a capture at the client: what comes to it is half a round trip old.
fn captured(service: &Service, frames: &[(Side, MediumFrame)]) -> Vec<u8> {
    let half = service.rtt.as_nanos() / 2;
    let mut seen: Vec<(u64, Side, &MediumFrame)> = frames
        .iter()
        .map(|(from, frame)| {
            let way = if *from == Side::Server { half } else { 0 };
            (frame.at.as_nanos() + way, *from, frame)
        })
        .collect();
    seen.sort_by_key(|(at, _, _)| *at);
    let ends = ["10.0.0.2:40000", "10.0.0.1:80"]
        .map(|end| end.parse::<std::net::SocketAddr>().expect("an address"));
    let mut octets = Vec::new();
    let mut writer = PcapWriter::new(&mut octets, LinkType::RAW, 65_535).expect("memory");
    let (zeros, mut packet) = ([0; 4096], Vec::new());
    for (number, (at, from, frame)) in seen.into_iter().enumerate() {
        let own = usize::from(from == Side::Server);
        let path = Path::new(ends[own], ends[1 - own]).expect("both are of IPv4");
        let numbering = Numbering {
            data: NUMBERS[own],
            acks: NUMBERS[1 - own],
            window_shift: 7,
        };
        let payload = &zeros[..frame.segment.len as usize];
        encode(&path, &numbering, &frame.segment, payload, &mut packet);
        let frame = Frame {
            number: number as u64 + 1,
            time_ns: 1_700_000_000_000_000_000 + at as i64,
            link: LinkType::RAW,
            data: &packet,
            wire_len: packet.len() as u32,
        };
        writer.frame(&frame).expect("memory");
    }
    octets
}

/// Returns the frames with a handshake before them.
fn after_handshake(service: &Service, frames: &[(Side, MediumFrame)]) -> Vec<(Side, MediumFrame)> {
    let (side, first) = &frames[0];
    assert_eq!(*side, Side::Client);
    let opens = |side, flags, at: u64| {
        let (own, peers) = match side {
            Side::Client => (first.segment.seq, first.segment.ack),
            Side::Server => (first.segment.ack, first.segment.seq),
        };
        let segment = Segment {
            seq: if flags == Flags::ACK {
                own
            } else {
                Offset::SYN
            },
            ack: peers,
            len: 0,
            flags,
            ..first.segment
        };
        let at = Instant::ZERO + Duration::from_nanos(at);
        let frame = MediumFrame {
            segment,
            at,
            ..*first
        };
        (side, frame)
    };
    let rtt = service.rtt.as_nanos();
    let mut all = vec![
        opens(Side::Client, Flags::SYN, 0),
        opens(Side::Server, Flags::SYN | Flags::ACK, rtt / 2),
        opens(Side::Client, Flags::ACK, rtt),
    ];
    all.extend(frames.iter().map(|(side, frame)| {
        let at = frame.at + Duration::from_nanos(2 * rtt);
        (*side, MediumFrame { at, ..*frame })
    }));
    all
}

fn foresee(capture: &[u8], change: Change) -> Option<Forecast> {
    let open = || Ok(Cursor::new(capture.to_vec()));
    let captured = read(open, 1).expect("a capture");
    let asked = AskedChanges {
        changes: &[change],
        by_target: false,
    };
    forecast(&captured.services, asked)
}

#[test]
fn what_a_capture_holds_is_ended_by_nodelay() {
    let service = far();
    let seen = service.run(&Default::default(), 1);
    let capture = captured(&service, &seen.frames);
    let forecast = foresee(&capture, Change::Nodelay(true)).expect("turns");
    assert!(forecast.tells(), "{forecast:?}");
    let nodelay = Rules {
        nodelay: true,
        ..Rules::default()
    };
    let truth = service.run(&[Rules::default(), nodelay], 2);
    let at = |at: At| forecast.rows.iter().find(|(offer, _)| offer.at == at);
    let (_, server) = at(At::Server).expect("asked for");
    let p50 = server.figures.p50_ms.expect("enough turns");
    let is = truth.quantile(0.5);
    assert!((p50.value / is - 1.0).abs() < 0.1, "{p50:?} {is}");
    assert!((p50.low..=p50.high).contains(&is), "{p50:?} {is}");
    assert!(is < seen.quantile(0.5) - 30.0);
    // The client's sender held nothing.
    let (_, client) = at(At::Client).expect("asked for");
    let unchanged = client.figures.p50_ms.expect("enough turns").value;
    assert!(
        (unchanged / seen.quantile(0.5) - 1.0).abs() < 0.1,
        "{unchanged}"
    );
}

/// Without the handshake ACKs alone tell of the way, and they may have waited: it is anything between nothing and that.
#[test]
fn a_round_trip_that_was_not_measured_is_guessed() {
    let service = far();
    let seen = service.run(&Default::default(), 1);
    let without = captured(&service, &seen.frames);
    let with_handshake = captured(&service, &after_handshake(&service, &seen.frames));
    let services = |capture: &Vec<u8>| {
        let captured = read(|| Ok(Cursor::new(capture.clone())), 1).expect("a capture");
        captured.services.len()
    };
    assert_eq!(services(&with_handshake), 1);
    assert_eq!(services(&without), 3);
    let [known, guessed] = [&with_handshake, &without].map(|capture| {
        let forecast = foresee(capture, Change::Nodelay(true)).expect("turns");
        assert!(forecast.tells(), "{forecast:?}");
        let at = forecast
            .rows
            .iter()
            .find(|(offer, _)| offer.at == At::Server);
        at.expect("asked for")
            .1
            .figures
            .p50_ms
            .expect("enough turns")
    });
    assert!(
        guessed.low <= known.low && known.high <= guessed.high,
        "{guessed:?} {known:?}"
    );
}

/// The same wait, and the sender's program makes it: no option of the sender ends it.
#[test]
fn a_server_that_thinks_for_as_long_is_not_cured() {
    let service = Service {
        writes: [vec![50], vec![300]],
        think: [Duration::from_millis(3), Duration::from_millis(44)],
        ..far()
    };
    let seen = service.run(&Default::default(), 1);
    let capture = captured(&service, &seen.frames);
    let forecast = foresee(&capture, Change::Nodelay(true)).expect("turns");
    for (_, prediction) in &forecast.rows {
        let p50 = prediction.figures.p50_ms.expect("enough turns").value;
        assert!((p50 / seen.quantile(0.5) - 1.0).abs() < 0.1, "{p50}");
    }
}

/// Octets of the packets are changed, and the end is cut off: what is said is an answer or an error.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn a_damaged_capture_is_read_or_refused() {
    let service = Service { turns: 40, ..far() };
    let seen = service.run(&Default::default(), 1);
    let capture = captured(&service, &seen.frames);
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(33);
    let mut below = |bound: usize| (dice.next_u64() % bound as u64) as usize;
    let mut read_well = 0;
    for _ in 0..200 {
        let mut damaged = capture.clone();
        for _ in 0..1 + below(4) {
            let at = below(damaged.len());
            damaged[at] = below(256) as u8;
        }
        if below(4) == 0 {
            damaged.truncate(damaged.len() - below(damaged.len() / 4));
        }
        let captured = read(|| Ok(Cursor::new(damaged.clone())), 1);
        read_well += usize::from(captured.is_ok());
        let Ok(captured) = captured else { continue };
        let asked = AskedChanges {
            changes: &[Change::Nodelay(true)],
            by_target: false,
        };
        let _ = forecast(&captured.services, asked);
    }
    assert!(read_well > 20, "{read_well}");
}

#[test]
fn what_is_no_capture_is_refused() {
    assert!(read(|| Ok(Cursor::new(b"nothing of the kind")), 1).is_err());
    assert!(read(|| Ok(Cursor::new(Vec::new())), 1).is_err());
}

const NUMBERS: [Sequence; 2] = [Sequence::new(1000), Sequence::new(900_000)];
