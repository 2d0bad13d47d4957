//! Impairments of a frame between the medium and the host: delay, loss, reordering, duplication.

use tinygram_engine::Duration;

use super::MediumFrame;
use crate::dice::Dice;

/// What happens to a segment or a packet on its path: the probabilities, each from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Impairment {
    /// That it is lost.
    pub loss: f64,
    /// That it is held back, so that later ones overtake it.
    pub reorder: f64,
    /// That it arrives twice.
    pub duplicate: f64,
}

impl Impairment {
    /// Nothing happens.
    pub const NONE: Self = Self {
        loss: 0.0,
        reorder: 0.0,
        duplicate: 0.0,
    };
}

/// What happens to frames, and when they arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImpairmentRules {
    /// The delay of every frame: half of an RTT that lies beyond the medium.
    pub delay: Duration,
    /// The probabilities.
    pub odds: Impairment,
    /// How long a reordered frame is held back.
    pub reorder_by: Duration,
}

impl ImpairmentRules {
    /// No impairment.
    pub const NONE: Self = Self {
        delay: Duration::ZERO,
        odds: Impairment::NONE,
        reorder_by: Duration::ZERO,
    };

    /// Returns the rules of a path whose round trip beyond the medium takes `rtt`, half of it each way.
    #[must_use]
    pub fn beyond(rtt: Duration, odds: Impairment, reorder_by: Duration) -> Self {
        Self {
            delay: Duration::from_nanos(rtt.as_nanos() / 2),
            odds,
            reorder_by,
        }
    }

    /// Returns whether there is no impairment.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }
}

/// The impairments with their random numbers.
#[derive(Clone, Debug)]
pub struct Impaired {
    rules: ImpairmentRules,
    dice: Dice,
}

/// The fate of one frame: zero, one or two copies arrive.
pub(super) struct Fate {
    frames: [MediumFrame; 2],
    count: usize,
}

impl Fate {
    pub(super) fn frames(&self) -> &[MediumFrame] {
        &self.frames[..self.count]
    }
}

impl Impaired {
    /// Returns impairments that draw from `dice` by `rules`.
    #[must_use]
    pub fn new(rules: ImpairmentRules, dice: Dice) -> Self {
        Self { rules, dice }
    }

    pub(super) fn befall(&mut self, mut frame: MediumFrame) -> Fate {
        let odds = self.rules.odds;
        let lost = self.dice.happens(odds.loss);
        let late = self.dice.happens(odds.reorder);
        let twice = self.dice.happens(odds.duplicate);
        frame.at += self.rules.delay;
        let copy = frame;
        if late {
            frame.at += self.rules.reorder_by;
        }
        let count = if lost { 0 } else { 1 + usize::from(twice) };
        Fate {
            frames: [frame, copy],
            count,
        }
    }
}
