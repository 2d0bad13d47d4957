//! Compares what was found in random captures with the truth.

use std::collections::BTreeMap;

use super::capture::{Capture, Truth};

/// A finding, from any program.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) kind: String,
    pub(crate) tier: String,
    /// The held frame.
    pub(crate) frame: u64,
    pub(crate) cost_ns: i64,
    pub(crate) write_once: bool,
    pub(crate) text: String,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) right: usize,
    pub(crate) wrong: usize,
    pub(crate) neutral: usize,
}

#[derive(Default)]
pub(crate) struct Score {
    pub(crate) captures: usize,
    /// Stalls by kind of truth: found, possible, all.
    pub(crate) stalls: BTreeMap<&'static str, [usize; 3]>,
    /// Accusations by kind.
    pub(crate) accused: BTreeMap<String, Count>,
    pub(crate) possible: Count,
    /// The sum of the shares found over captures that have stalls, and the number of those
    /// captures; also by kind.
    pub(crate) recall: (f64, usize),
    pub(crate) by_kind: BTreeMap<&'static str, (f64, usize)>,
    /// Stalls that the wire leaves open: found, possible, all; and the recall including them.
    pub(crate) unknowable: [usize; 3],
    pub(crate) recall_of_all: (f64, usize),
    /// The recall including findings that are merely possible.
    pub(crate) recall_with_possible: f64,
    /// Missed stalls, by kind and by what became of them: their number, and how much they reduce
    /// the recall.
    pub(crate) missed: BTreeMap<(&'static str, &'static str), (usize, f64)>,
    /// Captures with stalls in which at least one was found.
    pub(crate) seen: usize,
    /// Captures with a wrong accusation.
    pub(crate) wronged: usize,
    pub(crate) cost_off: usize,
    /// Pipelined stalls, and those advised to write once.
    pub(crate) pipelined: [usize; 2],
    pub(crate) floods: Count,
    pub(crate) floods_missed: usize,
}

impl Score {
    /// Adds a capture and the claims about it; returns what was wrong or missed.
    pub(crate) fn add(
        &mut self,
        capture: &Capture,
        claims: &[Claim],
        excuses: &BTreeMap<u64, &'static str>,
        log: &mut Vec<String>,
    ) {
        self.captures += 1;
        let truth = |frame| capture.late.iter().find(|l| l.frame == frame);
        let mut wrong = 0;
        for claim in claims.iter().filter(|c| c.kind != "tinygram-flood") {
            let late = truth(claim.frame);
            let count = match claim.tier.as_str() {
                "possible" => &mut self.possible,
                _ => self.accused.entry(claim.kind.clone()).or_default(),
            };
            match late.map(|l| l.truth) {
                Some(Truth::Stall(_) | Truth::Unknowable(_)) => count.right += 1,
                Some(Truth::Neutral) => count.neutral += 1,
                Some(Truth::Unwatched) | None => {
                    count.wrong += 1;
                    let accuses = claim.tier != "possible";
                    wrong += usize::from(accuses);
                    log.push(format!(
                        "{} {} {}: {} {} {:?} {}",
                        if accuses { "WRONG" } else { "wrong" },
                        capture.seed,
                        capture.name,
                        claim.tier,
                        claim.kind,
                        late.map(|l| l.truth),
                        claim.text
                    ));
                }
            }
            if let Some(late) = late.filter(|l| matches!(l.truth, Truth::Stall(_)))
                && claim.tier != "possible"
            {
                self.pipelined[0] += usize::from(late.pipelined);
                self.pipelined[1] += usize::from(late.pipelined && claim.write_once);
                let off = (claim.cost_ns - late.cost_ns).abs();
                self.cost_off += usize::from(off > 2_000_000.max(late.cost_ns / 10));
            }
        }
        self.wronged += usize::from(wrong > 0);
        let flooded = claims.iter().filter(|c| c.kind == "tinygram-flood").count();
        match (capture.floods, flooded > 0) {
            (Some(true), true) => self.floods.right += 1,
            (None, true) => self.floods.neutral += 1,
            (Some(false), true) => {
                self.floods.wrong += 1;
                log.push(format!("FLOOD {} {}", capture.seed, capture.name));
            }
            (Some(true), false) => {
                self.floods_missed += 1;
                log.push(format!("UNSEEN FLOOD {} {}", capture.seed, capture.name));
            }
            (_, false) => {}
        }
        self.recall(capture, claims, excuses, log);
    }

