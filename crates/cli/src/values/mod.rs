//! The values of the command line: one file per kind, each of which says what it accepts.

mod count;
mod duration;
mod lengths;
mod names;
mod rate;
mod share;
mod size;

pub(crate) use count::count;
pub(crate) use duration::{ack_timer, duration, in_words, shown_ack_timer, span, virtual_time};
pub(crate) use lengths::{TypedLengths, lengths};
pub(crate) use names::Names;
pub(crate) use rate::rate;
pub(crate) use share::share;
pub(crate) use size::size;
