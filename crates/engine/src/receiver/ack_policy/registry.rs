//! The one list of ACK policies. An entry gives a policy its name, its help and its documentation
//! page; nothing else lists them all.

use core::fmt;

use super::{
    AckMoment, AckVerdict, AckView, Arrival, BytesConsumed, Rule, back_to_back::BackToBack,
    custom::Custom, every_second::EverySecond, every_segment::EverySegment, inference::Inference,
    linux::Linux, reverse_data::ReverseData,
};
use crate::registry::registry;

registry! { ($)
    /// When a receiver acknowledges. The choice alone; a connection [installs](Self::install) it and
    /// keeps its memory.
    choice AckPolicy;
    /// A connection's ACK policy with its memory.
    installed Installed;
    entry Registered;
    kind "ACK policy";

    BytesConsumed {
        name: "bytes-consumed",
        summary: "after a read, if the window can move by two segments or half the buffer",
        rule: BytesConsumed = BytesConsumed::BSD,
        source: "4.4BSD; Mogul & Minshall, section 1",
    }
    SunOs {
        name: "sunos",
        summary: "after a read, by 35 % of the buffer, or by two segments with nothing left to read",
        rule: BytesConsumed = BytesConsumed::SUN_OS,
        source: "Moldeklev & Gunningberg, section 2.2",
    }
    Window35 {
        name: "window-35",
        summary: "after a read, if the window can move by 35 % of the buffer",
        rule: BytesConsumed = BytesConsumed::WINDOW_35,
        source: "4.3BSD; Moldeklev & Gunningberg, section 2.2",
    }
    EverySegment {
        name: "every-segment",
        summary: "every segment at once",
        rule: EverySegment = EverySegment,
        source: "RFC 9293, section 3.8.6.3 (not delayed)",
    }
    EverySecond {
        name: "every-second",
        summary: "on arrival of every second full-sized segment",
        rule: EverySecond = EverySecond::default(),
        source: "RFC 1122, section 4.2.3.2",
    }
    Tru64Inference {
        name: "tru64-inference",
        summary: "bytes-consumed, and sooner where the sender's buffer seems small",
        rule: Inference = Inference::default(),
        source: "Mogul & Minshall, section 9",
    }
    ReverseData {
        name: "reverse-data",
        summary: "every full segment, unless data flows back and could carry the ACK",
        rule: ReverseData = ReverseData::default(),
        source: "Nagle, in Mogul & Minshall, section 9",
    }
    BackToBack {
        name: "back-to-back",
        summary: "every second segment, or a little later than back-to-back segments arrive",
        rule: BackToBack = BackToBack::default(),
        source: "Heidemann, section 2.2",
    }
    Linux {
        name: "linux",
        summary: "quick ACKs at first, then 40 ms while the connection is interactive",
        rule: Linux = Linux::default(),
        source: "Linux, tcp_input.c",
    }
    LinuxQuickack {
        name: "linux-quickack",
        summary: "the same for a program that sets TCP_QUICKACK before each read",
        rule: Linux = Linux::QUICKACK,
        source: "Linux, tcp.c; tcp(7)",
    }
}

impl AckPolicy {
    /// Returns a policy that a user of the library defines, which may have a memory.
    pub fn custom(rule: impl Rule + Clone + fmt::Debug + Send + Sync + 'static) -> Self {
        Self::Custom(Custom::new(rule))
    }
}

impl Rule for Installed {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, view: &AckView) -> AckVerdict {
        dispatch!(self, policy => policy.on_arrival(arrival, view))
    }

    #[inline]
    fn on_read(&mut self, view: &AckView) -> AckVerdict {
        dispatch!(self, policy => policy.on_read(view))
    }

    fn on_fin(&mut self, arrival: &Arrival, view: &AckView) -> AckVerdict {
        dispatch!(self, policy => policy.on_fin(arrival, view))
    }

    /// Tells the policy. Inlined at every call, because the moment is known there. Few policies take note of a given
    /// moment, so most of the view need not be computed.
    #[inline(always)]
    fn observe(&mut self, moment: AckMoment, view: &AckView) {
        dispatch!(self, policy => policy.observe(moment, view));
    }
}

/// A policy's entry in the list.
#[derive(Clone, Copy, Debug)]
pub struct Registered {
    /// The name on a command line: `--ack-policy every-second`.
    pub name: &'static str,
    /// The source that describes it.
    pub source: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Returns the policy.
    pub make: fn() -> AckPolicy,
}

impl Registered {
    fn is_called(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}
