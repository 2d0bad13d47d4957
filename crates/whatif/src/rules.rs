//! The rules of an end of a connection: what an administrator or a program can choose of them.

use tinygram_engine::Duration;
use tinygram_engine::connection::Config;
use tinygram_engine::extensions::Sack;
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::{AckPolicy, Jiffies, Linux, LinuxKnobs};
use tinygram_engine::sender::send_policy::SendPolicy;

use crate::pacing::Pacing;

/// The rules of both ends; the first is that of whoever asks.
pub type Both = [Rules; 2];

/// The rules of one end.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Whether `TCP_NODELAY` is on.
    pub nodelay: bool,
    /// The longest delay of an acknowledgment (`TCP_DELACK_MAX_US`, `TCP_BPF_DELACK_MAX`).
    pub delack_max: Duration,
    /// How many answers make a connection interactive (`net.ipv4.tcp_pingpong_thresh`).
    pub pingpong: u8,
    /// Whether every segment is acknowledged at once (`ip route change ... quickack 1`).
    pub quickack: bool,
    /// A send policy instead of Linux's.
    pub policy: Option<SendPolicy>,
    /// Whether writes that follow each other are one (`writev`).
    pub gathers: bool,
    /// The rate at which the socket lets segments leave; `None`: as soon as they may.
    pub pacing: Option<Pacing>,
}

impl Default for Rules {
    /// Returns Linux as shipped.
    fn default() -> Self {
        let shipped = LinuxKnobs::default();
        Self {
            nodelay: false,
            delack_max: shipped.delack_max,
            pingpong: shipped.pingpong_threshold,
            quickack: false,
            policy: None,
            gathers: false,
            pacing: None,
        }
    }
}

/// What the two ends of a connection share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) mss: u16,
    /// The time that a segment takes from one end to the other.
    pub(crate) one_way: Duration,
    pub(crate) clock: Jiffies,
}

impl Rules {
    /// Returns the rules on this path: a rate spreads a window over a round trip, and where that takes nothing, pacing does not
    /// either. At the rates of a local connection a segment takes a microsecond, which any call outlasts.
    pub(crate) fn on(mut self, path: Path) -> Self {
        if path.one_way == Duration::ZERO {
            self.pacing = None;
        }
        self
    }

    /// Returns the engine's configuration of an end with these rules.
    pub(crate) fn config(&self, path: Path) -> Config {
        let mut config = (Profile::LINUX_6.config)(&Sizes {
            mss: path.mss.saturating_add(TIMESTAMPS),
            send_buffer: SEND_BUFFER,
            receive_buffer: RECEIVE_BUFFER,
        });
        if let Some(policy) = &self.policy {
            config.sender.policy = policy.clone();
        }
        config.extensions.sack = Some(Sack {
            counts_segments: true,
            ..Sack::FULL
        });
        if let Some(pacing) = &self.pacing {
            config.extensions.pacing = true;
            config.sender.congestion = pacing.control(config.sender.congestion);
        }
        config.receiver.policy = match self.quickack {
            true => AckPolicy::EverySegment,
            false => AckPolicy::custom(Linux::with(LinuxKnobs {
                delack_max: self.delack_max,
                pingpong_threshold: self.pingpong,
                clock: Some(path.clock),
            })),
        };
        config
    }
}

/// The octets that the timestamps option takes from each segment.
const TIMESTAMPS: u16 = 12;
/// `tcp_wmem` grows with what is written, up to 4 MiB; a quarter never stops a conversation of turns.
const SEND_BUFFER: u64 = 1 << 20;
/// `tcp_rmem` grows in the same way, up to 6 MiB.
const RECEIVE_BUFFER: u64 = 1 << 20;
