//! Connections to come are reported, and set once they are approved.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tinygram_host::follow::{Follow, FollowEvent, Rule, Rules};
use tinygram_host::hand::{Change, Did, Hand, Raw, Setting, SocketOption};
use tinygram_host::lacking::Lacking;
use tinygram_host::namespace::Namespace;
use tinygram_host::ssh::Ssh;

fn open(rules: &Rules) -> Option<Follow> {
    let nodelay = Setting::parse("nodelay=on").unwrap();
    match Follow::open(rules, &[nodelay]) {
        Ok(follow) => Some(follow),
        Err(lacking @ Lacking::Other(_)) => panic!("{lacking}"),
        Err(lacking) => {
            eprintln!("skipped: {lacking}");
            None
        }
    }
}

fn rules_for(port: u16) -> Rules {
    let netns = Namespace::own().unwrap().inode;
    Rules {
        all: [Rule::LocalPort(netns, port)].into(),
        peers: Vec::new(),
        leaves: Some(Ssh::default()),
    }
}

/// Returns the first event that `pick` takes, within two seconds.
#[expect(clippy::disallowed_methods, reason = "the kernel works in real time")]
fn next<T>(follow: &mut Follow, mut pick: impl FnMut(FollowEvent) -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    let mut picked = None;
    while picked.is_none() && begun.elapsed() < Duration::from_secs(2) {
        follow.poll(Duration::from_millis(20), |event| {
            if picked.is_none() {
                picked = pick(event);
            }
        });
    }
    picked
}

fn opened(follow: &mut Follow) -> Option<u64> {
    next(follow, |event| match event {
        FollowEvent::Opened { cookie, before, .. } => {
            assert_eq!(before[&SocketOption::Nodelay], Raw::of(0));
            Some(cookie)
        }
        FollowEvent::Done { .. } | FollowEvent::Closed { .. } => None,
    })
}

fn exchange(one: &mut TcpStream, other: &mut TcpStream) {
    for _ in 0..3 {
        one.write_all(b"x").unwrap();
        other.read_exact(&mut [0]).unwrap();
        other.write_all(b"y").unwrap();
        one.read_exact(&mut [0]).unwrap();
    }
}

fn did(follow: &mut Follow) -> Option<Did> {
    next(follow, |event| match event {
        FollowEvent::Done { outcomes, .. } => Some(outcomes[0].1.did),
        FollowEvent::Opened { .. } | FollowEvent::Closed { .. } => None,
    })
}

#[test]
fn a_connection_is_set_only_after_it_is_approved() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let Some(mut follow) = open(&rules_for(port)) else {
        return;
    };
    let other_listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let _other = TcpStream::connect(other_listener.local_addr().unwrap()).unwrap();
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut server = listener.accept().unwrap().0;
    let cookie = opened(&mut follow).expect("the server's end is reported");
    assert_eq!(opened(&mut follow), None, "nobody else's is");
    exchange(&mut client, &mut server);
    assert!(!server.nodelay().unwrap(), "nobody has approved it");
    follow.approve(cookie).unwrap();
    exchange(&mut client, &mut server);
    assert_eq!(did(&mut follow), Some(Did::Set));
    assert!(server.nodelay().unwrap());
    assert!(!client.nodelay().unwrap());
    assert_eq!(follow.lost(), 0);
}

/// Also of one whose end waits for the peer's last segments, and of one that is reset.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn the_end_of_a_connection_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let Some(mut follow) = open(&rules_for(port)) else {
        return;
    };
    let closed = |follow: &mut Follow| {
        next(follow, |event| match event {
            FollowEvent::Closed { cookie } => Some(cookie),
            FollowEvent::Opened { .. } | FollowEvent::Done { .. } => None,
        })
    };
    for server_is_first in [false, true] {
        let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let server = listener.accept().unwrap().0;
        let cookie = opened(&mut follow).expect("reported");
        assert_eq!(closed(&mut follow), None, "it is open");
        let (first, last) = match server_is_first {
            false => (client, server),
            true => (server, client),
        };
        drop(first);
        drop(last);
        assert_eq!(closed(&mut follow), Some(cookie), "{server_is_first}");
    }
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let server = listener.accept().unwrap().0;
    let cookie = opened(&mut follow).expect("reported");
    client.write_all(b"nobody reads this").unwrap();
    std::thread::sleep(Duration::from_millis(20));
    drop(server);
    assert_eq!(closed(&mut follow), Some(cookie), "by a reset");
    assert_eq!(follow.lost_ends(), 0);
}

