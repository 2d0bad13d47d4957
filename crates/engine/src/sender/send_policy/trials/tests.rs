//! How time is cut, and what a trial finds.

use super::*;
use crate::offset::Span;
use crate::queues::QueueAccount;

const SLOT_MICROS: u64 = SLOT.as_nanos() / 1000;

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

/// What one end's connection finds.
#[derive(Clone)]
struct End {
    trials: Trials,
    vars: Vars,
}

impl End {
    fn new(micros: u64) -> Self {
        Self {
            trials: Trials::default(),
            vars: Vars::new(at(micros), 1460),
        }
    }

    fn look_at(&mut self, micros: u64) {
        self.vars.now = at(micros);
        self.look();
    }

    fn look(&mut self) {
        self.trials.look(&self.vars);
        self.trials.note(&self.vars);
    }

    fn write(&mut self, octets: u64) {
        self.vars.written += octets;
        self.look();
    }

    /// All that was written is acknowledged.
    fn acknowledged_at(&mut self, micros: u64) {
        self.vars.una = self.vars.written;
        self.look_at(micros);
    }

    /// Writes so many times in a slot, each acknowledged after `wait` microseconds.
    fn slot(&mut self, slot: u64, writes: u64, wait: u64) {
        let begins = slot * SLOT_MICROS;
        for number in 0..writes {
            self.look_at(begins + number * (SLOT_MICROS / writes));
            self.write(10);
            self.acknowledged_at(begins + number * (SLOT_MICROS / writes) + wait);
        }
    }

    fn holds_in(&self, slot: u64) -> bool {
        self.trials.holds_in(slot)
    }
}

fn offer(vars: &Vars) -> Offer {
    Offer::new(Span::default(), vars)
}

#[test]
fn what_left_under_another_policy_is_not_counted() {
    let mut end = End::new(100);
    (end.vars.una, end.vars.written) = (Offset::new(1_000_000), Offset::new(1_000_000));
    (end.vars.received, end.vars.read) = (5_000_000, 5_000_000);
    end.look();
    end.write(100);
    end.acknowledged_at(1_100);
    end.look_at(5_000);
    assert_eq!(end.trials.known.lasting.wait(), Some(1_000_000));
}

#[test]
fn a_pause_makes_a_trial_worthless() {
    let mut end = End::new(245_000);
    for _ in 0..100 {
        end.write(10);
    }
    end.acknowledged_at(246_000);
    let holds_after = |micros: u64| {
        let mut end = end.clone();
        end.look_at(246_000 + micros);
        end.holds_in(0)
    };
    assert!(holds_after(5_000));
    assert!(!holds_after(505_000));
}

#[test]
fn waits_of_any_length_overflow_nothing() {
    let endless = Found {
        queues: [
            QueueAccount {
                area: u64::MAX,
                left: 1,
            },
            QueueAccount::default(),
        ],
        writes: u64::MAX,
        ..Found::default()
    };
    let mut trials = Trials {
        known: Known {
            sending: endless,
            ..Known::default()
        },
        ..Trials::default()
    };
    assert_eq!(trials.known.holding_is_better(), None);
    trials.known.holding.queues[0] = QueueAccount { area: 1, left: 1 };
    trials.known.holding.writes = 1;
    trials.recent_writes = RECENT * LEAST_WRITES;
    let mut vars = Vars::new(at(0), 1460);
    vars.max = Offset::new(10);
    let until = |micros| Verdict::hold_until(Why::Unacknowledged, at(micros));
    // All send in the next slot; if it is not the next one, the timeout of a second ends the hold.
    assert_eq!(trials.decide(&offer(&vars), &vars), until(5_000));
    (vars.now, trials.known.prefers_holding) = (at(10_000), true);
    assert_eq!(trials.decide(&offer(&vars), &vars), until(1_010_000));
}

#[test]
fn what_waits_through_many_slots_counts_in_each_of_them() {
    let mut end = End::new(10_000);
    end.write(100);
    end.acknowledged_at(22_500);
    end.look_at(25_000);
    // The first of three slots keeps nine sixteenths of its 5 ms, the second three quarters.
    let wait = 5_000_000 * 9 / 16 + 5_000_000 * 3 / 4 + 2_500_000;
    assert_eq!(end.trials.known.lasting.wait(), Some(wait));
}

#[test]
fn of_a_long_pause_only_the_last_two_rounds_count() {
    let mut end = End::new(10_000);
    end.write(100);
    end.acknowledged_at(3_600_000_000);
    end.look_at(3_600_005_000);
    let most = SLOT.times(2 * ROUND).as_nanos();
    assert!(
        end.trials
            .known
            .lasting
            .wait()
            .is_some_and(|wait| wait <= most)
    );
}

#[test]
fn with_nodelay_nothing_is_a_trial_of_holding() {
    let mut end = End::new(1_000);
    end.vars.nodelay = true;
    end.trials.known.lasting.queues[0] = QueueAccount { area: 10, left: 1 };
    end.trials.recent_writes = RECENT * LEAST_WRITES;
    end.write(10);
    assert!(!end.holds_in(0));
    end.vars.nodelay = false;
    end.write(10);
    assert!(end.holds_in(0));
}

/// In the first two slots of each round both rules are tried; in the others it holds if that left less waiting.
#[test]
fn what_left_less_waiting_is_done_until_the_next_trial() {
    let mut end = End::new(5_000);
    let mut held = Vec::new();
    for slot in 1..=110 {
        let holds = end.holds_in(slot);
        if holds {
            held.push(slot);
        }
        // Holding is faster from the second round on.
        let wait = if holds && slot >= ROUND * 2 { 50 } else { 200 };
        end.slot(slot, 20, wait);
    }
    assert_eq!(held[..2], [50, 100]);
    assert!(held[2..].iter().copied().eq(102..=110), "{held:?}");
}

/// Two connections of a host: one gains by holding, and the other one loses less than that. Alone each does what is best for
/// itself; together both hold.
#[test]
fn connections_of_a_host_decide_together() {
    let prefer = |host: Option<SharedTrials>| {
        let mut ends = [(); 2].map(|()| End::new(5_000));
        for end in &mut ends {
            end.trials.host = host.clone();
        }
        for slot in 1..=103 {
            for (end, [held, sent]) in ends.iter_mut().zip([[100, 240], [200, 150]]) {
                let wait = if end.holds_in(slot) { held } else { sent };
                end.slot(slot, 20, wait);
            }
        }
        ends.map(|end| end.trials.prefers_holding())
    };
    assert_eq!(prefer(None), [true, false]);
    assert_eq!(prefer(Some(SharedTrials::default())), [true, true]);
}

/// What is told at the end of a slot is known to the peer before the next one begins, once for each slot.
#[test]
fn the_peer_is_told_once_at_the_end_of_a_slot() {
    assert!(!ends_untold(at(13_700), None));
    assert!(ends_untold(at(13_800), None));
    assert!(ends_untold(at(13_800), Some(at(13_700))));
    assert!(!ends_untold(at(14_900), Some(at(13_800))));
    assert!(ends_untold(at(18_800), Some(at(13_800))));
}
