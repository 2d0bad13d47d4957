//! The extensions beyond RFC 9293's core that a connection may use: a tree, in which what depends on
//! another extension cannot be had without it.

use crate::registry::UnknownName;
use crate::time::Duration;

/// The extensions. A historic profile has [`Extensions::NONE`]. An extension that needs the peer's
/// consent is in force once both SYNs have offered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extensions {
    /// Windows beyond 65,535 octets (RFC 7323, section 2). The SYN offers the least shift with
    /// which the whole receive buffer can be announced.
    pub window_scaling: bool,
    /// Timestamps, for round trips (RFC 7323, section 4) and against old duplicates (section 5).
    pub timestamps: bool,
    /// SACK blocks from the receiver (RFC 2018) and a scoreboard at the sender (RFC 6675), with what
    /// needs them.
    pub sack: Option<Sack>,
    /// The rule that ends slow start before anything is lost.
    pub slow_start_exit: Option<SlowStartExit>,
    /// Segments that are handed to the device together wait until the previous ones have had their
    /// time at a rate of one window per round trip (Linux: `sk_pacing_rate`, as with the `fq`
    /// queue).
    pub pacing: bool,
    /// The network may mark packets instead of dropping them (RFC 3168); `None` ignores marks.
    pub ecn: Option<Ecn>,
    /// The initial window of large segments is bounded to two of them, or 14,600 octets (RFC 6928,
    /// section 2). Linux sends ten whatever their size.
    pub bounds_initial_cwnd: bool,
    /// Each of the first two duplicate ACKs lets new data leave (RFC 3042). With a scoreboard, RFC
    /// 6675's pipe has this effect.
    pub limited_transmit: bool,
    /// Repeated timeouts make segments smaller (RFC 4821, section 7.7; RFC 8899, section 4.3). A
    /// search that begins [after a black hole](PathMtuSearch::AFTER_A_BLACK_HOLE) includes this.
    pub black_hole_detection: bool,
    /// Ten minutes after a router reported the path's MTU, larger segments are tried again, because
    /// the path may have changed (RFC 1191, section 6.3; RFC 8201, section 4).
    pub path_mss_expires: bool,
    /// Segments above the MSS are sent now and then, to find the largest that the path takes (RFC
    /// 4821, section 7; RFC 8899, section 5.3.1).
    pub path_mtu_search: Option<PathMtuSearch>,
    /// ACKs that are too old are challenged (RFC 5961, section 5), and all challenges, also those
    /// for RST and SYN, are limited (section 7).
    pub blind_attack_defence: bool,
    /// Probes of an idle peer, from the start (RFC 9293, section 3.8.4). A socket can ask for them
    /// later.
    pub keepalive: Option<Keepalive>,
    /// How long the peer may leave something unanswered (RFC 5482; RFC 9293, section 3.8.3).
    /// Without it, the number of retransmissions decides.
    pub user_timeout: Option<Duration>,
    /// How often a SYN is sent again before the attempt is given up (RFC 9293, section 3.8.3, R2).
    /// Without it, a SYN is repeated as often as data. A socket can choose its own number
    /// (TCP_SYNCNT).
    pub syn_retries: Option<SynRetries>,
    /// A RST does not end TIME-WAIT (RFC 1337, section 3, fix F1).
    pub time_wait_ignores_resets: bool,
    /// How long an application that has gone waits for the peer's FIN.
    pub fin_wait_2: Option<Duration>,
    /// The most octets to which the receive buffer grows with what the application reads in a round
    /// trip (dynamic right-sizing, as Linux's `tcp_moderate_rcvbuf`). The window scale is chosen
    /// for this size.
    pub receive_buffer_most: Option<u64>,
    /// The most octets to which the send buffer grows with the congestion window: it holds two
    /// windows, one that is in flight and one that follows (Linux: `tcp_sndbuf_expand`). A size that
    /// the application sets ends that.
    pub send_buffer_most: Option<u64>,
    /// Pure ACKs carry the counters of their sender's queues, in an experimental option (RFC 6994) of constant size: no
    /// segment with data becomes smaller. A send policy that looks at the peer's counters switches this on.
    pub queue_counters: bool,
    /// What Linux does otherwise than the RFCs have it.
    pub linux: LinuxHabits,
}

