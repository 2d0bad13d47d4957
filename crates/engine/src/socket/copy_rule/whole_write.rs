//! Stacks that see the application's whole buffer (Doupnik, section 2.0).

use super::{CopyView, Rule, Step};

/// Copies as much of the write as there is space for, in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholeWrite;

impl Rule for WholeWrite {
    fn step(&self, view: &CopyView) -> Step {
        match view.space() {
            0 => Step::Sleep,
            space => Step::Copy(view.remaining.min(space)),
        }
    }
}
