//! The hand on sockets of this process.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use tinygram_host::hand::{Change, Did, Hand, Raw, Setting, Socket, SocketOption};

/// Returns the hand; without the rights or the kernel for it, `None`, and says why.
fn hand() -> Option<Hand> {
    match Hand::open() {
        Ok(hand) => Some(hand),
        Err(lacking) => {
            eprintln!("skipped: {lacking}");
            None
        }
    }
}

/// Returns both ends of a connection.
fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

#[expect(clippy::disallowed_methods, reason = "the kernel works in real time")]
fn now() -> Instant {
    Instant::now()
}

fn found(hand: &mut Hand, stream: &TcpStream) -> Socket {
    let local = stream.local_addr().unwrap();
    let remote = stream.peer_addr().unwrap();
    let all = hand.sockets().unwrap();
    let mut these = all
        .into_iter()
        .filter(|socket| socket.local == local && socket.remote == remote);
    let socket = these.next().expect("the socket is listed");
    assert!(these.next().is_none(), "it is listed once");
    socket
}

/// Returns an option as the program itself reads it.
fn asked(stream: &TcpStream, name: libc::c_int) -> i32 {
    let mut value = 0;
    let mut length = size_of::<i32>() as u32;
    // SAFETY: the value has the length that is given.
    let failed = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            name,
            (&raw mut value).cast(),
            &raw mut length,
        )
    };
    assert_eq!(failed, 0);
    value
}

/// Of a connection over which nothing went lately nothing is said, in either direction.
#[test]
fn a_silent_socket_is_left_out() {
    let Some(mut hand) = hand() else { return };
    let (mut client, mut server) = pair();
    let (silent, _other) = pair();
    let mut listed = |stream: &TcpStream, within: Duration| {
        let local = stream.local_addr().unwrap();
        let sockets = hand.sockets_active_within(within).unwrap();
        sockets.iter().any(|socket| socket.local == local)
    };
    let (short, long) = (Duration::from_millis(200), Duration::from_secs(600));
    assert!(listed(&silent, long), "it was opened just now");
    std::thread::sleep(short * 2);
    assert!(!listed(&client, short) && listed(&client, long));
    // On a busy machine a walk may end too late to tell: then it is tried again.
    for (of_client, did) in [(true, "it sent"), (false, "it received")] {
        let is_listed = (0..100).find_map(|_| {
            let begun = now();
            client.write_all(b"x").unwrap();
            server.read_exact(&mut [0]).unwrap();
            let is_listed = listed(if of_client { &client } else { &server }, short);
            (is_listed || begun.elapsed() < short / 2).then_some(is_listed)
        });
        assert_eq!(is_listed, Some(true), "{did}");
    }
    assert!(!listed(&silent, short));
}

#[test]
fn an_option_is_set_and_put_back() {
    let Some(mut hand) = hand() else { return };
    let (client, server) = pair();
    let cookie = found(&mut hand, &client).cookie;
    let (on, off) = (Raw::of(1), Raw::of(0));
    let mut set = |to, only_if| {
        let change = Change {
            cookie,
            to,
            only_if,
        };
        let outcomes = hand.set(SocketOption::Nodelay, &[change]).unwrap();
        assert_eq!(outcomes.len(), 1);
        outcomes[0]
    };
    let outcome = set(on, None);
    assert_eq!(
        (outcome.did, outcome.before, outcome.after),
        (Did::Set, off, on)
    );
    assert_eq!(asked(&client, libc::TCP_NODELAY), 1);
    assert_eq!(
        asked(&server, libc::TCP_NODELAY),
        0,
        "the other end is left alone"
    );

    // What the program has set since is the program's.
    client.set_nodelay(false).unwrap();
    let outcome = set(off, Some(on));
    assert_eq!((outcome.did, outcome.before), (Did::Differs, off));
    client.set_nodelay(true).unwrap();
    assert_eq!(set(off, Some(on)).did, Did::Set);
    assert_eq!(asked(&client, libc::TCP_NODELAY), 0);

    drop(client);
    let gone = Change {
        cookie: u64::MAX,
        to: on,
        only_if: None,
    };
    assert_eq!(
        hand.set(SocketOption::Nodelay, &[gone]).unwrap()[0].did,
        Did::Gone
    );
}

