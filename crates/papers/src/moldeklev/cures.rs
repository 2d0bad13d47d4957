//! Cures for a deadlock (section 4): each of the paper's, predicted and simulated.

use rayon::prelude::*;
use tinygram_engine::Duration;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::socket::copy_rule::{CopyRule, SunOs};

use super::hosts::OTHER_WORK;
use super::predict::{AckThreshold, Area, Prediction, predict};
use super::transfer::{Deadlock, Transfer};

/// A transfer that was predicted and simulated.
#[derive(Clone, Debug)]
pub struct Examined {
    /// The prediction by the rules alone.
    pub prediction: Prediction,
    /// The simulator's result.
    pub simulated: Simulated,
}

/// The results of several runs of a transfer.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// The number of runs.
    pub runs: u32,
    /// The deadlocks.
    pub deadlocks: Vec<Deadlock>,
    /// The first run that deadlocked, and its deadlock; the first run of all if none did.
    pub telling: (Transfer, Option<Deadlock>),
    /// The throughput in Mbit/s (10^6): after the deadlock if there was one, otherwise of a whole
    /// transfer.
    pub mbit_per_s: f64,
    /// The share of the time, from 0 to 1, in which nothing moves until a timer fires: 1 once it
    /// has deadlocked.
    pub waiting: f64,
}

/// A change that may help.
#[derive(Clone, Debug)]
pub struct BufferCure {
    /// What is changed: `Nagle's algorithm off`.
    pub what: String,
    /// Its place in the paper.
    pub source: &'static str,
    /// The transfer with that change.
    pub transfer: Transfer,
}

/// How long a transfer is watched for a deadlock: usually as long as the deadlocks of the paper's
/// tables take to come.
const WATCHED: Duration = Duration::from_secs(60);
/// The same if neither inequality holds.
const GLANCE: Duration = Duration::from_secs(4);
/// Buffer sizes are proposed in steps of this many octets.
const STEP: u64 = 1 << 10;

