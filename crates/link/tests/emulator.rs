//! Tests what the emulator promises, for any rules and any traffic.

use std::time::Duration;

use proptest::prelude::*;
use tinygram_link::emulator::{Counts, Direction, Impairment, Path, Rules};

/// For each packet: the time since the one before, in microseconds, and its length in octets.
type Traffic = Vec<(u64, usize)>;

fn traffic() -> impl Strategy<Value = Traffic> {
    prop::collection::vec((0_u64..2000, 1_usize..1500), 1..300)
}

prop_compose! {
    fn rules()(
        rate in prop::option::of(10_000_u64..1_000_000_000),
        delay in 0_u64..50_000,
        loss in 0.0..0.5_f64,
        reorder in 0.0..0.5_f64,
        reorder_by in 0_u64..20_000,
        duplicate in 0.0..0.5_f64,
        queue in 0_usize..50,
    ) -> Rules {
        Rules {
            rate,
            delay: Duration::from_micros(delay),
            impairment: Impairment { loss, reorder, duplicate },
            reorder_by: Duration::from_micros(reorder_by),
            queue,
        }
    }
}

/// A packet that carries its number in its first octets.
fn packet(number: usize, octets: usize) -> Vec<u8> {
    let mut packet = vec![0; octets.max(4)];
    packet[..4].copy_from_slice(&(number as u32).to_be_bytes());
    packet
}

fn number(packet: &[u8]) -> u32 {
    u32::from_be_bytes(packet[..4].try_into().unwrap())
}

/// The arrivals with their times, the time when each packet was sent, and the counts.
struct Played {
    arrivals: Vec<(Duration, Vec<u8>)>,
    sent_at: Vec<Duration>,
    counts: Counts,
}

fn play(rules: Rules, seed: u64, traffic: &Traffic) -> Played {
    let mut path = Path::new(rules, seed, Direction::There);
    let (mut now, mut arrivals, mut sent_at) = (Duration::ZERO, Vec::new(), Vec::new());
    for (index, (gap, octets)) in traffic.iter().enumerate() {
        now += Duration::from_micros(*gap);
        while let Some(arrival) = path.take_due(now) {
            arrivals.push(arrival);
        }
        sent_at.push(now);
        path.accept(now, packet(index, *octets));
    }
    while let Some(due) = path.next_due() {
        arrivals.push(path.take_due(due).expect("it is due"));
        assert!(
            path.next_due().is_none_or(|next| next >= due),
            "time goes back"
        );
    }
    assert_eq!(path.in_flight(), 0);
    Played {
        arrivals,
        sent_at,
        counts: path.counts(),
    }
}

