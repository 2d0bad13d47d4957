//! What the checks said of one frame that somebody asks about.

use super::check::{Asked, Check};

/// The answers about the segment of one frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// The frame's number.
    pub(crate) frame: u64,
    /// The last answer of each check that was asked.
    pub(crate) asked: Vec<Asked>,
    /// The check that ended the matter, if one did.
    pub(crate) ended_by: Option<&'static Check>,
}

impl Ledger {
    pub(crate) fn of(frame: u64) -> Self {
        Self {
            frame,
            ..Self::default()
        }
    }

    /// Takes down what was said of a segment, if it is the one that is asked about.
    pub(crate) fn note(&mut self, frame: u64, asked: &[Asked], ended_by: Option<&'static Check>) {
        if frame == self.frame {
            self.asked = asked.to_vec();
            self.ended_by = ended_by;
        }
    }

    /// Takes down one more answer, by which the matter ends. What the same check said earlier no longer counts.
    pub(crate) fn end(&mut self, frame: u64, by: Asked) {
        if frame == self.frame {
            self.asked.retain(|one| !std::ptr::eq(one.check, by.check));
            self.asked.push(by);
            self.ended_by = Some(by.check);
        }
    }

    /// Takes over what was said later.
    pub(crate) fn follow(&mut self, later: Self) {
        if !later.asked.is_empty() {
            *self = later;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::check::Saw;
    use crate::verdict::checks::{largest_flight, last_flight};

    /// As of a small buffer behind which much more is in flight later.
    #[test]
    fn a_check_that_is_asked_again_has_one_answer() {
        let mut ledger = Ledger::of(7);
        let passed = |check| Asked::passed(check, Saw::Nothing);
        let both = [&largest_flight::CHECK, &last_flight::CHECK].map(passed);
        ledger.note(7, &both, None);
        let failed = Asked::failed(&largest_flight::CHECK, Saw::Nothing);
        ledger.end(7, failed);
        assert_eq!(ledger.asked, [both[1], failed]);
        assert!(
            ledger
                .ended_by
                .is_some_and(|check| check.name == "largest-flight")
        );
    }
}
