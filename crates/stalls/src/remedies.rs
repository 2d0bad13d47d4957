//! What is known to help where small segments of a protocol stall, or flood.

use crate::case::Case;
use crate::cure::Cure;
use crate::kind::Kind;
use crate::pieces::Pieces;

/// What is known to help in some cases of a protocol.
pub(crate) struct Remedy {
    pub(crate) fits: fn(&Case) -> bool,
    pub(crate) cure: Cure,
    pub(crate) text: &'static str,
}

pub(crate) const fn remedy(fits: fn(&Case) -> bool, cure: Cure, text: &'static str) -> Remedy {
    Remedy { fits, cure, text }
}

/// Returns whether a segment was held, whatever it was.
pub(crate) fn held(case: &Case) -> bool {
    case.kind.is_stall()
}

/// Returns whether the pieces of one message were held.
pub(crate) fn torn(case: &Case) -> bool {
    held(case) && case.pieces == Pieces::OneMessage
}

/// Returns whether the segments were messages of their own.
pub(crate) fn apart(case: &Case) -> bool {
    held(case) && case.pieces == Pieces::Pipelined
}

/// Returns whether the segment that left first begins a message, or may begin one.
pub(crate) fn begun(case: &Case) -> bool {
    held(case) && case.begun != Some(false)
}

pub(crate) fn flood(case: &Case) -> bool {
    case.kind == Kind::TinygramFlood
}

pub(crate) fn always(_: &Case) -> bool {
    true
}

/// Returns whether the held segment is the dot that ends a mail, with or without the line end before it.
pub(crate) fn final_dot(case: &Case) -> bool {
    held(case) && [3, 5].contains(&case.held)
}

/// A TPKT header and the header of a COTP data frame, and nothing else.
const EMPTY_COTP: u32 = 7;

pub(crate) fn behind_empty_cotp(case: &Case) -> bool {
    apart(case) && case.trigger == EMPTY_COTP
}

pub(crate) fn behind_request(case: &Case) -> bool {
    apart(case) && case.trigger != EMPTY_COTP
}
