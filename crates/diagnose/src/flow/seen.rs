//! What a connection shows at one moment.

use super::hold::Hold;
use super::mark::Mark;

/// What was seen of the data of one end. What it means is not said here.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    /// A segment left when an acknowledgment or a timer released it.
    Held(Hold),
    /// The first flight after an idle period ended, and the window that the period had cut is what
    /// the next segment waited for.
    Restarted(Hold),
    /// A late ACK came, and the sender took its own time after it: so long, in nanoseconds.
    Thought(Mark, i64),
    /// A segment left as if held, but its sender does not hold; it had waited so long, in
    /// nanoseconds.
    Defied(Mark, i64),
    /// Data was sent again, so long after it was sent first, in nanoseconds.
    Lost(Mark, i64),
    /// The end closed or opened its receive window.
    Window(bool, Mark),
    /// The end sends, or closes, for another reason than before: nobody has answered.
    WentOn,
    /// The peer sent data, at this time in nanoseconds since the epoch.
    Answered(i64),
    /// The end closed its direction.
    Finished,
    /// A segment that ends no pause in which anything was waited for.
    Plain(Mark, Plain),
}

/// Why a segment was not held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plain {
    /// It has no data.
    NoData,
    /// The same frame was recorded before.
    Copy,
    /// It repeats the last byte to keep the connection alive.
    KeepAlive,
    /// It is the first data of its sender, or what came before it was not recorded.
    First,
    /// It answers what the peer sent.
    Answer,
    /// Data was in flight, and its sender sent on: nothing held it.
    InFlight,
    /// It left before the acknowledgment can have reached its sender.
    Early,
    /// It was sent before.
    Repeated,
    /// No late acknowledgment, and no timer, came before it.
    Unprompted,
}
