//! The ladders of a page: a few transfers of a cell, simulated again and recorded segment by
//! segment.

use std::collections::BTreeSet;

use tinygram_engine::{Flags, Instant, Offset};
use tinygram_naglemark::hosts::PaperHosts;
use tinygram_naglemark::{Error, Measured, Plan, REQUEST, Sample, Yardstick};
use tinygram_report::{By, Step};
use tinygram_sim::medium::{MediumFrame, Side};
use tinygram_sim::observer::Tap;

/// A transfer that was recorded.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// Its index among the transfers of its repetition.
    pub(super) at: usize,
    /// The reason why it was chosen: `slowest`.
    pub(super) which: &'static str,
    /// Its segments, as a tap at the server saw them.
    pub(super) steps: Vec<Step>,
}

/// Runs the first repetition of a cell again, as far as needed, with a tap at the server. A
/// transfer whose time differs from the first run's is left out.
pub(super) fn seen(
    plan: &Plan,
    hosts: &PaperHosts,
    measured: &Measured,
    yardstick: &Yardstick,
) -> Result<Vec<Seen>, Error> {
    let samples = measured.first();
    let chosen = chosen(samples, yardstick);
    let Some(last) = chosen.iter().map(|(at, _)| *at).max() else {
        return Ok(Vec::new());
    };
    let mut trial = plan.trial(&measured.cell, 0);
    trial.lengths = trial.lengths[..=last].into();
    let (taken, tap) = hosts.watched(&trial, Tap::at(Side::Server))?;
    let passed = tap.passed();
    let exchanges = exchanges(&passed);
    let same = |at: usize| taken.samples.get(at) == samples.get(at);
    let seen = chosen.into_iter().filter(|(at, _)| same(*at));
    Ok(seen
        .filter_map(|(at, which)| {
            let steps = steps(exchanges.get(at)?);
            Some(Seen { at, which, steps })
        })
        .collect())
}

/// Returns the slowest transfer; the median of the delayed ones; and, of those that were not
/// delayed, the one with about the same length, or the median if none was delayed.
fn chosen(samples: &[Sample], yardstick: &Yardstick) -> Vec<(usize, &'static str)> {
    let mut order: Vec<usize> = (0..samples.len()).collect();
    order.sort_by_key(|&at| (samples[at].elapsed, at));
    let is_delayed = |at: &usize| yardstick.is_delayed(&samples[*at]);
    let (delayed, others): (Vec<_>, Vec<_>) = order.iter().copied().partition(is_delayed);
    let middle = |of: &[usize]| of.get(of.len() / 2).copied();
    let other = match middle(&delayed) {
        Some(one) => {
            let far = |at: &usize| samples[*at].length.abs_diff(samples[one].length);
            let nearest = others.iter().copied().min_by_key(|at| (far(at), *at));
            (nearest, "about as long, not delayed")
        }
        None => (middle(&others), "typical"),
    };
    let candidates = [
        (middle(&delayed), "typical delayed"),
        other,
        (order.last().copied(), "slowest"),
    ];
    let mut known = BTreeSet::new();
    let found = candidates.into_iter();
    found
        .filter_map(|(at, which)| Some((at?, which)))
        .filter(|(at, _)| known.insert(*at))
        .collect()
}

/// Returns the frames of each transfer: from its request until the next one's.
fn exchanges(frames: &[(Side, MediumFrame)]) -> Vec<&[(Side, MediumFrame)]> {
    let mut begins = Vec::new();
    let mut asked = 0;
    let mut known = BTreeSet::new();
    for (at, (from, frame)) in frames.iter().enumerate() {
        let octets = u64::from(frame.segment.len);
        let is_new = *from == Side::Client
            && octets > 0
            && known.insert((frame.socket, frame.generation, frame.segment.seq));
        if is_new {
            if asked % REQUEST == 0 {
                begins.push(at);
            }
            asked += octets;
        }
    }
    let ends = begins.iter().skip(1).copied().chain([frames.len()]);
    begins
        .iter()
        .zip(ends)
        .map(|(&from, to)| &frames[from..to])
        .collect()
}