#[test]
fn every_option_is_read_set_and_put_back() {
    let Some(mut hand) = hand() else { return };
    let (client, _server) = pair();
    let before = found(&mut hand, &client);
    let set = BTreeMap::from([
        (SocketOption::Nodelay, "nodelay=on"),
        (SocketOption::DelackMax, "delack-max=12ms"),
        (SocketOption::NotsentLowat, "notsent-lowat=16K"),
        (SocketOption::Congestion, "congestion=reno"),
        (SocketOption::Cork, "cork=on"),
    ]);
    for option in SocketOption::ALL {
        let setting = Setting::parse(set[&option]).unwrap();
        let change = |to, only_if| Change {
            cookie: before.cookie,
            to,
            only_if,
        };
        let outcome = hand.set(option, &[change(setting.value, None)]).unwrap()[0];
        assert_eq!(outcome.did, Did::Set, "{option}");
        assert_eq!(outcome.before, before.values[option], "{option}");
        let now = found(&mut hand, &client);
        assert_eq!(now.values[option], setting.value, "{option}");
        let back = change(outcome.before, Some(setting.value));
        assert_eq!(
            hand.set(option, &[back]).unwrap()[0].did,
            Did::Set,
            "{option}"
        );
    }
    assert_eq!(found(&mut hand, &client).values, before.values);
}

#[test]
fn a_socket_says_who_has_it() {
    use std::os::unix::fs::MetadataExt;
    let Some(mut hand) = hand() else { return };
    let (client, _server) = pair();
    let socket = found(&mut hand, &client);
    let descriptor = format!("/proc/self/fd/{}", client.as_raw_fd());
    assert_eq!(socket.inode, std::fs::metadata(&descriptor).unwrap().ino());
    let namespace = std::fs::metadata("/proc/self/ns/net").unwrap().ino();
    assert_eq!(u64::from(socket.netns), namespace);
    assert!(!socket.listens() && socket.is_open());
    assert_ne!(socket.cgroup, 0);
}

#[test]
fn the_meter_measures_turns() {
    use std::io::{Read, Write};
    use std::time::Duration;
    let Some(mut hand) = hand() else { return };
    let mut meter = tinygram_host::meter::Meter::open().unwrap();
    let (mut client, mut server) = pair();
    let cookie = found(&mut hand, &client).cookie;
    meter.measure(cookie).unwrap();
    let mut octet = [0];
    for _ in 0..5 {
        client.write_all(b"q").unwrap();
        client.write_all(b"q").unwrap();
        server.read_exact(&mut octet).unwrap();
        server.read_exact(&mut octet).unwrap();
        std::thread::sleep(Duration::from_millis(3));
        server.write_all(b"a").unwrap();
        client.read_exact(&mut octet).unwrap();
    }
    let mut turns = Vec::new();
    meter.poll(Duration::ZERO, |turn| turns.push(turn));
    assert_eq!(turns.len(), 5, "{turns:?}");
    assert!(turns.iter().all(|turn| turn.cookie == cookie));
    assert!(
        turns.iter().all(|turn| turn.length_ns() >= 3_000_000),
        "{turns:?}"
    );
    assert_eq!(meter.lost(), 0);
}

/// Returns the hand with its hook; `None`, with the reason, where there are no control groups of version 2.
fn hand_that_gives_way() -> Option<Hand> {
    let mut hand = hand()?;
    match hand.give_way() {
        Ok(()) => Some(hand),
        Err(lacking) => {
            eprintln!("skipped: {lacking}");
            None
        }
    }
}

