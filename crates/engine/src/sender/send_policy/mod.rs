//! Send policies: they decide about segments that are smaller than they could be.
//!
//! The sender ([`super`]) asks only about *runts*: segments below the MSS that no other rule sends.
//! Full segments, retransmissions, FINs, window probes and segments that BSD's rule of half the
//! largest window sends never reach a policy. A policy reads the sender's [`Vars`] and owns its
//! memory; it never names the sender or another policy.
//!
//! Your own program's policy is any type that implements [`Rule`]. [`SendPolicy::custom`] makes a
//! choice of it, and [`Custom`] shows one with a memory. To add a policy to the list, write a file
//! beside this one and give it an entry in `registry.rs`. CONTRIBUTING.md shows it step by step.

mod memory;
mod registry;

mod borman;
mod custom;
mod dldet;
mod doupnik;
mod eom;
mod flush_on_block;
mod flush_on_block_simple;
mod liberal_nagle;
mod linux;
mod minshall;
mod msmv;
mod mss_outstanding;
mod nagle;
mod naglim;
mod off;
mod strict_nagle;

use crate::offset::{Offset, Span};
use crate::time::{Duration, Instant};

pub use custom::{Custom, from_fn};
pub use naglim::DEFAULT_LIMIT as NAGLIM_DEFAULT;
pub use registry::{Installed, Needs, Origin, Registered, SendPolicy};

/// The sender's variables as a policy sees them, in octets unless said otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Vars {
    /// The time of this call.
    pub now: Instant,
    /// SND.UNA.
    pub una: Offset,
    /// SND.NXT.
    pub nxt: Offset,
    /// The highest SND.NXT so far (BSD's `snd_max`); above `nxt` while data is being resent.
    pub max: Offset,
    /// One past the last octet the application handed over.
    pub written: Offset,
    /// The maximum segment size.
    pub mss: u32,
    /// SND.WND.
    pub wnd: u64,
    /// The largest SND.WND the peer ever offered (BSD's `max_sndwnd`).
    pub max_wnd: u64,
    /// The congestion window.
    pub cwnd: u64,
    /// The slow start threshold.
    pub ssthresh: u64,
    /// The retransmission timeout, its backoff included.
    pub rto: Duration,
    /// MCLBYTES, the kernel's copying unit.
    pub cluster: u64,
    /// The size of the send buffer (BSD's `so_snd.sb_hiwat`).
    pub capacity: u64,
    /// The write under way has more to copy (`TF_MORE`, or Linux's `MSG_MORE`).
    pub more_to_come: bool,
    /// The application set TCP_NODELAY.
    pub nodelay: bool,
    /// The application set TCP_CORK.
    pub corked: bool,
    /// A thread sleeps in a read on this socket (`SB_WAIT` on `so_rcv`).
    pub reader_blocked: bool,
    /// A thread sleeps in a write on this socket (`SB_WAIT` on `so_snd`).
    pub writer_blocked: bool,
    /// Whether the writer would sleep again if woken now, because the copy rule wants more space
    /// than is free.
    pub writer_lacks_space: bool,
    /// Segments of this connection wait in the local device queue.
    pub device_busy: bool,
}

impl Vars {
    /// Returns whether nothing sent is unacknowledged.
    #[must_use]
    pub fn idle(&self) -> bool {
        self.max == self.una
    }

    /// Returns whether a thread sleeps for space that only an unsent segment could free: a rule
    /// that holds the buffer's data now would hold it forever.
    #[must_use]
    pub fn writer_deadlocks(&self) -> bool {
        self.writer_blocked && self.writer_lacks_space && self.idle()
    }

    /// Returns the octets that were sent and are not acknowledged.
    #[must_use]
    pub fn outstanding(&self) -> u64 {
        self.max.since(self.una)
    }

    /// Returns the octets in the send buffer, unacknowledged ones included (BSD's `so_snd.sb_cc`).
    /// An unacknowledged SYN takes no room there.
    #[must_use]
    pub fn buffered(&self) -> u64 {
        self.written.since(self.una.max(Offset::FIRST))
    }
}