/// Returns the segments in tcpdump's notation, with sequence numbers counted from the transfer's
/// first octets.
fn steps(exchange: &[(Side, MediumFrame)]) -> Vec<Step> {
    let first = |side| {
        let of_side = exchange.iter().filter(|(from, _)| *from == side);
        of_side
            .map(|(_, frame)| frame.segment.seq.get() as i64)
            .min()
    };
    let bases = [first(Side::Client), first(Side::Server)];
    let began = exchange
        .first()
        .map_or(Instant::ZERO, |(_, frame)| frame.at);
    let step = |(from, frame): &(Side, MediumFrame)| {
        let segment = &frame.segment;
        let relative = |offset: Offset, side: Side| match bases[side.index()] {
            Some(base) => offset.get() as i64 - base + 1,
            None => 1,
        };
        let mut parts = Vec::new();
        if segment.len > 0 {
            let seq = relative(segment.seq, *from);
            parts.push(format!(
                "seq {seq}:{}, length {}",
                seq + i64::from(segment.len),
                segment.len
            ));
        }
        if segment.flags.has(Flags::ACK) && (segment.len == 0 || *from == Side::Client) {
            parts.push(format!("ack {}", relative(segment.ack, from.other())));
        }
        if segment.flags.has(Flags::FIN) {
            parts.push("FIN".into());
        }
        Step {
            at_ms: frame.at.since(began).as_millis_f64(),
            by: match from {
                Side::Server => By::Left,
                Side::Client => By::Right,
            },
            text: parts.join(", "),
        }
    };
    let all: Vec<Step> = exchange.iter().map(step).collect();
    shortened(all)
}

/// Leaves out the middle of a long exchange.
fn shortened(mut steps: Vec<Step>) -> Vec<Step> {
    let more = steps.len().saturating_sub(2 * KEPT);
    if more > 1 {
        let left_out = Step {
            at_ms: steps[KEPT].at_ms,
            by: By::LeftOut,
            text: format!("... {more} more segments ..."),
        };
        steps.splice(KEPT..KEPT + more, [left_out]);
    }
    steps
}

/// The segments kept at either end of a long exchange.
const KEPT: usize = 16;

#[cfg(test)]
mod tests {
    use tinygram_engine::sender::send_policy::Registered;
    use tinygram_naglemark::hosts::Model;
    use tinygram_naglemark::{Keep, Lengths, MediumKind, TrialType, measure};

    use super::*;

    /// A ladder shows the transfer that was measured: all of its octets, within the time that it
    /// took, and a silence as long as the delay if it was delayed.
    #[test]
    fn a_ladder_shows_the_transfer_that_was_measured() {
        for trial_type in [TrialType::SequentialOne, TrialType::RandomEach] {
            let plan = Plan::default()
                .policies([Registered::named("nagle").expect("it is in the list")])
                .trial_types([trial_type])
                .lengths(Lengths {
                    random: tinygram_naglemark::Random {
                        transfers: 60,
                        to: 20_000,
                        ..Lengths::PAPER.random
                    },
                    series: tinygram_naglemark::Series {
                        transfers: 60,
                        step: 331,
                        ..Lengths::PAPER.series
                    },
                });
            let hosts = PaperHosts::new(Model::Fitted, MediumKind::Ethernet);
            let mut backend = hosts.clone();
            let outcomes =
                measure(&plan, &mut [&mut backend], Keep::First, &|_| ()).expect("it runs");
            let (measured, yardstick) = (&outcomes[0].cells[0], &outcomes[0].yardstick);
            let seen = seen(&plan, &hosts, measured, yardstick).expect("it runs again");
            assert_eq!(seen.len(), 3, "{trial_type:?}");
            for it in &seen {
                let sample = &measured.first()[it.at];
                let elapsed = sample.elapsed.as_millis_f64();
                let last = it.steps.iter().rfind(|step| step.text.starts_with("seq"));
                let last = last.expect("there is data");
                assert!(last.text.starts_with("seq ") && last.by == By::Left);
                let end = format!(":{}, length", sample.length + 1);
                assert!(last.text.contains(&end), "{} {last:?}", sample.length);
                assert!(last.at_ms < elapsed, "{last:?} after {elapsed}");
                let waits = it.steps.windows(2).map(|two| two[1].at_ms - two[0].at_ms);
                let longest = waits.fold(0.0, f64::max);
                let is_delayed = yardstick.is_delayed(sample);
                assert_eq!(
                    longest > elapsed / 2.0,
                    is_delayed,
                    "{longest} of {elapsed}"
                );
            }
        }
    }

    #[test]
    fn a_long_exchange_keeps_its_ends() {
        let step = |at: usize| Step {
            at_ms: at as f64,
            by: By::Left,
            text: at.to_string(),
        };
        let all: Vec<_> = (0..100).map(step).collect();
        let kept = shortened(all.clone());
        assert_eq!(kept.len(), 2 * KEPT + 1);
        assert_eq!(
            (&kept[..KEPT], &kept[KEPT + 1..]),
            (&all[..KEPT], &all[100 - KEPT..])
        );
        assert_eq!(kept[KEPT].text, "... 68 more segments ...");
        assert_eq!(shortened(all[..33].to_vec()), all[..33]);
    }
}