impl Extensions {
    /// No extension: TCP as it was before 1992.
    pub const NONE: Self = Self {
        window_scaling: false,
        timestamps: false,
        sack: None,
        slow_start_exit: None,
        pacing: false,
        ecn: None,
        bounds_initial_cwnd: false,
        limited_transmit: false,
        black_hole_detection: false,
        path_mss_expires: false,
        path_mtu_search: None,
        blind_attack_defence: false,
        keepalive: None,
        user_timeout: None,
        syn_retries: None,
        time_wait_ignores_resets: false,
        fin_wait_2: None,
        receive_buffer_most: None,
        send_buffer_most: None,
        queue_counters: false,
        linux: LinuxHabits::NONE,
    };
    /// What Linux 6 has switched on as shipped.
    pub const LINUX_6: Self = Self {
        window_scaling: true,
        timestamps: true,
        sack: Some(Sack::FULL),
        slow_start_exit: Some(SlowStartExit::Hystart),
        // `tcp_ecn` is 2 as shipped.
        ecn: Some(Ecn::IfAsked),
        // Pacing comes with the queue `fq`, which is not the default.
        pacing: false,
        bounds_initial_cwnd: false,
        limited_transmit: true,
        // `tcp_mtu_probing` is off as shipped.
        black_hole_detection: false,
        path_mtu_search: None,
        // The route's entry holds for `mtu_expires`.
        path_mss_expires: true,
        blind_attack_defence: true,
        keepalive: None,
        user_timeout: None,
        syn_retries: Some(SynRetries::LINUX),
        // `tcp_rfc1337` is off as shipped.
        time_wait_ignores_resets: false,
        // `tcp_fin_timeout`.
        fin_wait_2: Some(Duration::from_secs(60)),
        // The caller of a profile states the buffer's size, as a socket's own choice (SO_RCVBUF)
        // does, and that turns growth off.
        receive_buffer_most: None,
        send_buffer_most: None,
        queue_counters: false,
        linux: LinuxHabits::LINUX_6,
    };
    /// Every extension that helps without being asked for.
    pub const MODERN: Self = Self {
        black_hole_detection: true,
        // A path on which nothing is amiss begins with its largest segments, so there is nothing to
        // find.
        path_mtu_search: Some(PathMtuSearch::AFTER_A_BLACK_HOLE),
        time_wait_ignores_resets: true,
        slow_start_exit: Some(SlowStartExit::HystartPlusPlus),
        bounds_initial_cwnd: true,
        // Linux gives up after two minutes; RFC 9293, section 3.8.3, demands three at least.
        syn_retries: None,
        linux: LinuxHabits {
            push_ends_writes: LinuxHabits::LINUX_6.push_ends_writes,
            ..LinuxHabits::NONE
        },
        ..Self::LINUX_6
    };

    /// The names that [`switch_on`](Self::switch_on) takes.
    pub const SWITCHES: [&'static str; 18] = [
        "window-scaling",
        "timestamps",
        "sack",
        "dsack",
        "rack-tlp",
        "rate-reduction",
        "counts-segments",
        "undo",
        "frto",
        "bounds-initial-cwnd",
        "limited-transmit",
        "black-hole-detection",
        "blind-attack-defence",
        "pacing",
        "queue-counters",
        "reduces-the-window",
        "silent-to-unsent-acks",
        "empty-window-probes",
    ];

    /// Switches on the extension with this name, and those that it cannot do without: `frto`
    /// switches `undo` and `sack` on.
    ///
    /// # Errors
    ///
    /// [`UnknownName`], which lists the known names.
    pub fn switch_on(&mut self, name: &str) -> Result<(), UnknownName> {
        match name {
            "window-scaling" => self.window_scaling = true,
            "timestamps" => self.timestamps = true,
            "sack" => _ = self.with_sack(),
            "dsack" => self.with_sack().duplicates = true,
            "rack-tlp" => self.with_sack().detection = LossDetection::RackTlp,
            "rate-reduction" => self.with_sack().rate_reduction = true,
            "counts-segments" => self.with_sack().counts_segments = true,
            "undo" => _ = self.with_sack().with_undo(),
            "frto" => self.with_sack().with_undo().frto = true,
            "bounds-initial-cwnd" => self.bounds_initial_cwnd = true,
            "limited-transmit" => self.limited_transmit = true,
            "black-hole-detection" => self.black_hole_detection = true,
            "blind-attack-defence" => self.blind_attack_defence = true,
            "pacing" => self.pacing = true,
            "queue-counters" => self.queue_counters = true,
            "reduces-the-window" => self.linux.reduces_the_window = true,
            "silent-to-unsent-acks" => self.linux.silent_to_unsent_acks = true,
            "empty-window-probes" => self.linux.empty_window_probes = true,
            _ => {
                return Err(UnknownName {
                    kind: "extension",
                    name: name.into(),
                    known: Self::SWITCHES.into(),
                });
            }
        }
        Ok(())
    }