    fn recall(
        &mut self,
        capture: &Capture,
        claims: &[Claim],
        excuses: &BTreeMap<u64, &'static str>,
        log: &mut Vec<String>,
    ) {
        let (mut all, mut found, mut open, mut found_open) = (0_usize, 0, 0, 0);
        let mut possible_here = 0;
        let mut missed = Vec::new();
        let mut kinds: BTreeMap<&'static str, (u32, u32)> = BTreeMap::new();
        for late in &capture.late {
            let claim = claims.iter().find(|c| c.frame == late.frame);
            if let Truth::Unknowable(_) = late.truth {
                let possible = claim.is_some_and(|c| c.tier == "possible");
                open += 1;
                found_open += usize::from(claim.is_some() && !possible);
                self.unknowable[1] += usize::from(possible);
            }
            let Truth::Stall(kind) = late.truth else {
                continue;
            };
            let row = self.stalls.entry(kind).or_default();
            row[2] += 1;
            all += 1;
            let of_kind = kinds.entry(kind).or_default();
            of_kind.1 += 1;
            match claim.map(|c| c.tier.as_str()) {
                Some("possible") => {
                    row[1] += 1;
                    possible_here += 1;
                }
                Some(_) => {
                    row[0] += 1;
                    found += 1;
                    of_kind.0 += 1;
                }
                None => {}
            }
            if claim.is_none_or(|c| c.tier == "possible") {
                let cause = match claim {
                    Some(_) => "possible",
                    None => excuses.get(&late.frame).copied().unwrap_or("unnoticed"),
                };
                missed.push((kind, cause));
                log.push(format!(
                    "MISS {} {}: {kind} frame {} {:.1} ms {cause}",
                    capture.seed,
                    capture.name,
                    late.frame,
                    late.cost_ns as f64 / 1e6,
                ));
            }
        }
        for cause in missed {
            let row = self.missed.entry(cause).or_default();
            row.0 += 1;
            row.1 += 1.0 / all as f64;
        }
        for missed in log.iter_mut().rev().take_while(|l| l.starts_with("MISS")) {
            if !missed.contains('%') && all > 0 {
                *missed += &format!(" {:.2} %", 100.0 / all as f64);
            }
        }
        for (kind, (found, all)) in kinds {
            let sum = self.by_kind.entry(kind).or_default();
            sum.0 += f64::from(found) / f64::from(all);
            sum.1 += 1;
        }
        self.unknowable[0] += found_open;
        self.unknowable[2] += open;
        if all + open > 0 {
            self.recall_of_all.0 += (found + found_open) as f64 / (all + open) as f64;
            self.recall_of_all.1 += 1;
        }
        if all > 0 {
            self.recall.0 += found as f64 / all as f64;
            self.recall_with_possible += (found + possible_here) as f64 / all as f64;
            self.recall.1 += 1;
            self.seen += usize::from(found > 0);
        }
    }

    pub(crate) fn precision(&self) -> f64 {
        let right: usize = self.accused.values().map(|c| c.right).sum();
        let wrong: usize = self.accused.values().map(|c| c.wrong).sum();
        share(right, right + wrong)
    }

    pub(crate) fn mean_recall(&self) -> f64 {
        match self.recall.1 {
            0 => 1.0,
            n => self.recall.0 / n as f64,
        }
    }

    pub(crate) fn possible_right(&self) -> f64 {
        share(
            self.possible.right,
            self.possible.right + self.possible.wrong,
        )
    }
}

fn share(part: usize, whole: usize) -> f64 {
    match whole {
        0 => 1.0,
        n => part as f64 / n as f64,
    }
}

impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "{} captures, {} of them with stalls",
            self.captures, self.recall.1
        )?;
        for (kind, [found, possible, all]) in &self.stalls {
            writeln!(
                f,
                "  {kind:<12} {all:>6} stalls, {found:>6} found ({:.3}), {possible} possible; \
                 by capture {:.3} of {}",
                share(*found, *all),
                self.by_kind[kind].0 / self.by_kind[kind].1 as f64,
                self.by_kind[kind].1
            )?;
        }
        let [found, possible, all] = self.unknowable;
        writeln!(
            f,
            "  apart, for the wire shows the same had the window been used up: round-trip {all}, \
             {found} found, {possible} possible; with them recall by capture {:.3} of {}",
            self.recall_of_all.0 / self.recall_of_all.1.max(1) as f64,
            self.recall_of_all.1
        )?;
        let mut missed: Vec<_> = self.missed.iter().collect();
        missed.sort_by(|a, b| b.1.1.total_cmp(&a.1.1));
        for ((kind, cause), (count, of_recall)) in missed {
            writeln!(
                f,
                "  missed: {kind:<10} {cause:<16} {count:>5}, {:.4} of the recall",
                of_recall / self.recall.1 as f64
            )?;
        }
        for (kind, count) in &self.accused {
            writeln!(
                f,
                "  accused: {kind:<24} right {:>5}, wrong {:>4}, neutral {:>4}",
                count.right, count.wrong, count.neutral
            )?;
        }
        writeln!(
            f,
            "  floods: right {}, wrong {}, a matter of taste {}, missed {}",
            self.floods.right, self.floods.wrong, self.floods.neutral, self.floods_missed
        )?;
        writeln!(
            f,
            "  recall by capture {:.3}, with possible ones {:.3} (something found in {:.3}), precision {:.4} ({} captures wronged), \
             possible right {:.3} of {}; costs off {}; pipelined {}, of them told to write once {}",
            self.mean_recall(),
            self.recall_with_possible / self.recall.1.max(1) as f64,
            share(self.seen, self.recall.1),
            self.precision(),
            self.wronged,
            self.possible_right(),
            self.possible.right + self.possible.wrong,
            self.cost_off,
            self.pipelined[0],
            self.pipelined[1]
        )
    }
}
