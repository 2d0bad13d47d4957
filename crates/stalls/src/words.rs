//! The words in which findings speak: what the sender does, for engineers who know nothing of TCP's rules, and how it
//! comes about, for those who want to know.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use crate::case::Case;
use crate::flood::Flood;
use crate::kind::Kind;
use crate::pieces::Pieces;
use crate::timeout::Timeout;

/// Returns what the sender of a stall does: a verb phrase for the first sentence. Of a flood see [`Flood::habit`].
#[must_use]
pub fn habit(case: &Case) -> String {
    let (held, flight) = (case.held, case.flight);
    match case.kind {
        Kind::WriteWriteRead | Kind::NagleRoundTrip => pieces(case),
        Kind::OddFullShortFinal => format!(
            "holds the last {held} bytes of its message until the full segments before them are acknowledged"
        ),
        Kind::ShortInitialSegment => format!(
            "opens with a short segment of {} bytes, and may send no more until that is acknowledged",
            case.trigger
        ),
        Kind::BufferTearing => {
            format!("tears its message at a buffer of {flight} bytes and holds the last {held}")
        }
        Kind::SmallBuffer => format!("can send only {flight} bytes at a time"),
        Kind::SlowStartDelayedAck => match case.timeout {
            Timeout::Yes => "goes on with one full segment after a retransmission timeout, \
                             which the other side acknowledges late"
                .to_owned(),
            Timeout::No | Timeout::Perhaps => format!(
                "starts with {}, which the other side acknowledges late",
                full_segments(case)
            ),
        },
        Kind::IdleRestart => format!(
            "starts slowly again after a pause, with {} at first",
            full_segments(case)
        ),
        Kind::CorkHeld => format!(
            "asks its kernel to wait for more (a cork), and leaves the last {held} bytes to a timer"
        ),
        Kind::TinygramFlood => "sends many tiny segments".to_owned(),
    }
}

/// Returns what a sender does whose second piece waits for the ACK of the first.
fn pieces(case: &Case) -> String {
    let (first, second) = (case.trigger, case.held);
    match case.pieces {
        Pieces::Pipelined => {
            format!("has two messages in flight ({first} + {second} bytes), and the second waits")
        }
        Pieces::OneMessage | Pieces::Unknown if case.full_between => {
            format!(
                "holds the last {second} bytes until a short segment of {first} is acknowledged"
            )
        }
        Pieces::OneMessage | Pieces::Unknown => {
            format!("writes {first} + {second} bytes separately and waits")
        }
    }
}

fn full_segments(case: &Case) -> String {
    match case.flight.div_ceil(case.mss.max(1)) {
        1 => "one full segment".to_owned(),
        more => format!("{more} full segments"),
    }
}

impl Flood {
    /// Returns what the sender does: a verb phrase for the first sentence.
    #[must_use]
    pub fn habit(&self) -> String {
        format!(
            "sends {} segments of {} bytes on average; {} could be saved",
            self.segments,
            self.bytes / u64::from(self.segments.max(1)),
            self.saved
        )
    }
}

impl Kind {
    /// Returns what a line of a table with this kind means, in a few words.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        self.texts().0
    }

    /// Returns how it comes about: whole sentences, which name the rules.
    #[must_use]
    pub const fn mechanism(self) -> &'static str {
        self.texts().1
    }

    const fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::WriteWriteRead => (
                "two short writes, then a wait for the answer: the second leaves only when the first is acknowledged",
                "Nagle's algorithm (RFC 896) holds less than a full segment while earlier data is unacknowledged. The \
                 receiver has a part of the message and nothing to answer, so it delays its ACK.",
            ),
            Self::OddFullShortFinal => (
                "an odd number of full segments, then a short one that waits for the last acknowledgment",
                "A receiver acknowledges every second full segment at once, and delays the ACK of the odd one. Nagle's \
                 algorithm in its first form (RFC 896) holds the short one until then.",
            ),
            Self::ShortInitialSegment => (
                "a short first segment fills the first congestion window; the rest waits for its acknowledgment",
                "A sender begins with a congestion window of one segment or two, in which a short one counts as a \
                 whole one. The receiver delays the ACK of a segment that comes alone.",
            ),
            Self::BufferTearing => (
                "a message longer than the program's buffer: its last piece waits for an acknowledgment",
                "A full buffer is sent, and it ends in less than a full segment. Nagle's algorithm (RFC 896) holds the \
                 rest until that is acknowledged, and the receiver, which has a part of the message, delays its ACK.",
            ),
            Self::SmallBuffer => (
                "a buffer of less than two segments: each segment waits for the acknowledgment of the one before",
                "The buffer is full, so nothing more can leave before an ACK. A receiver acknowledges every second full \
                 segment at once, and delays the ACK of less.",
            ),
            Self::SlowStartDelayedAck => (
                "the first segment is acknowledged late, and only then may more follow",
                "The congestion window lets one segment go at first, or an odd number. A receiver acknowledges every \
                 second full segment at once, and delays the ACK of the last one.",
            ),
            Self::IdleRestart => (
                "after a pause the congestion window begins anew",
                "After an idle period the congestion window is cut to the initial one, because the path may have \
                 changed, and it opens by one round trip after the other (RFC 5681, section 4.1).",
            ),
            Self::CorkHeld => (
                "the program told the kernel to wait for more (TCP_CORK, MSG_MORE), and no more came",
                "TCP_CORK, MSG_MORE and autocorking hold less than a full segment because more may follow. If nothing \
                 does, the kernel sends it after a retransmission timeout: 200 ms and more on Linux.",
            ),
            Self::NagleRoundTrip => (
                "a short segment waited for an acknowledgment that came at once: a round trip, for the path is long",
                "Nagle's algorithm (RFC 896) holds less than a full segment while earlier data is unacknowledged. \
                 Nobody delayed the ACK: the path is as long as the wait.",
            ),
            Self::TinygramFlood => (
                "many tiny segments that a few could have carried",
                "Each write leaves as a packet of its own, with 40 bytes of headers or more: with TCP_NODELAY nothing \
                 gathers them, and on a short path Nagle's algorithm has nothing to wait for.",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::side::Side;

    /// Who has never heard of Nagle can read the first sentence.
    #[test]
    fn what_the_sender_does_names_no_algorithm() {
        for kind in Kind::ALL {
            let case = Case {
                held: 50,
                trigger: 46,
                flight: 1448,
                mss: 1448,
                ..Case::new(kind, Side::Server)
            };
            let said = habit(&case);
            for term in [
                "Nagle",
                "Minshall",
                "delayed ACK",
                "congestion window",
                "MSS",
                "RFC",
            ] {
                assert!(!said.contains(term), "{said}");
            }
        }
    }

    /// What a kind means and how it comes about is said of each differently, and the second in whole sentences.
    #[test]
    fn every_kind_says_how_it_comes_about() {
        for (at, kind) in Kind::ALL.into_iter().enumerate() {
            let said = kind.mechanism();
            assert!(said.ends_with('.') && said.len() > 60, "{said}");
            let others = &Kind::ALL[at + 1..];
            assert!(others.iter().all(|other| other.mechanism() != said));
            assert!(others.iter().all(|other| other.meaning() != kind.meaning()));
        }
    }
}