/// A runt that could leave now.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// The range that it would carry: less than the MSS, and all that the window allows.
    pub span: Span,
    /// Whether it would empty the buffer of unsent data. If not, the window cut it.
    pub empties: bool,
    /// Whether the connection was idle when this output pass began (BSD's quirk, section 3 of
    /// Mogul & Minshall).
    pub idle_on_entry: bool,
    /// Whether this pass began with more than one MSS to send (Doupnik's liberal rule).
    pub pass_over_mss: bool,
    /// The octets that were unacknowledged when this pass began.
    pub outstanding_on_entry: u64,
    /// The time since when the runt that starts here has been held, if it has been, by whatever
    /// rule, also `TCP_CORK`'s. A runt that grows keeps its time; one that starts elsewhere begins
    /// anew.
    pub held_since: Option<Instant>,
}

impl Offer {
    /// Returns TCP_CORK's verdict: it holds for at most a retransmission timeout. tcp(7) says 200
    /// ms. Measured, it is the timeout, which is at least 200 ms on Linux: the hold ends with the
    /// timer of `tcp_check_probe_timer`.
    pub(super) fn corked(&self, why: Why, vars: &Vars) -> Verdict {
        let limit = self.held_since.unwrap_or(vars.now) + vars.rto;
        if vars.writer_blocked {
            // Before it sleeps for space, tcp_sendmsg pushes everything (TCP_NAGLE_PUSH).
            Verdict::Send(Because::Blocked)
        } else if vars.now >= limit {
            Verdict::Send(Because::HeldLongEnough)
        } else {
            Verdict::Hold {
                why,
                until: Some(limit),
            }
        }
    }
}

/// A policy's answer about a runt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Send it.
    Send(Because),
    /// Hold it until something changes, or until `until` at the latest.
    Hold {
        /// The reason.
        why: Why,
        /// When to ask again even if nothing changed. A moment that is not later than `vars.now`, and
        /// any moment named after the last one has come, counts as ten microseconds from now if it is
        /// sooner: otherwise a policy could occupy the processor.
        until: Option<Instant>,
    },
}

impl Verdict {
    /// Returns a verdict that holds until something changes.
    #[must_use]
    pub const fn hold(why: Why) -> Self {
        Self::Hold { why, until: None }
    }
}

/// The reason why a segment left. It is counted and shown and affects nothing else. Your own rule
/// returns the nearest reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Because {
    /// It is full-sized.
    Full,
    /// It is at least half of the largest window the peer ever offered (BSD).
    HalfWindow,
    /// It is a retransmission.
    Retransmission,
    /// It probes a closed window.
    Probe,
    /// It carries the FIN.
    Fin,
    /// Nothing was outstanding.
    Idle,
    /// TCP_NODELAY, or a policy that never holds.
    NoDelay,
    /// It ends the application's data.
    EndOfData,
    /// No small segment is outstanding.
    NoSmallOutstanding,
    /// The previous segment was full-sized.
    PreviousFull,
    /// It follows full-sized segments of the same pass.
    BehindFull,
    /// A thread waits, or is about to wait, for the answer.
    Blocked,
    /// Enough is outstanding or enough has been gathered.
    Enough,
    /// It was held as long as the policy allows.
    HeldLongEnough,
}

/// The reason why a segment was held. Counters, traces and the diagnosis share these. They affect
/// nothing but [`outranks_nodelay`](Self::outranks_nodelay). Your own rule returns the nearest
/// reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Why {
    /// Something sent is not acknowledged (Nagle).
    Unacknowledged,
    /// A small segment sent is not acknowledged (Minshall).
    SmallUnacknowledged,
    /// The previous segment was small (MSMV).
    PreviousSmall,
    /// The application's write has more to come (MORE).
    MoreToCome,
    /// The application corked the socket.
    Corked,
    /// Less than the threshold has been gathered (naglim).
    BelowLimit,
    /// It does not end the application's data (Doupnik).
    NotEndOfData,
    /// Less than an MSS is outstanding (Moldeklev & Gunningberg).
    LessThanMssOutstanding,
    /// The thread that wrote has not blocked yet (flush-on-block).
    WriterRuns,
    /// Segments of the connection still wait in the device (Linux's autocorking).
    DeviceBusy,
    /// The window cuts it short (sender's silly window avoidance, RFC 1122 section 4.2.3.4).
    WindowCuts,
    /// Held back to spread a burst (rate-based pacing after idle).
    Pacing,
}

