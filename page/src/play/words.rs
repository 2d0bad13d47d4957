//! The rules in words.

use tinygram_engine::sender::send_policy::Why;

/// Returns why a segment is held, as the end of a sentence: "held because ...".
pub(super) fn why(why: Why) -> &'static str {
    match why {
        Why::Unacknowledged => "earlier data is not acknowledged yet",
        Why::SmallUnacknowledged => "an earlier small segment is not acknowledged yet",
        Why::PreviousSmall => "the segment before it was small",
        Why::MoreToCome => "the write has more to come",
        Why::Corked => "the program corked the socket",
        Why::BelowLimit => "less than the limit has been gathered",
        Why::NotEndOfData => "it does not end the program's data",
        Why::LessThanMssOutstanding => "less than an MSS is unacknowledged",
        Why::WriterRuns => "the program that wrote has not waited yet",
        Why::DeviceBusy => "the device still has segments of this connection",
        Why::WindowCuts => "the window has no room for all of it",
        Why::Pacing => "the sender spreads its burst",
        _ => "its rule says so",
    }
}
