//! A receiver whose window is too small for the segment holds it, and no policy does. `story.rs` asks it of a window that
//! was closed, too.

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;
use crate::verdict::lookalikes::Lookalike;
use tinygram_stalls::thresholds::Origin;

pub(crate) static CHECK: Check = Check {
    name: "open-window",
    asks: "Was the receiver's window open?",
    passed: "the window had room",
    failed: "the receiver advertised too small a window",
    effect: Effect::RulesOut(Lookalike::ZeroWindow),
    origin: Origin::Rfc("9293, section 3.8.6"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let hold = question.hold;
    let closed = question.kind.is_none() && hold.room < hold.held_len;
    Answer::of(!closed, Saw::Count(hold.room, hold.held_len))
}
