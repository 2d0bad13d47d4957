//! The one list of ACK policies.

use super::{
    AckMoment, AckVerdict, AckView, Arrival, BytesConsumed, Rule, back_to_back::BackToBack,
    every_second::EverySecond, every_segment::EverySegment, inference::Inference, linux::Linux,
    reverse_data::ReverseData,
};

/// A connection's ACK policy with its memory.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // each is documented in its file and in the list below
pub enum AckPolicy {
    EverySegment(EverySegment),
    EverySecond(EverySecond),
    BytesConsumed(BytesConsumed),
    Inference(Inference),
    ReverseData(ReverseData),
    BackToBack(BackToBack),
    Linux(Linux),
}

/// A policy's entry in the list.
#[derive(Clone, Copy, Debug)]
pub struct Registered {
    /// The name that is typed: `--ack-policy every-second`.
    pub name: &'static str,
    /// Where it is described.
    pub source: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Makes a fresh one.
    pub make: fn() -> AckPolicy,
}

macro_rules! dispatch {
    ($self:ident, $policy:ident => $call:expr) => {
        match $self {
            AckPolicy::EverySegment($policy) => $call,
            AckPolicy::EverySecond($policy) => $call,
            AckPolicy::BytesConsumed($policy) => $call,
            AckPolicy::Inference($policy) => $call,
            AckPolicy::ReverseData($policy) => $call,
            AckPolicy::BackToBack($policy) => $call,
            AckPolicy::Linux($policy) => $call,
        }
    };
}

impl AckPolicy {
    /// The list.
    pub const LIST: &'static [Registered] = LIST;

    /// A fresh policy by its name, whatever the case.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        LIST.iter()
            .find(|e| e.name.eq_ignore_ascii_case(name))
            .map(|e| (e.make)())
    }
}

impl Rule for AckPolicy {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, view: &AckView) -> AckVerdict {
        dispatch!(self, policy => policy.on_arrival(arrival, view))
    }

    #[inline]
    fn on_read(&mut self, view: &AckView) -> AckVerdict {
        dispatch!(self, policy => policy.on_read(view))
    }

    #[inline]
    fn observe(&mut self, moment: AckMoment, view: &AckView) {
        dispatch!(self, policy => policy.observe(moment, view));
    }
}

const LIST: &[Registered] = &[
    Registered {
        name: "bytes-consumed",
        source: "4.4BSD; Mogul & Minshall, section 1",
        summary: "after a read, if the window can move by two segments or half the buffer",
        make: || AckPolicy::BytesConsumed(BytesConsumed::BSD),
    },
    Registered {
        name: "sunos",
        source: "Moldeklev & Gunningberg, section 2.2",
        summary: "after a read, by 35 % of the buffer, or by two segments with nothing left to read",
        make: || AckPolicy::BytesConsumed(BytesConsumed::SUN_OS),
    },
    Registered {
        name: "window-35",
        source: "4.3BSD; Moldeklev & Gunningberg, section 2.2",
        summary: "after a read, if the window can move by 35 % of the buffer",
        make: || AckPolicy::BytesConsumed(BytesConsumed::WINDOW_35),
    },
    Registered {
        name: "every-segment",
        source: "RFC 9293, section 3.8.6.3 (not delayed)",
        summary: "every segment at once",
        make: || AckPolicy::EverySegment(EverySegment),
    },
    Registered {
        name: "every-second",
        source: "RFC 1122, section 4.2.3.2",
        summary: "on arrival of every second full-sized segment",
        make: || AckPolicy::EverySecond(EverySecond::default()),
    },
    Registered {
        name: "tru64-inference",
        source: "Mogul & Minshall, section 9",
        summary: "bytes-consumed, and sooner where the sender's buffer seems small",
        make: || AckPolicy::Inference(Inference::default()),
    },
    Registered {
        name: "reverse-data",
        source: "Nagle, in Mogul & Minshall, section 9",
        summary: "every full segment, unless data flows back and could carry the ACK",
        make: || AckPolicy::ReverseData(ReverseData::default()),
    },
    Registered {
        name: "back-to-back",
        source: "Heidemann, section 2.2",
        summary: "every second segment, or a little later than back-to-back segments arrive",
        make: || AckPolicy::BackToBack(BackToBack::default()),
    },
    Registered {
        name: "linux",
        source: "Linux, tcp_input.c",
        summary: "quick ACKs at first, then 40 ms while the connection is interactive",
        make: || AckPolicy::Linux(Linux::default()),
    },
    Registered {
        name: "linux-quickack",
        source: "Linux, tcp.c; tcp(7)",
        summary: "the same for a program that sets TCP_QUICKACK before each read",
        make: || AckPolicy::Linux(Linux::QUICKACK),
    },
];
