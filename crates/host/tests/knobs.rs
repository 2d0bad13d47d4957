//! Knobs of a network namespace and of its routes, in namespaces of these tests' own.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use tinygram_host::knob::Knob;
use tinygram_host::namespace::{self, Namespace};
use tinygram_host::route::{Route, RouteError};

/// Does `work` in a new network namespace with `lo` up; `None`, with the reason, where none can be made.
fn in_a_new_namespace<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: changes this thread alone, which ends with the work.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                eprintln!("skipped: no network namespace can be made here");
                return None;
            }
            if ip("link set lo up").is_none() {
                eprintln!("skipped: there is no `ip` here");
                return None;
            }
            Some(work())
        });
        thread.join().unwrap()
    })
}

/// Runs `ip` in this thread's namespace, and returns what it prints.
fn ip(words: &str) -> Option<String> {
    let output = Command::new("ip").args(words.split(' ')).output().ok()?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {words}: {said}");
    Some(String::from_utf8(output.stdout).unwrap())
}

fn all_routes() -> String {
    let v4 = ip("route show table all").unwrap();
    v4 + &ip("-6 route show table all").unwrap()
}

fn route(local: &str, remote: &str) -> Route {
    let parse = |text: &str| text.parse::<IpAddr>().unwrap();
    Route::between(parse(local), parse(remote)).unwrap()
}

/// A device with routes of every kind that a server has.
fn furnish() {
    for words in [
        "link add end0 type veth peer name end1",
        "addr add 10.7.0.1/24 dev end0",
        "-6 addr add 2001:db8:7::1/64 dev end0 nodad",
        "link set end0 up",
        "link set end1 up",
        "route add default via 10.7.0.254 dev end0 metric 50 mtu lock 1400 initcwnd 20",
        "route add default via 10.7.0.253 dev end0 metric 100 proto dhcp src 10.7.0.1",
        "route add 10.9.0.0/16 nexthop via 10.7.0.254 weight 1 nexthop via 10.7.0.253 weight 3",
        "route add 10.10.0.0/16 via 192.0.2.9 dev end0 onlink congctl reno",
        "-6 route add 2001:db8:9::/48 via 2001:db8:7::2 dev end0 metric 70 hoplimit 9",
    ] {
        ip(words);
    }
}

/// The line of the route gets ` quickack 1`, every other stays, and afterwards all are as before, to the letter.
#[test]
fn a_route_is_changed_in_its_quickack_alone_and_put_back() {
    in_a_new_namespace(|| {
        furnish();
        let before = all_routes();
        for (local, remote, begins) in [
            ("10.7.0.1", "203.0.113.5", "default via 10.7.0.254"),
            ("10.7.0.1", "10.9.1.1", "10.9.0.0/16"),
            ("10.7.0.1", "10.10.1.1", "10.10.0.0/16"),
            ("10.7.0.1", "10.7.0.77", "10.7.0.0/24"),
            ("127.0.0.1", "127.0.0.1", "local 127.0.0.1 "),
            ("2001:db8:7::1", "2001:db8:9::5", "2001:db8:9::/48"),
        ] {
            let found = route(local, remote);
            assert!(!found.quickack());
            let key = found.key();
            Route::find(&key).unwrap().set_quickack(true).unwrap();
            assert!(route(local, remote).quickack(), "{key}");
            let now = all_routes();
            let changed: Vec<_> = now.lines().filter(|line| !before.contains(line)).collect();
            assert!(
                changed.iter().any(|line| line.contains("quickack 1")),
                "{key}: {now}"
            );
            assert!(changed[0].starts_with(begins), "{key}: {changed:?}");
            Route::find(&key).unwrap().set_quickack(false).unwrap();
            assert_eq!(all_routes(), before, "{key}");
        }
    });
}

#[test]
fn what_cannot_be_changed_alone_is_refused() {
    in_a_new_namespace(|| {
        furnish();
        ip("route append default via 10.7.0.252 dev end0 metric 50");
        let before = all_routes();
        let default = route("10.7.0.1", "203.0.113.5").key();
        let found = Route::find(&default);
        assert!(matches!(found, Err(RouteError::Several(2))), "{found:?}");
        let own = route("2001:db8:7::1", "2001:db8:7::1");
        let refused = own.set_quickack(true);
        assert!(
            matches!(refused, Err(RouteError::Unchangeable(_))),
            "{refused:?}"
        );
        let gone = route("10.7.0.1", "10.9.1.1").key();
        ip("route del 10.9.0.0/16");
        assert!(matches!(Route::find(&gone), Err(RouteError::Gone)));
        assert!(before.contains("metric 50"));
    });
}

/// Returns how long a request in two writes takes to be answered: the shortest of eight times, and their median.
#[expect(
    clippy::disallowed_methods,
    reason = "how long a request takes is real time"
)]
fn write_write_read(client: &mut TcpStream, server: &mut TcpStream) -> [Duration; 2] {
    let mut times = Vec::new();
    for _ in 0..8 {
        let begun = Instant::now();
        client.write_all(&[b'h'; 100]).unwrap();
        client.write_all(&[b'b'; 200]).unwrap();
        server.read_exact(&mut [0; 300]).unwrap();
        server.write_all(b"y").unwrap();
        client.read_exact(&mut [0]).unwrap();
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    [times[0], times[times.len() / 2]]
}

/// A connection that is open already: the receiver's route decides from its next segment on.
#[test]
fn quickack_of_the_route_ends_a_stall_on_a_live_connection() {
    in_a_new_namespace(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut server = listener.accept().unwrap().0;
        let mut median = || write_write_read(&mut client, &mut server)[1];
        let stall = Duration::from_millis(35);
        median();
        assert!(median() > stall);
        let key = route("127.0.0.1", "127.0.0.1").key();
        Route::find(&key).unwrap().set_quickack(true).unwrap();
        median();
        assert!(median() < stall / 2);
        Route::find(&key).unwrap().set_quickack(false).unwrap();
        median();
        assert!(median() > stall);
    });
}

#[test]
fn a_namespace_has_its_own_knobs_and_its_own_number() {
    let own = Namespace::own().unwrap();
    let outside = Knob::Autocorking.read().unwrap();
    let inside = in_a_new_namespace(|| {
        let namespace = Namespace::own().unwrap();
        for (knob, value) in [(Knob::Autocorking, 0), (Knob::Pingpong, 3)] {
            let Ok(before) = knob.read() else {
                eprintln!("skipped: this kernel has no {knob}");
                continue;
            };
            knob.write(value).unwrap();
            assert_eq!(knob.read().unwrap(), value);
            knob.write(before).unwrap();
        }
        Knob::Autocorking.write(1 - outside).unwrap();
        assert!(Knob::Quickack.read().is_err());
        namespace::cookie(&namespace).unwrap()
    });
    assert_eq!(Knob::Autocorking.read().unwrap(), outside);
    if let Some(inside) = inside {
        assert_ne!(namespace::cookie(&own).unwrap(), inside);
        assert_eq!(
            namespace::cookie(&own).unwrap(),
            namespace::cookie(&own).unwrap()
        );
    }
}
