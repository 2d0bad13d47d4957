//! The connections of one program together may speak against a suspect: where their habit is sharp and it fits loosely, where
//! a buffer's size does not show again, or where an accident explains it as well (`pool.rs`).

use tinygram_stalls::thresholds::{AS_LIKELY, Origin};

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::lookalikes::Lookalike;

pub(crate) static CHECK: Check = Check {
    name: "pool-fit",
    asks: "Do the connections of the program together leave it possible?",
    passed: "the connections of the program together leave it possible",
    failed: "by the connections of the program together it fits too loosely, or is as well an accident",
    effect: Effect::RulesOut(Lookalike::Uncorroborated),
    origin: Origin::Assumed("occasions of one program count together"),
};

/// What the connections of one program together show of a suspect.
pub(crate) struct Pooled {
    /// How probable it is that what they show is an accident, and the bound.
    pub(crate) accident: f64,
    pub(crate) doubt: f64,
    /// Whether it fits as closely as the others.
    pub(crate) vouched: bool,
    /// Whether it left as close to its release as can be measured.
    pub(crate) is_sharp: bool,
    /// Whether its kind shows again and again, or not at all: a buffer's size does.
    pub(crate) recurs: bool,
}

impl Pooled {
    pub(crate) fn is_beyond(&self) -> bool {
        self.accident < self.doubt
    }
}

pub(crate) fn ask(pooled: &Pooled) -> Answer {
    let leaves_it = match pooled.is_beyond() {
        // Where the habit is sharp, a loose fit had another reason.
        true => pooled.vouched,
        false => !pooled.recurs && (pooled.accident < AS_LIKELY || pooled.is_sharp),
    };
    Answer::of(leaves_it, Saw::chance(pooled.accident, AS_LIKELY))
}