proptest! {
    #[test]
    fn every_packet_is_accounted_for(rules in rules(), seed: u64, traffic in traffic()) {
        let Played { arrivals, counts, .. } = play(rules, seed, &traffic);
        prop_assert_eq!(counts.packets, traffic.len() as u64);
        prop_assert_eq!(counts.delivered, arrivals.len() as u64);
        prop_assert_eq!(
            counts.packets + counts.duplicated,
            counts.delivered + counts.lost + counts.overflowed
        );
        prop_assert!(counts.queued_max <= rules.queue);
    }

    #[test]
    fn nothing_arrives_before_the_delay(rules in rules(), seed: u64, traffic in traffic()) {
        let played = play(rules, seed, &traffic);
        for (at, packet) in &played.arrivals {
            prop_assert!(*at >= played.sent_at[number(packet) as usize] + rules.delay);
        }
    }

    #[test]
    fn the_rate_is_never_exceeded(
        mut rules in rules(),
        rate in 10_000_u64..1_000_000_000,
        seed: u64,
        traffic in traffic(),
    ) {
        rules.rate = Some(rate);
        // A packet that is held back may arrive together with others, which says nothing about the
        // wire.
        rules.impairment.reorder = 0.0;
        let played = play(rules, seed, &traffic);
        // A packet arrives when its last bit does. So between two arrivals the wire sent the bits
        // of every packet but the first.
        for first in 0..played.arrivals.len() {
            let (from, mut bits) = (played.arrivals[first].0, 0);
            for (at, packet) in &played.arrivals[first + 1..] {
                bits += packet.len() as u128 * 8;
                prop_assert!(bits * 1_000_000_000 <= (*at - from).as_nanos() * u128::from(rate));
            }
        }
    }

    #[test]
    fn order_is_kept_without_reordering(mut rules in rules(), seed: u64, traffic in traffic()) {
        rules.impairment.reorder = 0.0;
        let numbers: Vec<u32> =
            play(rules, seed, &traffic).arrivals.iter().map(|(_, packet)| number(packet)).collect();
        prop_assert!(numbers.is_sorted());
    }

    #[test]
    fn an_idle_wire_without_loss_drops_nothing(mut rules in rules(), seed: u64, traffic in traffic()) {
        (rules.impairment.loss, rules.rate) = (0.0, None);
        let counts = play(rules, seed, &traffic).counts;
        prop_assert_eq!((counts.lost, counts.overflowed), (0, 0));
    }

    #[test]
    fn the_same_seed_is_the_same_fate(rules in rules(), seed: u64, traffic in traffic()) {
        let (one, other) = (play(rules, seed, &traffic), play(rules, seed, &traffic));
        prop_assert_eq!(one.arrivals, other.arrivals);
    }

    /// What happens to a packet depends on its number, not on its time.
    #[test]
    fn fate_does_not_depend_on_time(mut rules in rules(), seed: u64, traffic in traffic()) {
        rules.rate = None;
        let slower: Traffic = traffic.iter().map(|(gap, octets)| (gap * 3 + 7, *octets)).collect();
        let (one, other) = (play(rules, seed, &traffic).counts, play(rules, seed, &slower).counts);
        prop_assert_eq!(one, other);
    }

    #[test]
    fn shares_are_near_those_asked_for(
        seed: u64,
        loss in 0.0..0.5_f64,
        reorder in 0.0..0.5_f64,
        duplicate in 0.0..0.5_f64,
    ) {
        let rules = Rules { impairment: Impairment { loss, reorder, duplicate }, ..Rules::NONE };
        let packets = 20_000;
        let counts = play(rules, seed, &vec![(10, 100); packets]).counts;
        // Only packets that are not lost are reordered or duplicated. The tolerance is six standard
        // deviations: by chance, one seed in hundreds of millions fails.
        let near = |count: u64, of: f64, share: f64| {
            (count as f64 - of * share).abs() <= 6.0 * (of * share * (1.0 - share)).sqrt()
        };
        let kept = packets as f64 - counts.lost as f64;
        prop_assert!(near(counts.lost, packets as f64, loss));
        prop_assert!(near(counts.reordered, kept, reorder));
        prop_assert!(near(counts.duplicated, kept, duplicate));
    }
}

#[test]
fn one_that_is_held_back_is_overtaken() {
    let rules = Rules {
        impairment: Impairment {
            reorder: 0.3,
            ..Impairment::NONE
        },
        reorder_by: Duration::from_millis(5),
        ..Rules::NONE
    };
    let played = play(rules, 1, &vec![(1000, 100); 100]);
    let numbers: Vec<u32> = played
        .arrivals
        .iter()
        .map(|(_, packet)| number(packet))
        .collect();
    assert!(!numbers.is_sorted(), "{numbers:?}");
    assert_eq!(numbers.len(), 100);
}

/// Computed by hand: packets of 1000 octets at 8 Mbit/s take a millisecond each; one is on the
/// wire, two wait, and the fourth finds the queue full.
#[test]
fn a_full_queue_drops_what_comes() {
    let rules = Rules {
        rate: Some(8_000_000),
        delay: Duration::from_millis(10),
        queue: 2,
        ..Rules::NONE
    };
    let played = play(rules, 1, &vec![(0, 1000); 4]);
    let millis: Vec<u128> = played
        .arrivals
        .iter()
        .map(|(at, _)| at.as_millis())
        .collect();
    assert_eq!(millis, [11, 12, 13]);
    assert_eq!((played.counts.overflowed, played.counts.queued_max), (1, 2));
}

#[test]
fn the_two_directions_throw_different_dice() {
    let lost = |direction| {
        let rules = Rules {
            impairment: Impairment {
                loss: 0.5,
                ..Impairment::NONE
            },
            ..Rules::NONE
        };
        let mut path = Path::new(rules, 1, direction);
        let survives = |index| {
            path.accept(Duration::ZERO, packet(index, 100));
            path.take_due(Duration::ZERO).is_some()
        };
        (0..64).map(survives).collect::<Vec<bool>>()
    };
    assert_ne!(lost(Direction::There), lost(Direction::Back));
}
