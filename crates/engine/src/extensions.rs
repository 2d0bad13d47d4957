//! What of today's TCP a connection may use beyond RFC 9293's core: one switch each.

use crate::time::Duration;

/// The switches. A historic profile says [`Extensions::NONE`]; what needs the peer's consent is in
/// force once both SYNs have offered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extensions {
    /// Windows beyond 65,535 octets (RFC 7323, section 2). The shift offered is the least with
    /// which the receive buffer can be announced whole.
    pub window_scaling: bool,
    /// Timestamps, for round trips (RFC 7323, section 4) and against old duplicates (section 5).
    pub timestamps: bool,
    /// SACK blocks from the receiver (RFC 2018) and a scoreboard at the sender (RFC 6675).
    pub sack: bool,
    /// The receiver reports what came twice (RFC 2883); needs `sack`.
    pub dsack: bool,
    /// Losses are noticed by time and not by counting, and the end of a flight is probed for
    /// (RFC 8985); needs `sack`.
    pub rack_tlp: bool,
    /// In a recovery the window falls with what is delivered (RFC 9937); needs `sack`. Without it, it
    /// falls at once, and several losses of one flight can be sent again at one instant.
    pub rate_reduction: bool,
    /// A reduction of the window is taken back if a timestamp (Eifel: RFC 3522) or DSACKs (RFC 3708) tell
    /// that nothing was lost (RFC 9438, section 4.9); needs `sack`.
    pub undo: bool,
    /// After a time-out new data tells whether it came too early (F-RTO: RFC 5682, section 3.1); needs
    /// `sack` and `undo`.
    pub frto: bool,
    /// How slow start ends before anything is lost.
    pub slow_start_exit: Option<SlowStartExit>,
    /// What is handed to the device as one waits until what left before it has had its time at the rate
    /// of the window over a round trip (Linux: `sk_pacing_rate`, as with the `fq` queue).
    pub pacing: bool,
    /// The network may mark packets instead of dropping them (RFC 3168); without it, marks mean nothing.
    pub ecn: Option<Ecn>,
    /// A loss reduces the congestion window itself, as Linux does; without it, what is in flight (RFC
    /// 5681, equation 4; RFC 9438, section 4.6), which is less where the application has little to send.
    pub reduces_the_window: bool,
    /// The initial window of large segments is bounded: two of them, or 14,600 octets (RFC 6928, section 2).
    /// Linux sends ten whatever their size.
    pub bounds_initial_cwnd: bool,
    /// The first two duplicate ACKs bring out new data (RFC 3042). With a scoreboard, RFC 6675's
    /// pipe does that by itself.
    pub limited_transmit: bool,
    /// Smaller segments after repeated time-outs (RFC 4821, section 7.7; RFC 8899, section 4.3).
    pub black_hole_detection: bool,
    /// ACKs that are too old are challenged (RFC 5961, section 5), and challenges, those for RST and
    /// SYN included, are limited (section 7).
    pub blind_attack_defence: bool,
    /// An ACK of what was never sent is dropped in silence, as older kernels of Linux do (6.18 answers); without it, it is
    /// answered (RFC 9293, section 3.10.7.4; RFC 5961, section 5.2).
    pub silent_to_unsent_acks: bool,
    /// Probes of a closed window carry nothing and stand below what is acknowledged, as Linux's do
    /// (`tcp_xmit_probe_skb`); without it, they carry an octet (RFC 9293, section 3.8.6.1).
    pub empty_window_probes: bool,
    /// Probes for an idle peer, from the beginning (RFC 9293, section 3.8.4). A socket can ask for
    /// them later.
    pub keepalive: Option<Keepalive>,
    /// How long the peer may leave something unanswered (RFC 5482; RFC 9293, section 3.8.3); without
    /// it the number of retransmissions decides.
    pub user_timeout: Option<Duration>,
    /// A RST does not end TIME-WAIT (RFC 1337, section 3, fix F1).
    pub time_wait_ignores_resets: bool,
    /// How long an application that has gone waits for the peer's FIN.
    pub fin_wait_2: Option<Duration>,
    /// The receive buffer grows with what the application reads in a round trip, up to so many octets
    /// (dynamic right-sizing, as Linux's `tcp_moderate_rcvbuf`); the window scale is chosen for them.
    pub receive_buffer_most: Option<u64>,
    /// PSH stands at the end of what a write wrote, unless more was announced, and at every half of
    /// the peer's largest window (Linux); without it, on what empties the buffer (RFC 9293, section
    /// 3.9.1.2, leaves the choice). The number is how many segments at least are handed to the device
    /// as one where so many are due, the last with PSH (`tcp_min_tso_segs`).
    pub push_ends_writes: Option<u32>,
    /// The send buffer bounds memory, as SO_SNDBUF does on Linux, and not octets: a buffer that has been
    /// begun is filled up whatever is free, and takes so many octets beside its data (832 on Linux 6.18 for
    /// x86-64, as `SK_MEMINFO_WMEM_QUEUED` shows). Needs `push_ends_writes`.
    pub send_buffer_is_memory: Option<u32>,
}

