//! What is found in each capture, by its own analyzer.

use tinygram_diagnosis::Diagnosis;

use super::fail_on::Condition;
use super::one_by_one::Tell;
use super::plan::Plan;
use super::{one_by_one, side_by_side};
use crate::files::Input;
use crate::outcome::Failure;
use crate::terminal;

pub(super) struct Results {
    pub(super) diagnosis: Diagnosis,
    /// Why captures that were to be read are not among them.
    pub(super) unread: Vec<Failure>,
}

impl Results {
    /// Analyses the captures that the plan names. If a capture comes in while it is read, `tell` is
    /// called after each frame.
    pub(super) fn of(plan: &Plan, tell: &mut Tell) -> Result<Self, Failure> {
        let mut diagnosis = Diagnosis::default();
        let mut unread = Vec::new();
        let streams = tinygram_diagnosis::streams(&plan.inputs, Input::name);
        let several = streams.len() + plan.unread.len() > 1;
        let mut done = side_by_side::analyses(&streams, plan).into_iter();
        for inputs in streams {
            let analysed = match done.next() {
                Some(done) => done,
                None => one_by_one::analyse(inputs, plan, tell),
            };
            match analysed {
                Ok(capture) => {
                    capture.remarks.iter().for_each(|it| terminal::remark(it));
                    diagnosis.add(capture);
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
            Some(last) if diagnosis.captures.is_empty() => {
                unread.iter().for_each(Failure::say);
                Err(last)
            }
            last => {
                unread.extend(last);
                Ok(Self { diagnosis, unread })
            }
        }
    }

    /// Returns whether one of the plan's conditions holds.
    pub(super) fn meets(&self, condition: &Condition) -> bool {
        let of_kind = |kind| {
            self.diagnosis
                .findings()
                .filter(|(_, it)| it.kind == kind)
                .count()
        };
        condition.holds(&self.diagnosis.total(), of_kind)
    }
}
