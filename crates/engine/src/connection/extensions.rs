//! What of today's TCP a connection may use beyond RFC 9293's core: one switch each.

use super::{Connection, Keepalive, State};
use crate::options::{Options, SackBlocks};
use crate::sender::Stamp;
use crate::time::{Duration, Instant};

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
    /// The first two duplicate ACKs bring out new data (RFC 3042). With a scoreboard, RFC 6675's
    /// pipe does that by itself.
    pub limited_transmit: bool,
    /// Smaller segments after repeated time-outs (RFC 4821, section 7.7; RFC 8899, section 4.3).
    pub black_hole_detection: bool,
    /// ACKs that are too old are challenged (RFC 5961, section 5), and challenges, those for RST and
    /// SYN included, are limited (section 7).
    pub blind_attack_defence: bool,
    /// Probes for an idle peer, from the beginning (RFC 9293, section 3.8.4). A socket can ask for
    /// them later.
    pub keepalive: Option<Keepalive>,
    /// How long the peer may leave something unanswered (RFC 5482; RFC 9293, section 3.8.3); without
    /// it the number of retransmissions decides.
    pub user_timeout: Option<Duration>,
    /// How long an application that has gone waits for the peer's FIN.
    pub fin_wait_2: Option<Duration>,
}

impl Extensions {
    /// TCP as it was before 1992.
    pub const NONE: Self = Self {
        window_scaling: false,
        timestamps: false,
        sack: false,
        dsack: false,
        rack_tlp: false,
        limited_transmit: false,
        black_hole_detection: false,
        blind_attack_defence: false,
        keepalive: None,
        user_timeout: None,
        fin_wait_2: None,
    };
    /// What Linux 6 has switched on as shipped.
    pub const LINUX_6: Self = Self {
        window_scaling: true,
        timestamps: true,
        sack: true,
        dsack: true,
        rack_tlp: true,
        limited_transmit: true,
        // `tcp_mtu_probing` is off as shipped.
        black_hole_detection: false,
        blind_attack_defence: true,
        keepalive: None,
        user_timeout: None,
        // `tcp_fin_timeout`.
        fin_wait_2: Some(Duration::from_secs(60)),
    };
    /// All that helps without being asked for.
    pub const MODERN: Self = Self {
        black_hole_detection: true,
        ..Self::LINUX_6
    };
}

/// What both SYNs offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Agreed {
    pub(super) window_scaling: bool,
    /// Snd.Wind.Shift (RFC 7323, section 2.3).
    pub(super) send_window_shift: u8,
    pub(super) timestamps: bool,
    pub(super) sack: bool,
    /// Segments other than SYNs may carry options.
    pub(super) every_segment: bool,
}

/// "If a Window Scale option is received with a shift.cnt value larger than 14, the TCP SHOULD log
/// the error but MUST use 14" (RFC 7323, section 2.3).
const GREATEST_SHIFT: u8 = 14;
/// What timestamps take of every segment, padding included (RFC 7323, appendix A).
const TIMESTAMPS_OCTETS: u32 = 12;
/// What SACK blocks take, padding included (RFC 2018, section 3; two NOPs before it).
const SACK_OCTETS: u32 = 4;
const SACK_OCTETS_PER_BLOCK: u32 = 8;
/// SACK blocks that leave at least three quarters of a small segment to its data.
const MSS_PER_BLOCK: usize = 48;

impl Connection {
    /// The options of a SYN; one that answers another repeats only what that one offered
    /// (RFC 7323, section 1.3; RFC 2018, section 2).
    pub(super) fn syn_options(&self, now: Instant) -> Options {
        let answering = self.state == State::SynReceived;
        let wanted = |switch: bool, agreed: bool| switch && (!answering || agreed);
        let (own, both) = (&self.extensions, &self.agreed);
        Options {
            window_scale: wanted(own.window_scaling, both.window_scaling)
                .then(|| self.receiver.wanted_window_shift()),
            sack_permitted: wanted(own.sack, both.sack),
            timestamps: wanted(own.timestamps, both.timestamps).then(|| self.timestamps(now)),
            sack: SackBlocks::NONE,
        }
    }

    /// The peer's SYN offers `options`.
    pub(super) fn agree(&mut self, now: Instant, options: &Options) {
        let own = self.extensions;
        if own.window_scaling {
            let shift = options.window_scale;
            self.agreed.window_scaling = shift.is_some();
            self.agreed.send_window_shift = shift.unwrap_or(0).min(GREATEST_SHIFT);
            self.receiver.agree_on_scaling(shift.is_some());
        }
        self.agreed.timestamps = own.timestamps && options.timestamps.is_some();
        if let Some(timestamps) = options.timestamps {
            self.clock.learn(now, timestamps.value);
        }
        self.agreed.sack = own.sack && options.sack_permitted;
        self.agreed.every_segment = self.agreed.timestamps || self.agreed.sack;
        self.receiver.permit_sack(self.agreed.sack, own.dsack);
        self.sender.permit_sack(self.agreed.sack, own.rack_tlp);
        let octets = if self.agreed.timestamps {
            TIMESTAMPS_OCTETS
        } else {
            0
        };
        self.sender.set_option_octets(octets);
    }

    /// What a segment that leaves now carries.
    #[inline(never)] // most connections of a simulation never come here
    pub(super) fn add_options(&self, now: Instant, stamp: &mut Stamp) {
        if self.agreed.timestamps {
            stamp.options.timestamps = Some(self.timestamps(now));
        }
        if self.receiver.has_sack_news() {
            // Forty octets of options have room for four blocks, or three beside timestamps.
            let room = SackBlocks::MAX - usize::from(self.agreed.timestamps);
            let most = room.min((usize::from(self.receiver.mss()) / MSS_PER_BLOCK).max(1));
            stamp.options.sack = self.receiver.sack_blocks(most);
            stamp.sack_octets =
                SACK_OCTETS + SACK_OCTETS_PER_BLOCK * stamp.options.sack.len() as u32;
        }
    }
}
