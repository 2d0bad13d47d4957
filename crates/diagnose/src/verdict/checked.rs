//! The answers of the checks about one finding. They alone say how sure it is.

use std::ops::Deref;

use tinygram_stalls::Tier;

use super::check::{Asked, Effect};
use super::checks::{corroborated, upon_release};

/// The checks that were asked about a finding, in their order, and what each saw.
#[derive(Clone, Debug, Default)]
pub struct Checked(Vec<Asked>);

impl Checked {
    pub(crate) fn new(mut asked: Vec<Asked>) -> Self {
        asked.shrink_to_fit();
        Self(asked)
    }

    pub(crate) fn push(&mut self, asked: Asked) {
        self.0.push(asked);
    }

    /// Returns whether it left later than a kernel lets go.
    pub(crate) fn is_late(&self) -> bool {
        self.iter().any(|one| !one.passed && is_lateness(one))
    }

    /// Takes back that it left late: others show why.
    pub(crate) fn forgive_lateness(&mut self) {
        self.0.retain(|one| !is_lateness(one));
    }

    /// Returns how sure the finding is: certain, unless a check bounds it.
    #[must_use]
    pub fn tier(&self) -> Tier {
        match self.bounded_by().map(|one| one.check.effect) {
            None => Tier::Certain,
            Some(Effect::AtMostLikely) => Tier::Likely,
            Some(_) => Tier::Possible,
        }
    }

    /// Returns the check that keeps the finding from being certain; `None` if it is.
    #[must_use]
    pub fn bounded_by(&self) -> Option<&Asked> {
        let failed = |wanted: Effect| {
            let mut failed = self.iter().filter(|one| !one.passed);
            failed.find(|one| one.check.effect == wanted)
        };
        let together = |one: &Asked| one.passed && one.check.name == corroborated::CHECK.name;
        let alone = match self.iter().any(together) {
            true => None,
            false => failed(Effect::PossibleAlone),
        };
        failed(Effect::AtMostPossible)
            .or(alone)
            .or_else(|| failed(Effect::AtMostLikely))
    }
}

fn is_lateness(one: &Asked) -> bool {
    one.check.name == upon_release::CHECK.name
}

impl Deref for Checked {
    type Target = [Asked];

    fn deref(&self) -> &[Asked] {
        &self.0
    }
}

impl<'a> IntoIterator for &'a Checked {
    type Item = &'a Asked;
    type IntoIter = std::slice::Iter<'a, Asked>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