/// A program that sets an equal value since has decided for itself. One that set it before has not.
#[test]
fn the_hand_gives_way_to_a_program_that_sets_the_option_since() {
    let Some(mut hand) = hand_that_gives_way() else {
        return;
    };
    let (client, server) = pair();
    as_another_process(&client, "IPPROTO_TCP, TCP_NODELAY, 0");
    let to = |hand: &mut Hand, stream: &TcpStream, value: u32| {
        let cookie = found(hand, stream).cookie;
        let change = Change {
            cookie,
            to: Raw::of(value),
            only_if: Some(Raw::of(1 - value)),
        };
        hand.set(SocketOption::Nodelay, &[change]).unwrap()[0].did
    };
    assert_eq!(to(&mut hand, &client, 1), Did::Set);
    assert_eq!(to(&mut hand, &server, 1), Did::Set);
    as_another_process(&client, "IPPROTO_TCP, TCP_NODELAY, 1");
    // Another option is no decision about this one.
    as_another_process(&server, "SOL_SOCKET, SO_KEEPALIVE, 1");
    assert_eq!(to(&mut hand, &client, 0), Did::GaveWay);
    assert_eq!(to(&mut hand, &server, 0), Did::Set);
    assert!(client.nodelay().unwrap());
    assert!(!server.nodelay().unwrap());
    drop(hand);
    // Without the hook nobody knows, and the value decides.
    let mut hand = Hand::open().unwrap();
    assert_eq!(to(&mut hand, &client, 0), Did::Set);
}

/// A value that is longer than the kernel's copy of it reaches the kernel unharmed, with the hook, too.
#[test]
fn the_hook_leaves_every_option_as_the_program_gives_it() {
    let Some(_hand) = hand_that_gives_way() else {
        return;
    };
    let (client, _server) = pair();
    let long = [0_u8; 8192];
    for length in [1, 4, 5, 8192_u32] {
        // SAFETY: the value has at least the length that is given.
        let done = unsafe {
            libc::setsockopt(
                client.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_NODELAY,
                long.as_ptr().cast(),
                length,
            )
        };
        assert_eq!(done, if length < 4 { -1 } else { 0 }, "{length}");
    }
    let reno = b"reno";
    // SAFETY: as above.
    let done = unsafe {
        libc::setsockopt(
            client.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            reno.as_ptr().cast(),
            4,
        )
    };
    assert_eq!(done, 0);
}

/// Sets an option of a socket that another process has, too: what this process sets is the hand's own.
fn as_another_process(stream: &TcpStream, option: &str) {
    let script = format!("from socket import *; socket(fileno=0).setsockopt({option})");
    let mut python = std::process::Command::new("python3");
    let copy: std::os::fd::OwnedFd = stream.try_clone().unwrap().into();
    let status = python.args(["-c", &script]).stdin(copy).status();
    assert!(status.expect("python3 starts").success());
}

/// So many that the kernel's buffer is full before the walk is over: it then runs the program again for the last socket, if it
/// is let.
#[test]
fn each_of_many_sockets_is_changed_once() {
    let Some(mut hand) = hand() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connections: Vec<_> = (0..400)
        .map(|_| {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (client, listener.accept().unwrap().0)
        })
        .collect();
    let port = listener.local_addr().unwrap().port();
    let sockets = hand.sockets().unwrap();
    let those = sockets.iter().filter(|socket| {
        !socket.listens()
            && [socket.local, socket.remote]
                .iter()
                .any(|end| end.port() == port)
    });
    let cookies: Vec<u64> = those.map(|socket| socket.cookie).collect();
    assert_eq!(cookies.len(), 2 * connections.len());
    let (on, off) = (Raw::of(1), Raw::of(0));
    for (before, to) in [(off, on), (on, off)] {
        let changes: Vec<_> = cookies
            .iter()
            .map(|&cookie| Change {
                cookie,
                to,
                only_if: Some(before),
            })
            .collect();
        let outcomes = hand.set(SocketOption::Nodelay, &changes).unwrap();
        let is_set = |outcome: &&tinygram_host::hand::ChangeOutcome| {
            outcome.did == Did::Set && outcome.before == before && outcome.after == to
        };
        let other: Vec<_> = outcomes.iter().filter(|outcome| !is_set(outcome)).collect();
        assert!(
            other.is_empty(),
            "{} of {}: {:?}",
            other.len(),
            outcomes.len(),
            other[0]
        );
    }
    assert!(
        connections
            .iter()
            .all(|(client, _)| !client.nodelay().unwrap())
    );
}