/// Predicts a transfer and simulates it, at phases of the timer drawn from `seed`, at least once.
///
/// # Panics
///
/// If there are no `runs`.
#[must_use]
pub fn examine(transfer: &Transfer, runs: u32, seed: u64) -> Examined {
    let prediction = predict(&transfer.rules, transfer.call);
    // Where a piece of a write is larger than the buffer, more gets through than fits into it.
    let predicted = prediction
        .deadlock
        .map_or(0.0, |deadlock| deadlock.per_timer);
    let most = most_per_timer(transfer).max(predicted.ceil() as u64);
    let within = match prediction.area {
        Area::Safe => GLANCE,
        Area::Certain | Area::Possible => WATCHED,
    };
    let phases: Vec<Transfer> = busy(transfer).at_random_phases(runs, seed).collect();
    let watched: Vec<(Transfer, Option<Deadlock>)> = phases
        .into_par_iter()
        .map(|run| (run.clone(), run.deadlock(most, within)))
        .collect();
    let deadlocks: Vec<Deadlock> = watched
        .iter()
        .filter_map(|(_, deadlock)| *deadlock)
        .collect();
    let (mbit_per_s, waiting) = if deadlocks.is_empty() {
        let whole: Vec<Transfer> = transfer.at_random_phases(runs, seed).collect();
        let paced: Vec<(f64, f64)> = whole.par_iter().map(Transfer::paced).collect();
        let mbit_per_s = mean(paced.iter().map(|(mbit_per_s, _)| *mbit_per_s));
        (mbit_per_s, mean(paced.iter().map(|(_, waiting)| *waiting)))
    } else {
        let left = deadlocks.iter().map(|deadlock| deadlock.mbit_per_s);
        (mean(left), 1.0)
    };
    let deadlocked = watched.iter().find(|(_, deadlock)| deadlock.is_some());
    Examined {
        prediction,
        simulated: Simulated {
            runs,
            telling: deadlocked.unwrap_or(&watched[0]).clone(),
            deadlocks,
            mbit_per_s,
            waiting,
        },
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len();
    values.sum::<f64>() / count as f64
}

/// Returns the same transfer between hosts that have other work now and then.
#[must_use]
pub fn busy(transfer: &Transfer) -> Transfer {
    let mut busy = transfer.clone();
    busy.costs.hiccup = Some(OTHER_WORK);
    busy
}

/// Returns the most octets that a deadlocked transfer can get through for each ACK of the timer:
/// "the absolute upper throughput limit after deadlock is (35%R+MSS)/200ms" (3.1.2), and at most
/// the send buffer.
#[must_use]
pub fn most_per_timer(transfer: &Transfer) -> u64 {
    let sender = &transfer.rules.sender;
    let enough = AckThreshold::of(&transfer.rules.receiver).octets();
    sender.buffer.min(enough + u64::from(sender.mss))
}

/// Returns the cures that change this transfer.
#[must_use]
pub fn cures(transfer: &Transfer) -> Vec<BufferCure> {
    policies(transfer)
        .chain(round_mss(transfer))
        .chain(no_limit(transfer))
        .chain(send_buffer(transfer))
        .chain(receive_buffer(transfer))
        .collect()
}

fn policies(transfer: &Transfer) -> impl Iterator<Item = BufferCure> {
    let policy = &transfer.rules.sender.policy;
    let off = (
        SendPolicy::Off,
        "Nagle's algorithm off (TCP_NODELAY)",
        "section 4.1",
    );
    let changed = (
        SendPolicy::MssOutstanding,
        "Nagle's algorithm changed: a short segment may go once an MSS is unacknowledged",
        "section 4.2.1",
    );
    let off = (!matches!(policy, SendPolicy::Off)).then_some(off);
    let changed = (!matches!(policy, SendPolicy::MssOutstanding)).then_some(changed);
    let of_both = off.into_iter().chain(changed);
    of_both.map(|(policy, what, source)| BufferCure {
        what: what.into(),
        source,
        transfer: transfer.clone().with_policy(policy),
    })
}

/// "Set the MSS to a power-of-two multiple of the 1024 byte cluster page size" (4.2).
fn round_mss(transfer: &Transfer) -> Option<BufferCure> {
    let mss = transfer.rules.receiver.mss;
    let rounded = (mss >= 1024).then(|| 1 << mss.ilog2())?;
    let mut changed = transfer.clone();
    changed.rules.sender.mss = rounded.into();
    changed.rules.receiver.mss = rounded;
    (rounded != mss).then(|| BufferCure {
        what: format!("MSS {rounded}"),
        source: "section 4.2.2",
        transfer: changed,
    })
}

fn no_limit(transfer: &Transfer) -> Option<BufferCure> {
    let CopyRule::SunOs(rule) = transfer.rules.copy_rule else {
        return None;
    };
    let mut changed = transfer.clone();
    changed.rules.copy_rule = CopyRule::SunOs(SunOs {
        piece: u64::MAX,
        ..rule
    });
    (rule.piece < transfer.call).then(|| BufferCure {
        what: format!("no limit of {} bytes to a copy", rule.piece),
        source: "section 4.3",
        transfer: changed,
    })
}

/// Returns the smallest send buffer for which neither inequality holds.
fn send_buffer(transfer: &Transfer) -> Option<BufferCure> {
    let rules = &transfer.rules;
    let enough = AckThreshold::of(&rules.receiver).octets() + u64::from(rules.sender.mss);
    let size = enough.next_multiple_of(STEP);
    let mut changed = transfer.clone();
    changed.rules.sender.buffer = size;
    (rules.sender.buffer < enough).then(|| BufferCure {
        what: format!("send buffer {size}, the nearest safe one"),
        source: "section 4",
        transfer: changed,
    })
}

/// Returns the largest receive buffer with which this send buffer is safe, if there is one.
fn receive_buffer(transfer: &Transfer) -> Option<BufferCure> {
    let rules = &transfer.rules;
    let with = |size: u64| {
        let mut changed = transfer.clone();
        changed.rules.receiver.buffer = size;
        changed
    };
    let is_safe = |size: &u64| {
        let threshold = AckThreshold::of(&with(*size).rules.receiver);
        Area::of(rules.sender.buffer, rules.sender.mss.into(), &threshold) == Area::Safe
    };
    let below = (1..=rules.receiver.buffer / STEP).rev().map(|n| n * STEP);
    let size = below.into_iter().find(is_safe)?;
    (size < rules.receiver.buffer).then(|| BufferCure {
        what: format!("receive buffer {size}, the nearest safe one"),
        source: "section 4",
        transfer: with(size),
    })
}
