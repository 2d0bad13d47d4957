//! Impairments of a frame between the medium and the host: delay, loss, reordering, duplication.

use tinygram_engine::Duration;

use super::MediumFrame;
use crate::dice::Dice;

/// The probabilities of impairments, each between 0 and 1, and the delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImpairmentRules {
    /// The delay of every frame: half of an RTT that lies beyond the medium.
    pub delay: Duration,
    /// The probability that a frame is lost.
    pub loss: f64,
    /// The probability that a frame is held back by `reorder_by`.
    pub reorder: f64,
    /// How long a reordered frame is held back.
    pub reorder_by: Duration,
    /// The probability that a frame arrives twice.
    pub duplicate: f64,
}

impl ImpairmentRules {
    /// No impairment.
    pub const NONE: Self = Self {
        delay: Duration::ZERO,
        loss: 0.0,
        reorder: 0.0,
        reorder_by: Duration::ZERO,
        duplicate: 0.0,
    };

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
        let lost = self.dice.happens(self.rules.loss);
        let late = self.dice.happens(self.rules.reorder);
        let twice = self.dice.happens(self.rules.duplicate);
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