impl Why {
    /// All reasons, in order of their discriminants.
    pub const ALL: [Self; 12] = [
        Self::Unacknowledged,
        Self::SmallUnacknowledged,
        Self::PreviousSmall,
        Self::MoreToCome,
        Self::Corked,
        Self::BelowLimit,
        Self::NotEndOfData,
        Self::LessThanMssOutstanding,
        Self::WriterRuns,
        Self::DeviceBusy,
        Self::WindowCuts,
        Self::Pacing,
    ];

    /// Returns whether the hold stands although the application set TCP_NODELAY: the application
    /// asked for this hold, too, or it is not of Nagle's kind (autocorking).
    #[must_use]
    pub const fn outranks_nodelay(self) -> bool {
        matches!(
            self,
            Self::Corked | Self::MoreToCome | Self::WindowCuts | Self::DeviceBusy
        )
    }
}

/// What a thread is about to sleep on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockedOn {
    /// A read on this socket.
    Read,
    /// A write on this socket.
    Write,
    /// Anything else: poll, sleep, another socket.
    Elsewhere,
}

/// The moments of which a policy may take note. Each is read by some variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Moment {
    /// A write begins, or continues after it slept for space.
    WriteBegan {
        /// Whether it continues.
        resumed: bool,
    },
    /// A piece of a write reached the send buffer (`written` includes it). The sender is asked
    /// next.
    ChunkCopied {
        /// Whether the write has more to copy (`resid` is not zero).
        more_to_come: bool,
        /// Pieces of this write copied before this one (`outcount`).
        pieces_before: u32,
        /// Whether the piece before this one left the write unfinished (`TF_MORE` on entry).
        more_on_entry: bool,
    },
    /// A thread is about to sleep; or it asked for events, found none, and will ask again.
    AppBlocks {
        /// What it is about to sleep on.
        on: BlockedOn,
        /// Whether this thread wrote to this socket since it last slept.
        wrote: bool,
    },
    /// An acknowledgment of new data arrived.
    AckArrived,
    /// A segment with data left, and `nxt` has moved. Retransmissions and tail loss probes are
    /// included; `because` distinguishes them.
    Sent {
        /// The range that it carried.
        span: Span,
        /// Whether it was below the MSS.
        short: bool,
        /// The reason.
        because: Because,
    },
}

/// A send policy: its verdict on a runt, what it remembers, and when it is asked.
///
/// The sender asks at the end of every output pass (after a piece of a write, after an
/// acknowledgment, ...) if what is left to send is a runt. The window (see
/// [`takes_window_cuts`](Self::takes_window_cuts)), MORE (see
/// [`includes_more`](Self::includes_more)) and TCP_CORK are considered before the rule. TCP_NODELAY
/// comes after it and overrules a hold for most [reasons](Why::outranks_nodelay). A hold without a
/// time ends with the next acknowledgment or write, when the persist timer fires, or with a tail
/// loss probe if the profile has them
/// ([`LossDetection::RackTlp`](crate::extensions::LossDetection::RackTlp)).
pub trait Rule {
    /// Returns what traces call a rule of your own (a benchmark's table has the label that its plan gives); those of the list have
    /// the list's names. Its reasons are those of [`Why`] and [`Because`]: it says the nearest one.
    fn name(&self) -> &str {
        "custom"
    }

    /// Returns whether the runt may leave. The answer is pure: asked twice, it is the same.
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict;

    /// Takes note of what happened.
    fn observe(&mut self, moment: Moment, vars: &Vars) {
        let _ = (moment, vars);
    }

    /// Returns whether the policy is also asked about runts that the window cut short of the
    /// buffer's end.
    fn takes_window_cuts(&self) -> bool {
        false
    }

    /// Returns whether a thread that is about to sleep may change the answer. Kernels without such
    /// a rule run no output pass when a thread sleeps, so what the last pass counted on entry
    /// stays.
    fn heeds_blocking(&self) -> bool {
        false
    }

    /// Returns whether the rule includes MORE: a runt is held while the write under way has more to
    /// come.
    fn includes_more(&self) -> bool {
        false
    }
}