    fn with_sack(&mut self) -> &mut Sack {
        self.sack.get_or_insert(Sack::PLAIN)
    }

    /// Returns whether repeated timeouts make segments smaller.
    pub(crate) fn detects_black_holes(&self) -> bool {
        let after_one = |search: PathMtuSearch| !search.from_the_start;
        self.black_hole_detection || self.path_mtu_search.is_some_and(after_one)
    }
}

/// What SACK blocks are used for besides RFC 6675's scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sack {
    /// The receiver reports what came twice (RFC 2883).
    pub duplicates: bool,
    /// How losses are detected.
    pub detection: LossDetection,
    /// During recovery the window falls in proportion to what is delivered (RFC 9937). Without it
    /// the window falls at once, and several losses of one flight can be sent again at one instant.
    pub rate_reduction: bool,
    /// Whether and how a needless reduction of the window is undone.
    pub undo: Option<Undo>,
    /// The congestion window counts segments, however short they are, as on Linux
    /// (`tcp_packets_in_flight`): a flood of short ones exhausts it. Without it the window counts
    /// octets (RFC 5681, section 2).
    pub counts_segments: bool,
}

impl Sack {
    /// RFC 2018 and RFC 6675 alone.
    pub const PLAIN: Self = Self {
        duplicates: false,
        detection: LossDetection::Counting,
        rate_reduction: false,
        undo: None,
        counts_segments: false,
    };
    /// All that RFCs build on them.
    pub const FULL: Self = Self {
        duplicates: true,
        detection: LossDetection::RackTlp,
        rate_reduction: true,
        undo: Some(Undo { frto: true }),
        counts_segments: false,
    };

    fn with_undo(&mut self) -> &mut Undo {
        self.undo.get_or_insert(Undo { frto: false })
    }
}

/// How a scoreboard tells that a segment is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// Three segments above it, or more octets than two full ones have, were SACKed (RFC 6675,
    /// section 4, `IsLost`).
    Counting,
    /// One that was sent sufficiently later has arrived, and the end of a flight is probed (RFC
    /// 8985).
    RackTlp,
}

/// The undo of a reduction of the window, if a timestamp (Eifel: RFC 3522) or DSACKs (RFC 3708) show
/// that nothing was lost (RFC 9438, section 4.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undo {
    /// After a timeout, new data shows whether it came too early (F-RTO: RFC 5682, section 3.1).
    pub frto: bool,
}

/// What Linux does otherwise than the RFCs have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinuxHabits {
    /// A loss reduces the congestion window itself. Without it, a loss reduces the window to a share
    /// of what is in flight (RFC 5681, equation 4; RFC 9438, section 4.6), which is less if the
    /// application has little to send.
    pub reduces_the_window: bool,
    /// An ACK of what was never sent is dropped silently, as older kernels do (6.18 answers it).
    /// Without it, the ACK is answered (RFC 9293, section 3.10.7.4; RFC 5961, section 5.2).
    pub silent_to_unsent_acks: bool,
    /// Probes of a closed window carry no data and have a sequence number below what is
    /// acknowledged (`tcp_xmit_probe_skb`). Without it, they carry an octet (RFC 9293, section
    /// 3.8.6.1).
    pub empty_window_probes: bool,
    /// PSH is set at the end of a write's data, unless more was announced, and at every half of the
    /// peer's largest window. Without it, PSH is set on the segment that empties the buffer (RFC
    /// 9293, section 3.9.1.2, leaves the choice).
    pub push_ends_writes: Option<PushEndsWrites>,
}

