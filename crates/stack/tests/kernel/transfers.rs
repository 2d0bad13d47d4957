//! Octets both ways at once, and their digests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use socket2::{Domain, Socket, Type};
use tinygram_stack::{SocketOptions, TcpStream};

use crate::common::{Stream, Troubles, receive, send};
use crate::world::{Family, Line, World, kernel, kernel_receives, kernel_sends};
use crate::{long_or, trial};

pub(crate) fn trials() -> Vec<Trial> {
    let troubles = Some(Troubles::ONE_PERCENT);
    let lines = [
        ("wire", Line::PLAIN),
        ("offload", Line::OFFLOAD),
        (
            "mtu-9000",
            Line {
                mtu: 9000,
                ..Line::PLAIN
            },
        ),
        (
            "mtu-9000-offload",
            Line {
                mtu: 9000,
                ..Line::OFFLOAD
            },
        ),
        (
            "troubles",
            Line {
                troubles,
                ..Line::PLAIN
            },
        ),
    ];
    let mut all: Vec<Trial> = lines.into_iter().flat_map(in_all_roles).collect();
    // Only packets of a wire can be lost.
    for (name, troubles, line) in [
        ("losses", troubles, Line::PLAIN),
        ("offload", None, Line::OFFLOAD),
    ] {
        let line = Line {
            troubles,
            scarce: true,
            ..line
        };
        let name = format!("transfer/scarce-memory/{name}");
        all.push(trial(name, move || scarce_memory(line)));
    }
    all.push(trial("transfer/our-tiny-mss", our_tiny_mss));
    all.push(trial("transfer/the-kernels-tiny-mss", the_kernels_tiny_mss));
    all
}

/// These need the network's own `/sys`.
pub(crate) fn napi_trials() -> Vec<Trial> {
    let line = Line {
        threaded_napi: true,
        ..Line::PLAIN
    };
    in_all_roles(("napi", line))
}

fn in_all_roles((name, line): (&str, Line)) -> Vec<Trial> {
    let families = [Family::V4, Family::V6];
    let roles = families.map(|family| [true, false].map(|we_open| (family, we_open)));
    let trials = roles.into_iter().flatten().map(|(family, we_open)| {
        let who = if we_open { "we-open" } else { "kernel-opens" };
        let name = format!("transfer/{name}/{family:?}/{who}");
        trial(name, move || both_ways(line, family, we_open))
    });
    trials.collect()
}

async fn both_ways(line: Line, family: Family, we_open: bool) {
    let len = match line.troubles {
        Some(_) => long_or(1 << 30, 2_000_000),
        None => long_or(1 << 30, 8_000_000),
    };
    let world = World::new(line);
    let (ours, theirs) = world.connected(family, we_open).await;
    exchange(ours, theirs, len).await;
}

/// Both sides send at once; both digests must be right.
#[allow(clippy::disallowed_methods)] // the real world's time, to be reported
async fn exchange(ours: TcpStream, theirs: std::net::TcpStream, len: u64) {
    let began = Instant::now();
    let theirs = Arc::new(theirs);
    let sending = Arc::clone(&theirs);
    let (from, to) = ours.into_split();
    let (sent, sent_back, came, came_back) = tokio::join!(
        send(to, 1, len),
        kernel(move || kernel_sends(&sending, 2, len)),
        kernel(move || kernel_receives(&theirs)),
        receive(from),
    );
    sent.expect("we could send");
    sent_back.expect("the kernel could send");
    let took = began.elapsed();
    assert_eq!(came.expect("the kernel could read"), Stream::digest(1, len));
    assert_eq!(came_back.expect("we could read"), Stream::digest(2, len));
    let gigabits = 16.0 * len as f64 / took.as_secs_f64() / 1e9;
    eprintln!("{len} octets each way in {took:.2?}: {gigabits:.2} Gbit/s, digests right");
}

/// Eight transfers share one megabyte of our memory on a line with losses, so that data that SACK
/// blocks have reported to the kernel is given up again (RFC 2018, section 8).
async fn scarce_memory(line: Line) {
    let world = World::new(line);
    let mut transfers = Vec::new();
    for number in 0..8 {
        let (ours, theirs) = world.connected(Family::V4, number % 2 == 0).await;
        transfers.push(tokio::spawn(exchange(
            ours,
            theirs,
            long_or(1 << 26, 1_000_000),
        )));
    }
    let (mut scarce, mut most) = (0, 0);
    while transfers.iter().any(|transfer| !transfer.is_finished()) {
        scarce += u32::from(world.stack.is_memory_scarce());
        most = most.max(world.stack.resident());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    for transfer in transfers {
        transfer.await.expect("no panic");
    }
    let counters = world.stack.counters();
    eprintln!(
        "{most} octets at most, scarce at {scarce} looks, {} octets given up, {} segments not stored",
        counters.pruned, counters.not_stored
    );
    assert!(most <= 1 << 20, "{most} octets");
    // It may be scarce for less than the time between two looks; then the counters tell.
    assert!(scarce > 0 || counters.not_stored > 0, "it was no test");
    assert!(counters.pruned > 0 || line.troubles.is_none());
}

async fn our_tiny_mss() {
    let world = World::new(Line::PLAIN);
    let options = SocketOptions {
        mss: Some(64),
        ..SocketOptions::default()
    };
    let address = world.stack(Family::V4, 80);
    let listener = tinygram_stack::TcpListener::bind_with(&world.stack, address, 1, &options);
    let listener = listener.expect("a listener");
    let connects = kernel(move || std::net::TcpStream::connect(address).expect("a connection"));
    let (accepted, theirs) = tokio::join!(listener.accept(), connects);
    let (ours, _) = accepted.expect("a connection");
    assert!(ours.info().mss <= 64);
    exchange(ours, theirs, long_or(10_000_000, 300_000)).await;
}

async fn the_kernels_tiny_mss() {
    let world = World::new(Line::PLAIN);
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    // The least that Linux accepts.
    listener.set_tcp_mss(88).expect("TCP_MAXSEG");
    listener
        .bind(&world.kernel(Family::V4, 4088).into())
        .expect("a port");
    listener.listen(1).expect("a listener");
    let accepts = kernel(move || listener.accept().expect("a connection").0);
    let remote = world.kernel(Family::V4, 4088);
    let (ours, theirs) = tokio::join!(TcpStream::connect(&world.stack, remote), accepts);
    let ours = ours.expect("a connection");
    // The timestamps take twelve of them.
    assert_eq!(ours.info().mss, 76);
    exchange(ours, theirs.into(), long_or(10_000_000, 300_000)).await;
}