#[test]
fn what_the_program_has_set_meanwhile_is_left_alone() {
    let listener = TcpListener::bind("[::1]:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let Some(mut follow) = open(&rules_for(port)) else {
        return;
    };
    let mut client = TcpStream::connect(("::1", port)).unwrap();
    let mut server = listener.accept().unwrap().0;
    let cookie = opened(&mut follow).expect("reported");
    server.set_nodelay(true).unwrap();
    follow.approve(cookie).unwrap();
    exchange(&mut client, &mut server);
    assert_eq!(did(&mut follow), Some(Did::Differs));
}

/// Many servers set TCP_NODELAY to what it is as soon as they accept. That is no reason to leave a later change in force.
#[test]
fn what_the_program_has_set_before_is_put_back_and_what_it_sets_since_is_not() {
    for sets_since in [false, true] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let Some(mut follow) = open(&rules_for(port)) else {
            return;
        };
        let mut hand = Hand::open().unwrap();
        if let Err(lacking) = hand.give_way() {
            return eprintln!("skipped: {lacking}");
        }
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let mut server = listener.accept().unwrap().0;
        let cookie = opened(&mut follow).expect("reported");
        // The option as it is: only a value that differs would be left alone at once.
        as_another_process(&server, false);
        follow.approve(cookie).unwrap();
        exchange(&mut client, &mut server);
        let at_ns = next(&mut follow, |event| match event {
            FollowEvent::Done { at_ns, .. } => Some(at_ns),
            FollowEvent::Opened { .. } | FollowEvent::Closed { .. } => None,
        });
        hand.was_changed(SocketOption::Nodelay, cookie, at_ns.expect("set"));
        if sets_since {
            as_another_process(&server, true);
        }
        let back = Change {
            cookie,
            to: Raw::of(0),
            only_if: Some(Raw::of(1)),
        };
        let outcomes = hand.set(SocketOption::Nodelay, &[back]).unwrap();
        let expected = match sets_since {
            true => Did::GaveWay,
            false => Did::Set,
        };
        assert_eq!(outcomes[0].did, expected);
        assert_eq!(server.nodelay().unwrap(), sets_since);
    }
}

/// Sets TCP_NODELAY of a socket as a program does; what the process sets that has a hand is not counted.
fn as_another_process(socket: &TcpStream, on: bool) {
    let python = "import socket, sys; socket.socket(fileno=0).setsockopt(6, 1, int(sys.argv[1]))";
    let done = Command::new("python3")
        .args(["-c", python, if on { "1" } else { "0" }])
        .stdin(Stdio::from(OwnedFd::from(socket.try_clone().unwrap())))
        .status();
    assert!(done.unwrap().success());
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn peers_and_control_groups_narrow() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let peer = |text: &str| tinygram_host::scope::Peer::parse(text).unwrap();
    let netns = Namespace::own().unwrap().inode;
    for (peers, all, is_followed) in [
        (
            vec![peer("127.0.0.0/8")],
            [Rule::RemotePort(netns, port)],
            true,
        ),
        (
            vec![peer("10.0.0.0/8"), peer("127.0.0.1")],
            [Rule::RemotePort(netns, port)],
            true,
        ),
        (
            vec![peer("10.0.0.0/8")],
            [Rule::RemotePort(netns, port)],
            false,
        ),
        (vec![peer("::1")], [Rule::RemotePort(netns, port)], false),
        (
            vec![peer(&format!(":{port}"))],
            [Rule::Namespace(netns)],
            true,
        ),
        (vec![], [Rule::Group(1)], port != 22),
        (vec![], [Rule::Group(u64::MAX)], false),
        (vec![], [Rule::Process(std::process::id())], true),
        (vec![], [Rule::Process(1)], false),
        (vec![], [Rule::Namespace(netns + 1)], false),
    ] {
        let said = format!("{peers:?} {all:?}");
        let rules = Rules {
            all: all.into(),
            peers,
            leaves: Some(Ssh::default()),
        };
        let Some(mut follow) = open(&rules) else {
            return;
        };
        let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let _server = listener.accept().unwrap();
        assert_eq!(opened(&mut follow).is_some(), is_followed, "{said}");
        drop(client);
    }
}
