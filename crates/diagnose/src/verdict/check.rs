//! What a check is, and what it answered.

use std::fmt;

use tinygram_stalls::Ms;
use tinygram_stalls::thresholds::Origin;

use super::lookalikes::Lookalike;

/// One question that must be answered before a side is accused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    /// The name, which is also the file's name below `verdict/checks/`.
    pub name: &'static str,
    /// The question.
    pub asks: &'static str,
    /// What is known if the check is passed.
    pub passed: &'static str,
    /// What is known if it is not.
    pub failed: &'static str,
    /// What becomes of a hold that does not pass.
    pub effect: Effect,
    /// Where the rule is from.
    pub origin: Origin,
}

impl Check {
    /// Returns what a hold that does not pass counts as. What is bounded and not ruled out is uncorroborated.
    #[must_use]
    pub const fn lookalike(&self) -> Lookalike {
        match self.effect {
            Effect::RulesOut(lookalike) => lookalike,
            _ => Lookalike::Uncorroborated,
        }
    }
}

/// What becomes of a hold that does not pass a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is this lookalike and no stall.
    RulesOut(Lookalike),
    /// It is possible at most.
    AtMostPossible,
    /// It is possible at most, unless the rest of the connection or other connections of the same
    /// program show more.
    PossibleAlone,
    /// It is likely at most.
    AtMostLikely,
    /// It is no flood.
    NoFlood,
    /// Nothing is said of it.
    Unsaid,
}

impl Effect {
    /// Returns the name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RulesOut(_) => "rules-out",
            Self::AtMostPossible => "at-most-possible",
            Self::PossibleAlone => "possible-alone",
            Self::AtMostLikely => "at-most-likely",
            Self::NoFlood => "no-flood",
            Self::Unsaid => "unsaid",
        }
    }
}

/// What a check measured, and the bound that it held the measure against.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Saw {
    /// Nothing that has a number.
    #[default]
    Nothing,
    /// A time, in nanoseconds.
    Time(f32, f32),
    /// How often, or how many.
    Count(u32, u32),
    /// How probable an accident is.
    Chance(f32, f32),
    /// A share or a rate.
    Ratio(f32, f32),
}

impl Saw {
    pub(crate) fn time(ns: i64, bound_ns: i64) -> Self {
        Self::Time(ns as f32, bound_ns as f32)
    }

    pub(crate) fn chance(probability: f64, bound: f64) -> Self {
        Self::Chance(probability as f32, bound as f32)
    }
}

/// Writes for example `41.2 ms; bound: 20.0 ms`; nothing if nothing was measured.
impl fmt::Display for Saw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Nothing => Ok(()),
            // Without a format: these are in every finding many times.
            Self::Time(ns, bound_ns) => {
                Ms(ns as i64).fmt(f)?;
                f.write_str("; bound: ")?;
                Ms(bound_ns as i64).fmt(f)
            }
            Self::Count(count, bound) => {
                count.fmt(f)?;
                f.write_str("; bound: ")?;
                bound.fmt(f)
            }
            Self::Chance(probability, bound) => {
                write!(f, "probability {}; bound: {bound}", Share(probability))
            }
            Self::Ratio(ratio, bound) => write!(f, "{ratio:.1}; bound: {bound:.1}"),
        }
    }
}

/// A probability with two digits that mean something.
struct Share(f32);

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            share if share >= 0.1 => write!(f, "{share:.2}"),
            share if share >= 0.001 => write!(f, "{share:.4}"),
            share => write!(f, "{share:.0e}"),
        }
    }
}

/// What a check said of a hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Answer {
    /// The question does not arise.
    NotAsked,
    Passed(Saw),
    Failed(Saw),
}

impl Asked {
    /// Returns a check that was passed.
    pub(crate) fn passed(check: &'static Check, saw: Saw) -> Self {
        let passed = true;
        Self { check, passed, saw }
    }

    /// Returns a check that was not passed.
    pub(crate) fn failed(check: &'static Check, saw: Saw) -> Self {
        let passed = false;
        Self { check, passed, saw }
    }
}

impl Answer {
    pub(crate) fn of(passed: bool, saw: Saw) -> Self {
        match passed {
            true => Self::Passed(saw),
            false => Self::Failed(saw),
        }
    }
}

/// A check that was asked, and what it saw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// The check.
    pub check: &'static Check,
    /// Whether it was passed.
    pub passed: bool,
    /// What it measured.
    pub saw: Saw,
}

/// Writes the finding of the check and its measure, for example `an accident would produce as
/// much too often (probability 0.12; bound: 0.05)`.
impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self.passed {
            true => self.check.passed,
            false => self.check.failed,
        };
        match self.saw {
            Saw::Nothing => f.write_str(words),
            saw => write!(f, "{words} ({saw})"),
        }
    }
}
