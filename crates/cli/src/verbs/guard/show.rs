//! What is said at the end.

use tinygram_stalls::{Advice, Case};

use super::accepted::Accepted;
use super::looked::{Looked, Stall, in_words};
use crate::amount;
use crate::terminal::remark;

pub(super) fn say(looked: &Looked, accepted: &Accepted) {
    let said = |stall: &Stall| match accepted.is(stall) {
        true => format!("tinygram guard: accepted: {}", in_words(stall)),
        false => format!("tinygram guard: {}", in_words(stall)),
    };
    for stall in looked.stalls.iter().take(MOST_SAID) {
        remark(&said(stall));
    }
    if looked.stalls.len() > MOST_SAID {
        remark(&format!(
            "tinygram guard: and {} more",
            looked.stalls.len() - MOST_SAID
        ));
    }
    advise(&looked.stalls);
    // A sentence of its own, then how much it means.
    remark(&format!("tinygram guard: {accepted}."));
    if looked.seen.connections == 0 {
        remark(NOTHING_SEEN);
    }
    let mut line = format!(
        "tinygram guard: {}{}, {}",
        amount::in_words(looked.seen),
        match looked.segments_unknown {
            0 => String::new(),
            1 => " (those of 1 connection unknown)".to_owned(),
            unknown => format!(" (those of {unknown} connections unknown)"),
        },
        looked.way
    );
    if looked.apart > 0 {
        line += &format!(
            "; {} holds that the writing thread did not wait for",
            looked.apart
        );
    }
    if looked.prompt > 0 {
        line += &format!(
            "; {} holds that no timer of delayed acknowledgments ended",
            looked.prompt
        );
    }
    if let Some(slower) = looked.slower.filter(|slower| *slower > 0) {
        line += &format!("; {slower} short writes that a slower acknowledgment would have held");
    }
    remark(&line);
}

/// Says what helps against each kind of stall, at each end that has it.
fn advise(stalls: &[Stall]) {
    let mut cases: Vec<Case> = Vec::new();
    for case in stalls.iter().map(|stall| stall.case) {
        let same = |known: &Case| (known.kind, known.sender) == (case.kind, case.sender);
        if !cases.iter().any(same) {
            cases.push(case);
        }
    }
    for case in &cases {
        let which = match cases.len() {
            1 => String::new(),
            _ => format!(" where the {} holds ({})", case.sender, case.kind),
        };
        for step in &Advice::for_own_code(case).steps {
            let (side, text) = (step.side, &step.text);
            remark(&format!(
                "tinygram guard: what helps{which}: {side}: {text}"
            ));
        }
    }
}

const NOTHING_SEEN: &str = "tinygram guard: NOTHING WAS TESTED: the command opened no TCP connection that was seen (--min-connections 1 makes this a failure).";
const MOST_SAID: usize = 20;
