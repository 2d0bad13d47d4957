//! The ACK policies: what would wait for a delayed acknowledgment does not.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::{Duration, Instant};

use tinygram_kernel::Base;

/// How many exchanges are looked at, behind those that make the connection a conversation.
const EXCHANGES: usize = 20;
const WARM_UP: usize = 3;
/// Less than Linux delays an acknowledgment, and more than loopback takes on a busy machine, mostly.
const AT_ONCE: Duration = Duration::from_millis(25);

/// Moves this thread into a network of its own, whose connections ask for ECN or do not.
fn network(ecn: bool) -> bool {
    // SAFETY: no memory is passed.
    let is_own = unsafe { libc::unshare(libc::CLONE_NEWNET) } == 0;
    let up = || {
        Command::new("ip")
            .args(["link", "set", "lo", "up"])
            .status()
    };
    let chosen = || fs::write("/proc/sys/net/ipv4/tcp_ecn", if ecn { "1" } else { "0" });
    is_own && up().is_ok_and(|status| status.success()) && chosen().is_ok()
}

fn follow(socket: &TcpStream, congestion: &str) -> io::Result<()> {
    // SAFETY: a live descriptor and name.
    let failed = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            congestion.as_ptr().cast(),
            congestion.len() as u32,
        )
    };
    (failed == 0)
        .then_some(())
        .ok_or_else(io::Error::last_os_error)
}

/// Returns how many of the answers in two small writes came at once; Nagle's algorithm holds the second one.
fn at_once(congestion: &str) -> usize {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut asking = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut answering = listener.accept().unwrap().0;
    asking.set_nodelay(true).unwrap();
    follow(&asking, congestion).unwrap();
    let mut octets = [0; 300];
    let mut quick = 0;
    for exchange in 0..WARM_UP + EXCHANGES {
        #[allow(clippy::disallowed_methods, reason = "the kernel's time is real")]
        let began = Instant::now();
        asking.write_all(b"?").unwrap();
        answering.read_exact(&mut octets[..1]).unwrap();
        answering.write_all(&[b'a'; 100]).unwrap();
        answering.write_all(&[b'b'; 200]).unwrap();
        asking.read_exact(&mut octets).unwrap();
        quick += usize::from(exchange >= WARM_UP && began.elapsed() < AT_ONCE);
    }
    quick
}

/// Returns how many of the answers came at once in a network of its own; `None` if there can be none.
fn in_a_network(ecn: bool, congestion: &str) -> Option<usize> {
    let quick = std::thread::scope(|scope| {
        let there = || network(ecn).then(|| at_once(congestion));
        scope.spawn(there).join().unwrap()
    });
    if quick.is_none() {
        eprintln!("skipped: no network namespace of one's own");
    }
    quick
}

/// A busy machine makes some exchanges slow; it makes no stall quick.
fn most(quick: usize) -> bool {
    quick > EXCHANGES / 2
}

#[test]
fn with_ecn_each_segment_is_acknowledged_at_once() {
    let Some(loaded) = common::load("every-segment", Base::Cubic) else {
        return;
    };
    let cases = [
        (true, loaded.name(), true),
        (true, "cubic", false),
        (false, loaded.name(), false),
    ];
    for (ecn, congestion, wanted) in cases {
        let Some(quick) = in_a_network(ecn, congestion) else {
            return;
        };
        assert_eq!(
            most(quick),
            wanted,
            "{congestion}, ECN {ecn}: {quick} of {EXCHANGES} at once"
        );
    }
}

#[test]
fn the_first_segment_of_a_turn_is_acknowledged_at_once_without_ecn() {
    for base in [Base::Cubic, Base::Reno] {
        let Some(loaded) = common::load("first-of-turn", base) else {
            return;
        };
        for (congestion, wanted) in [(loaded.name(), true), (base.name(), false)] {
            let Some(quick) = in_a_network(false, congestion) else {
                return;
            };
            assert_eq!(
                most(quick),
                wanted,
                "{congestion}: {quick} of {EXCHANGES} at once"
            );
        }
    }
}
