//! How improbable an accident must be.

use super::origin::Origin;

thresholds! {
    CHANCE;

    /// Behind a late ACK an accident that is less probable than this is likely to be none.
    LIKELY: f64 = 0.05, Probability, Origin::Assumed("one in twenty, the usual level of significance");
    /// Behind an ACK that nobody delayed. There is less time for an accident, and fewer programs pause
    /// for just a round trip: four in five such holds are real.
    LIKELY_IF_PROMPT: f64 = 0.2, Probability, Origin::Fitted("random captures that were looked at");
    /// What is less probable by accident than this is certain to be none.
    CERTAIN: f64 = 0.001, Probability, Origin::Assumed("one in a thousand");
    /// If an accident would produce as much with at least this probability, only suspects that fit as
    /// closely as the capture point can measure stay possible.
    AS_LIKELY: f64 = 0.3, Probability, Origin::Fitted("random captures that were looked at");
    /// ACKs that vary by less are a timer's, and data on a timer of its own may come as regularly
    /// behind them.
    VARIED_ACKS_NS: u32 = 1_000_000, Nanoseconds, Origin::Fitted("captures judged by hand");
    /// So many of the last occasions tell what is usual.
    LAST_KEPT: usize = 8, Count, Origin::Assumed("enough for quartiles");
    /// So many occasions tell a clock of the sender's own from ACKs that vary.
    CLOCK_HITS: usize = 8, Count, Origin::Fitted("captures judged by hand; fewer have no middle half to speak of");
    /// Widths, from FINEST_NS on, each twice the one before: up to 15 ms.
    WIDTHS: usize = 9, Count, Origin::Assumed("what is further off than 15 ms fits nothing");
    /// A sender that hardly ever leaves its habit may be this many widths off: up to 4 ms.
    STEADY_WIDTHS: usize = 6, Count, Origin::Fitted("random captures that were looked at");
}

/// Returns the probability below which an accident is likely to be none, behind an ACK that came as
/// soon as the path allows or behind a late one.
#[must_use]
pub const fn doubt(prompt: bool) -> f64 {
    match prompt {
        true => LIKELY_IF_PROMPT,
        false => LIKELY,
    }
}
