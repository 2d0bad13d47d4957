//! On the wire: each policy decides one sequence of writes as no other does, and as its rule in the engine says.
#![cfg(target_os = "linux")]

mod common;

use std::fmt::Write as _;
use std::time::Duration;

use common::peer::{Network, Segment, WIDE};
use tinygram_kernel::{Base, BpfPolicy};

/// What the program and its peer do.
#[derive(Clone, Copy)]
enum Step {
    Write(usize),
    /// With MSG_MORE.
    More(usize),
    Acknowledge(u32),
    /// An acknowledgment that offers another window.
    Shrink(u32, u16),
    /// The same acknowledgment again, with another window.
    Offer(u16),
    /// TCP_NODELAY, which is on: Linux sends what MSG_MORE holds.
    Flush,
}
use Step::{Acknowledge, Flush, More, Offer, Shrink, Write};

type Story = (&'static str, &'static [Step]);

/// The stories, each on a connection of its own. The MSS is 1000.
const STORIES: &[Story] = &[
    ("two small", &[Write(100), Write(100), Acknowledge(100)]),
    (
        "full and short, then small",
        &[Write(1500), Write(100), Acknowledge(1000)],
    ),
    (
        "small, then full and short",
        &[Write(100), Write(1500), Acknowledge(1100)],
    ),
    ("more to come", &[More(2500), Acknowledge(1000)]),
    ("more to come, flushed", &[More(2500), Flush]),
    ("more to come, then the end", &[More(2500), Write(100)]),
    (
        "cut by the window",
        &[Write(1000), Shrink(1000, 1500), Write(3000)],
    ),
    (
        "idle as the write began, not as its end may leave",
        &[Write(1000), Shrink(1000, 1000), Write(1500), Offer(WIDE)],
    ),
    ("small, full, small", &[Write(100), Write(1000), Write(100)]),
    ("small, then larger", &[Write(100), Write(400)]),
];

#[test]
fn each_policy_decides_as_no_other_does() {
    let Some(mut network) = Network::new() else {
        return;
    };
    let (mut shown, mut known) = (String::new(), Vec::new());
    for policy in BpfPolicy::LIST {
        let Some(loaded) = common::load_with(
            policy.name,
            Base::Cubic,
            (policy.name == "naglim").then_some(300),
        ) else {
            return;
        };
        let mut all = String::new();
        for story in STORIES {
            let told = (0..ATTEMPTS).find_map(|_| tell(&mut network, loaded.name(), story));
            let told = told.expect("a story without a retransmission in between");
            let _ = writeln!(all, "  {}:{told}", story.0);
        }
        let _ = write!(shown, "{}\n{all}", policy.name);
        // It differs from OFF in time alone: the next test.
        if policy.name != "timed-coalescing" {
            assert!(
                !known.contains(&all),
                "{} decides as another does:\n{all}",
                policy.name
            );
            known.push(all);
        }
    }
    let expected = include_str!("wire.txt");
    assert!(
        shown == expected,
        "tests/wire.txt is:\n{expected}\nand it was:\n{shown}"
    );
}

/// Ten writes in a row: without a hold ten segments, and with one fewer, all within the time that it takes.
#[test]
fn timed_coalescing_joins_what_comes_soon() {
    let Some(mut network) = Network::new() else {
        return;
    };
    let mut segments = Vec::new();
    for (policy, interval_us) in [("off", None), ("timed-coalescing", Some(20_000))] {
        let Some(loaded) = common::load_with(policy, Base::Cubic, interval_us) else {
            return;
        };
        let mut connection = network.connect(loaded.name());
        // The kernel paces nothing before the tenth data segment.
        for end in [6_000, 12_000] {
            connection.write(6_000, 0);
            connection.acknowledge(end);
        }
        let mut left = Vec::new();
        for _ in 0..10 {
            left.extend(connection.write(50, 0));
        }
        std::thread::sleep(Duration::from_millis(100));
        left.extend(connection.seen());
        assert_eq!(
            left.iter().map(|(_, octets)| octets).sum::<usize>(),
            500,
            "{policy}: {left:?}"
        );
        segments.push(left.len());
    }
    assert!(segments[0] == 10 && segments[1] <= 3, "{segments:?}");
}

/// After a runt that the pacing timer was told of, a connection given back to CUBIC sends at once what its window allows.
/// All round trips are long, because Linux lets 64 KiB leave unpaced where the least one is short.
#[test]
fn timed_coalescing_leaves_no_pacing_behind() {
    let Some(mut network) = Network::new() else {
        return;
    };
    let Some(loaded) = common::load_with("timed-coalescing", Base::Cubic, Some(1_000)) else {
        return;
    };
    let round_trip = Duration::from_millis(50);
    let mut connection = network.connect_after(loaded.name(), round_trip);
    // The kernel paces nothing before the tenth data segment.
    for (octets, end) in [(6_000, 6_000), (6_000, 12_000), (50, 12_050)] {
        connection.write(octets, 0);
        std::thread::sleep(round_trip);
        connection.acknowledge(end);
    }
    connection.choose("cubic");
    let left = connection.write(6_000, 0);
    let octets: usize = left.iter().map(|(_, octets)| octets).sum();
    assert_eq!(octets, 6_000, "{left:?}");
}

/// Tells a story; `None` if the machine was so busy that the retransmission timer spoke in the midst of it.
fn tell(network: &mut Network, congestion: &str, (_, steps): &Story) -> Option<String> {
    let mut connection = network.connect(congestion);
    let (mut told, mut end) = (String::new(), 0);
    for step in *steps {
        let (what, left) = match *step {
            Write(octets) => (format!("write {octets}"), connection.write(octets, 0)),
            More(octets) => (
                format!("more {octets}"),
                connection.write(octets, libc::MSG_MORE),
            ),
            Acknowledge(to) => (format!("ack {to}"), connection.acknowledge(to)),
            Shrink(to, window) => (
                format!("ack {to} window {window}"),
                connection.shrink(to, window),
            ),
            Flush => ("flush".to_owned(), connection.flush()),
            Offer(window) => (format!("window {window}"), connection.offer(window)),
        };
        for (start, octets) in &left {
            if *start < end {
                return None;
            }
            end = start + *octets as u32;
        }
        let _ = write!(told, " {what}{}", segments(&left));
    }
    Some(told)
}

fn segments(left: &[Segment]) -> String {
    match left.is_empty() {
        true => " > nothing;".to_owned(),
        false => {
            let each: Vec<_> = left
                .iter()
                .map(|(start, octets)| format!("{start}:{}", *start as usize + octets))
                .collect();
            format!(" > {};", each.join(" "))
        }
    }
}

const ATTEMPTS: u32 = 5;