impl LinuxHabits {
    /// None of them.
    pub const NONE: Self = Self {
        reduces_the_window: false,
        silent_to_unsent_acks: false,
        empty_window_probes: false,
        push_ends_writes: None,
    };
    /// Those of Linux 6.
    pub const LINUX_6: Self = Self {
        reduces_the_window: true,
        silent_to_unsent_acks: false,
        empty_window_probes: true,
        push_ends_writes: Some(PushEndsWrites {
            least_burst: 2,
            // The buffer sizes that the caller of a profile states are octets of data, so that they
            // mean the same everywhere: in the inequalities of `tinygram deadlock` (with 832 here
            // the simulated sender holds more than its S: 91.94 Mbit/s instead of 76.91 in its
            // example), and for the three backends of naglemark, of which the kernel doubles what is
            // asked for. So PSH inside a write of more than half the peer's window may stand
            // elsewhere than on Linux; 832 here corrects it.
            buffer_overhead: None,
        }),
    };
}

/// PSH by kernel buffers, which hold what one or several writes wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushEndsWrites {
    /// How many segments at least are handed to the device together if so many are due, the last with
    /// PSH (`tcp_min_tso_segs`).
    pub least_burst: u32,
    /// If set, the send buffer bounds memory, as SO_SNDBUF does, instead of octets. A kernel buffer
    /// that has been begun is filled up however little is free, and takes this many octets besides
    /// its data (832 on Linux 6.18 for x86-64, as `SK_MEMINFO_WMEM_QUEUED` shows).
    pub buffer_overhead: Option<u32>,
}

/// The search for a larger path MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathMtuSearch {
    /// Whether the search begins with the connection, whose segments are small at first unless the
    /// MTU of its path is known. Otherwise it begins when a black hole made the segments small
    /// (`black_hole_detection`).
    pub from_the_start: bool,
    /// The data in a segment that nearly every path takes, in octets: there the search begins (RFC
    /// 4821, section 7.2; Linux: `tcp_base_mss`).
    pub base_mss: u32,
}

impl PathMtuSearch {
    /// Linux's `tcp_mtu_probing` of 1, with its `tcp_base_mss`.
    pub const AFTER_A_BLACK_HOLE: Self = Self {
        from_the_start: false,
        base_mss: 1024,
    };
    /// Linux's `tcp_mtu_probing` of 2.
    pub const FROM_THE_START: Self = Self {
        from_the_start: true,
        ..Self::AFTER_A_BLACK_HOLE
    };
}

/// Which side asks for ECN (RFC 3168, section 6.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// The peer only: if its SYN asks, this side agrees.
    IfAsked,
    /// This side as well. Of the SYNs that are sent again, the first `again` still ask and later
    /// ones do not, because some paths drop SYNs that ask (section 6.1.1.1).
    Ask {
        /// How many SYNs that are sent again still ask: 0 on Linux (`tcp_ecn_fallback`), 1 on FreeBSD.
        again: u32,
    },
}

/// The rule that ends slow start before anything is lost: growing round trips show that a queue
/// fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartExit {
    /// HyStart as in Linux's CUBIC (`tcp_cubic.c`): ends slow start at once, also if ACKs come in
    /// one train that is half a round trip long.
    Hystart,
    /// HyStart++ (RFC 9406): slows down first, for five round trips, in which it may detect that it
    /// was mistaken.
    HystartPlusPlus,
}

/// How often a SYN is sent again before the attempt is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynRetries {
    /// A SYN that opens a connection.
    pub syn: u32,
    /// A SYN that answers the peer's.
    pub syn_ack: u32,
}

impl SynRetries {
    /// Linux's values (`tcp_syn_retries`, `tcp_synack_retries`): 127 and 63 seconds after the first
    /// SYN the attempt ends.
    pub const LINUX: Self = Self { syn: 6, syn_ack: 5 };

    /// Returns the rule that TCP_SYNCNT sets: the same number for both.
    #[must_use]
    pub const fn both(number: u32) -> Self {
        Self {
            syn: number,
            syn_ack: number,
        }
    }
}

/// When an idle connection is probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    /// The silence before the first probe (RFC 9293: at least two hours unless the application
    /// chose otherwise).
    pub idle: Duration,
    /// The time between two probes.
    pub interval: Duration,
    /// Unanswered probes after which the connection is given up.
    pub probes: u32,
}

impl Keepalive {
    /// Linux's values for SO_KEEPALIVE (tcp(7)).
    pub const LINUX: Self = Self {
        idle: Duration::from_secs(7200),
        interval: Duration::from_secs(75),
        probes: 9,
    };
}
