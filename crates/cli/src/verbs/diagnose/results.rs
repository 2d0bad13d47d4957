//! What is found in each capture, by its own analyzer.

use tinygram_diagnose::{Finding, Obstacles, Summary, Verdict};

pub(super) use super::capture::{Capture, Source, Tell};
use super::fail_on::Condition;
use super::plan::Plan;
use super::{one_by_one, side_by_side};
use crate::exit::Failure;
use crate::files::Input;
use crate::terminal;

pub(super) struct Results {
    pub(super) captures: Vec<Capture>,
    /// Why captures that were to be read are not among them.
    pub(super) unread: Vec<Failure>,
}

impl Results {
    /// Analyses the captures that the plan names. If a capture comes in while it is read, `tell` is
    /// called after each frame.
    pub(super) fn of(plan: &Plan, tell: &mut Tell) -> Result<Self, Failure> {
        let mut captures: Vec<Capture> = Vec::new();
        let mut unread = Vec::new();
        let streams = super::ring::streams(&plan.inputs, Input::name);
        let several = streams.len() + plan.unread.len() > 1;
        let mut done = side_by_side::analyses(&streams, plan).into_iter();
        for inputs in streams {
            let seen = captures.iter().map(|c| c.report.summary.connections).sum();
            let analysed = match done.next() {
                Some(done) => done,
                None => one_by_one::analyse(inputs, plan, tell),
            };
            match analysed {
                Ok(mut capture) => {
                    capture.remarks.iter().for_each(|it| terminal::remark(it));
                    capture.report.count_on(seen);
                    capture.first_connection = seen;
                    captures.push(capture);
                }
                // Files are read to the end of the list; what comes in while it is read is told meanwhile,
                // and then a failure may be that nobody hears.
                Err(failure) if several && !matches!(inputs, [Input::Stdin]) => {
                    unread.push(failure);
                }
                Err(failure) => return Err(failure),
            }
        }
        match unread.pop() {
            Some(last) if captures.is_empty() => {
                unread.iter().for_each(Failure::say);
                Err(last)
            }
            last => {
                unread.extend(last);
                Ok(Self { captures, unread })
            }
        }
    }

    pub(super) fn total(&self) -> Summary {
        let mut total = Summary::default();
        for Capture { report, .. } in &self.captures {
            total += &report.summary;
        }
        total
    }

    /// Returns the captures for which no verdict is possible, and why.
    pub(super) fn untold(&self) -> impl Iterator<Item = (&Capture, Obstacles)> {
        self.captures
            .iter()
            .filter_map(|capture| match capture.report.summary.verdict() {
                Verdict::CannotTell(obstacles) => Some((capture, obstacles)),
                Verdict::Stalls { .. } | Verdict::None => None,
            })
    }

    /// Returns whether one of the plan's conditions holds.
    pub(super) fn meets(&self, condition: &Condition) -> bool {
        let of_kind = |kind| self.findings().filter(|(_, it)| it.kind == kind).count();
        condition.holds(&self.total(), of_kind)
    }

    pub(super) fn findings(&self) -> impl Iterator<Item = (&Capture, &Finding)> {
        self.captures
            .iter()
            .flat_map(|c| c.report.findings.iter().map(move |f| (c, f)))
    }
}
