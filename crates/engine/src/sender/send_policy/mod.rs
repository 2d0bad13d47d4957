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
mod reasons;
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
mod toggle;
mod toggle_both_ends;
mod toggle_program;
mod trials;

use crate::offset::{Offset, Span};
use crate::queues::QueueCounters;
use crate::time::{Duration, Instant};

pub use custom::{Custom, from_fn};
pub use naglim::DEFAULT_LIMIT as NAGLIM_DEFAULT;
pub use reasons::{Because, Why};
pub use registry::{Installed, Needs, Origin, Registered, SendPolicy};
pub use trials::SharedTrials;

/// The sender's variables as a policy sees them, in octets unless said otherwise. [`Vars::new`] makes some for the test of a
/// rule.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
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
    /// Octets of the peer's data that arrived, without gaps; 0 but for a rule that [heeds
    /// it](Rule::heeds_receiving).
    pub received: u64,
    /// How many of these the application has read; 0 likewise.
    pub read: u64,
    /// What this end's queues have counted; 0 but for a rule that [heeds the peer's](Rule::heeds_peer), if the peer has agreed
    /// to tell them.
    pub own_counters: QueueCounters,
    /// What the peer's queues had counted when it told of them last; absent likewise, and until it has.
    pub peer_counters: Option<QueueCounters>,
}

/// Who tells the variables, at the time when a rule reads them.
pub(crate) trait Told {
    /// Returns them.
    fn vars(&self) -> Vars;
}

impl Vars {
    /// Returns the variables of a connection that has sent nothing, with windows and a buffer of 65,535 octets. The test of a
    /// rule changes what it is about.
    #[must_use]
    pub const fn new(now: Instant, mss: u32) -> Self {
        const SIZE: u64 = 65_535;
        Self {
            now,
            una: Offset::FIRST,
            nxt: Offset::FIRST,
            max: Offset::FIRST,
            written: Offset::FIRST,
            mss,
            wnd: SIZE,
            max_wnd: SIZE,
            cwnd: SIZE,
            ssthresh: SIZE,
            rto: Duration::from_secs(1),
            cluster: 2048,
            capacity: SIZE,
            more_to_come: false,
            nodelay: false,
            corked: false,
            reader_blocked: false,
            writer_blocked: false,
            writer_lacks_space: false,
            device_busy: false,
            received: 0,
            read: 0,
            own_counters: QueueCounters::NONE,
            peer_counters: None,
        }
    }

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

/// A runt that could leave now. [`Offer::new`] makes one for the test of a rule.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
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
    /// Returns a runt that carries `span` and empties the buffer, in a pass that found `vars` as they are; it is not held yet.
    /// The test of a rule changes what it is about.
    #[must_use]
    pub fn new(span: Span, vars: &Vars) -> Self {
        Self {
            span,
            empties: true,
            idle_on_entry: vars.idle(),
            pass_over_mss: false,
            outstanding_on_entry: vars.outstanding(),
            held_since: None,
        }
    }

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
#[non_exhaustive]
pub enum Verdict {
    /// Send it.
    Send(Because),
    /// Hold it until something changes, or until `until` at the latest: [`Verdict::hold`], [`Verdict::hold_until`].
    #[non_exhaustive]
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

    /// Returns a verdict that holds until something changes, or until this moment at the latest.
    #[must_use]
    pub const fn hold_until(why: Why, moment: Instant) -> Self {
        Self::Hold {
            why,
            until: Some(moment),
        }
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
    /// Data of the peer arrived, or the application read some. Only a rule that [heeds
    /// it](Rule::heeds_receiving) is told.
    ReceiveQueueChanged,
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
    /// Returns what tables and traces call a rule of your own; those of the list have the list's names.
    fn name(&self) -> &str {
        "custom"
    }

    /// Returns the name of a reason of your own: of [`Why::Own`] and [`Because::Own`] with this number.
    fn reason(&self, number: u8) -> &str {
        let _ = number;
        "own"
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

    /// Returns whether the rule looks at what is received: [`Vars::received`] and [`Vars::read`].
    fn heeds_receiving(&self) -> bool {
        false
    }

    /// Returns whether the rule looks at both ends' counters: [`Vars::own_counters`] and [`Vars::peer_counters`]. Its SYN offers
    /// the [extension](crate::extensions::Extensions::queue_counters) that tells them.
    fn heeds_peer(&self) -> bool {
        false
    }

    /// Returns whether the peer should be told of this end's queues now, although it was at `last`: then an ACK of the data at
    /// hand leaves at once. Only a rule that [heeds the peer's counters](Rule::heeds_peer) is asked.
    fn wants_report(&self, now: Instant, last: Option<Instant>) -> bool {
        let _ = (now, last);
        false
    }

    /// Returns whether the rule includes MORE: a runt is held while the write under way has more to
    /// come.
    fn includes_more(&self) -> bool {
        false
    }
}