impl Extensions {
    /// TCP as it was before 1992.
    pub const NONE: Self = Self {
        window_scaling: false,
        timestamps: false,
        sack: false,
        dsack: false,
        rack_tlp: false,
        rate_reduction: false,
        undo: false,
        frto: false,
        slow_start_exit: None,
        pacing: false,
        ecn: None,
        reduces_the_window: false,
        bounds_initial_cwnd: false,
        limited_transmit: false,
        black_hole_detection: false,
        blind_attack_defence: false,
        silent_to_unsent_acks: false,
        empty_window_probes: false,
        keepalive: None,
        user_timeout: None,
        time_wait_ignores_resets: false,
        fin_wait_2: None,
        receive_buffer_most: None,
        push_ends_writes: None,
        send_buffer_is_memory: None,
    };
    /// What Linux 6 has switched on as shipped.
    pub const LINUX_6: Self = Self {
        window_scaling: true,
        timestamps: true,
        sack: true,
        dsack: true,
        rack_tlp: true,
        rate_reduction: true,
        undo: true,
        frto: true,
        slow_start_exit: Some(SlowStartExit::Hystart),
        // `tcp_ecn` is 2 as shipped.
        ecn: Some(Ecn::IfAsked),
        // It comes with the queue `fq`, which is not the default.
        pacing: false,
        reduces_the_window: true,
        bounds_initial_cwnd: false,
        limited_transmit: true,
        // `tcp_mtu_probing` is off as shipped.
        black_hole_detection: false,
        blind_attack_defence: true,
        silent_to_unsent_acks: true,
        empty_window_probes: true,
        keepalive: None,
        user_timeout: None,
        // `tcp_rfc1337` is off as shipped.
        time_wait_ignores_resets: false,
        // `tcp_fin_timeout`.
        fin_wait_2: Some(Duration::from_secs(60)),
        // A profile is told the buffer, which a socket's own choice fixes (SO_RCVBUF).
        receive_buffer_most: None,
        push_ends_writes: Some(2),
        // A profile is told octets, so that they mean the same for all: in the inequalities of `tinygram
        // deadlock` (with 832 here the simulated sender holds more than its S: 91.94 Mbit/s for 76.91 in its example),
        // and for the three backends of naglemark, of which the kernel doubles what it is asked for. So PSH
        // inside a write of more than half the peer's window may stand elsewhere than on Linux; 832 here sets
        // it right.
        send_buffer_is_memory: None,
    };
    /// All that helps without being asked for.
    pub const MODERN: Self = Self {
        black_hole_detection: true,
        time_wait_ignores_resets: true,
        slow_start_exit: Some(SlowStartExit::HystartPlusPlus),
        reduces_the_window: false,
        bounds_initial_cwnd: true,
        silent_to_unsent_acks: false,
        empty_window_probes: false,
        ..Self::LINUX_6
    };
}

/// Who begins with ECN (RFC 3168, section 6.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// The peer: its SYN asks, and this side agrees.
    IfAsked,
    /// This side asks as well. A SYN that is sent again asks `again` times more and then no longer, since
    /// some paths drop those that do (section 6.1.1.1).
    Ask {
        /// How many SYNs that are sent again still ask: 0 on Linux (`tcp_ecn_fallback`), 1 on FreeBSD.
        again: u32,
    },
}

/// How slow start ends before anything is lost: round trips that grow longer say that a queue fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartExit {
    /// HyStart as Linux's CUBIC has it (`tcp_cubic.c`): at once, also where ACKs come in one train that
    /// is half a round trip long.
    Hystart,
    /// HyStart++ (RFC 9406): slower first, for five round trips, in which it may prove to have been a
    /// mistake.
    HystartPlusPlus,
}

/// When an idle connection is probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    /// Silence before the first probe (the RFC: at least two hours unless the application chose).
    pub idle: Duration,
    /// Between two probes.
    pub interval: Duration,
    /// Unanswered probes after which the connection is given up.
    pub probes: u32,
}

impl Keepalive {
    /// As Linux has it for SO_KEEPALIVE (tcp(7)).
    pub const LINUX: Self = Self {
        idle: Duration::from_secs(7200),
        interval: Duration::from_secs(75),
        probes: 9,
    };
}
