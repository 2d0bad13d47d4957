//! What is said at the end, and where it is reported.

use std::path::Path;

use tinygram_report::Destination;
use tinygram_report::units::counted;
use tinygram_stalls::{Advice, Case};

use super::accepted::Accepted;
use super::looked::{Looked, Replayed, Stall, in_words};
use super::plan::Guard;
use super::reports;
use super::verdict::Verdict;
use crate::outcome::Failure;
use crate::terminal::{self, remark};

/// Where a guarded command's result goes, besides standard error.
pub(super) struct Show<'a> {
    guard: &'a Guard,
    junit: Option<(&'a Path, Destination)>,
}

impl<'a> Show<'a> {
    /// Opens the JUnit report, if it is wanted: before any work, because a name that cannot be written is bad input.
    pub(super) fn open(guard: &'a Guard) -> Result<Self, Failure> {
        let opened = guard.junit.as_deref().map(|path| {
            let opened = Destination::open(path).map_err(|error| Failure::writing(path, error));
            opened.map(|destination| (path, destination))
        });
        Ok(Self {
            guard,
            junit: opened.transpose()?,
        })
    }

    /// Says and reports what was found. It fails if the JUnit report cannot be written.
    pub(super) fn show(self, looked: &Looked, verdict: &Verdict) -> Result<(), Failure> {
        let Verdict {
            accepted,
            cannot_tell,
        } = verdict;
        say(looked, accepted);
        let written = self.junit.map_or(Ok(()), |(path, destination)| {
            let command = &self.guard.command;
            let text = reports::junit(command, looked, accepted, cannot_tell.as_deref());
            let written = destination.write(text.as_bytes());
            written.map_err(|error| Failure::writing(path, error))
        });
        if self.guard.github {
            // Whether anybody reads the annotations decides nothing: the exit code is the verdict.
            let _ = terminal::print(reports::github(looked, accepted).as_bytes());
        }
        written
    }
}

/// Shows what a recorded run showed when it was judged again.
pub(super) fn replayed(file: &Path, replayed: &Replayed) -> Result<(), Failure> {
    if replayed.is_cut {
        remark(&format!(
            "tinygram guard: {}: its last record is cut off and was dropped",
            file.display()
        ));
    }
    for stall in &replayed.stalls {
        remark(&format!("tinygram guard: {}", in_words(stall)));
    }
    let count: u64 = replayed.stalls.iter().map(|stall| stall.times).sum();
    let text = format!(
        "{count} stalls, {} without a timer, {} not waited for\n",
        replayed.prompt, replayed.apart
    );
    terminal::print(text.as_bytes())?;
    Ok(())
}

fn say(looked: &Looked, accepted: &Accepted) {
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
        crate::looked::in_words(looked.seen),
        match looked.segments_unknown {
            0 => String::new(),
            1 => " (those of 1 connection unknown)".to_owned(),
            unknown => format!(" (those of {unknown} connections unknown)"),
        },
        looked.way
    );
    if looked.apart > 0 {
        line += &format!(
            "; {} that the writing thread did not wait for",
            counted(looked.apart, "hold")
        );
    }
    if looked.prompt > 0 {
        line += &format!(
            "; {} that no timer of delayed acknowledgments ended",
            counted(looked.prompt, "hold")
        );
    }
    if let Some(slower) = looked.slower.filter(|slower| *slower > 0) {
        line += &format!(
            "; {} that a slower acknowledgment would have held",
            counted(slower, "short write")
        );
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
