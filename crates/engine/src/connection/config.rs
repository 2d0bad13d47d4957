//! The rules of a connection, and the builder that checks them.

use crate::extensions::Extensions;
use crate::receiver::ReceiverConfig;
use crate::receiver::ack_policy::{AckPolicy, AckTimer};
use crate::sender::congestion::{Congestion, restart::IdleRestart};
use crate::sender::send_policy::SendPolicy;
use crate::sender::{RtoRules, SenderConfig};
use crate::socket::copy_rule::CopyRule;
use crate::time::Duration;

/// The rules of a connection. A [profile](crate::profile::Profile) has a whole set;
/// [`Config::to_builder`] changes single rules by name and checks the result.
#[derive(Clone, Debug)]
pub struct Config {
    /// The sending half's rules.
    pub sender: SenderConfig,
    /// The receiving half's rules.
    pub receiver: ReceiverConfig,
    /// How writes reach the send buffer.
    pub copy_rule: CopyRule,
    /// How long TIME-WAIT lasts: twice the maximum segment lifetime (RFC 9293, section 3.4.2).
    pub time_wait: Duration,
    /// The extensions beyond RFC 9293's core that it may use.
    pub extensions: Extensions,
}

/// Changes a [`Config`] with one named setter per rule, and checks the whole at the end.
///
/// ```
/// use tinygram_engine::Duration;
/// use tinygram_engine::profile::{Profile, Sizes};
/// use tinygram_engine::receiver::ack_policy::{AckPolicy, AckTimer};
/// use tinygram_engine::sender::send_policy::SendPolicy;
///
/// let config = Profile::LINUX_6
///     .builder(Sizes { mss: 1460, send_buffer: 65_536, receive_buffer: 65_536 })
///     .send_policy(SendPolicy::Minshall)
///     .ack_policy(AckPolicy::EverySecond)
///     .ack_timer(AckTimer::PerConnection(Duration::from_millis(25)))
///     .initial_cwnd(4 * 1460)
///     .build()?;
/// assert_eq!(config.sender.policy.to_string(), "minshall");
/// # Ok::<(), tinygram_engine::connection::InvalidConfig>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is made before `build`"]
pub struct ConfigBuilder(Config);

/// The reason why a [`Config`] cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidConfig {
    /// The MSS at the sender or the receiver is out of range.
    #[error("an MSS of {octets} octets; it is from 1 to 65,535")]
    Mss {
        /// The value asked for.
        octets: u32,
    },
    /// A buffer has no room for anything.
    #[error("a {buffer} buffer of 0 octets; it is at least 1")]
    Buffer {
        /// "send" or "receive".
        buffer: &'static str,
    },
    /// The largest window to advertise is out of range.
    #[error("a largest window of {octets} octets; it is from 1 to 1,073,741,824")]
    WindowCap {
        /// The value asked for.
        octets: u64,
    },
    /// A congestion window has no room for anything.
    #[error("a {what} of 0 octets; it is at least 1")]
    Cwnd {
        /// "initial congestion window" or "largest congestion window".
        what: &'static str,
    },
    /// The bounds of the retransmission timeout contradict each other.
    #[error("a retransmission time-out of at least {min} and at most {max}")]
    Rto {
        /// The lower bound.
        min: Duration,
        /// The upper bound.
        max: Duration,
    },
    /// A cyclic timer would never stop firing, or a share is above the whole.
    #[error("an ACK timer with a period of 0, or more than 1000 flushing ticks of 1000")]
    AckTimer,
    /// Keepalive probes would follow each other without a pause.
    #[error("keepalive with an interval of 0")]
    Keepalive,
}

impl Config {
    /// Returns a builder that starts from these rules.
    pub fn to_builder(&self) -> ConfigBuilder {
        ConfigBuilder(self.clone())
    }

    /// Checks whether a connection can work with these rules.
    ///
    /// # Errors
    ///
    /// The first rule that cannot work.
    pub fn check(&self) -> Result<(), InvalidConfig> {
        use InvalidConfig as Wrong;
        let (sender, receiver, extensions) = (&self.sender, &self.receiver, &self.extensions);
        let fails = |is_wrong: bool, what: Wrong| if is_wrong { Err(what) } else { Ok(()) };
        for octets in [sender.mss, receiver.mss.into()] {
            fails(octets == 0 || octets > 65_535, Wrong::Mss { octets })?;
        }
        for (buffer, octets) in [("send", sender.buffer), ("receive", receiver.buffer)] {
            fails(octets == 0, Wrong::Buffer { buffer })?;
        }
        let octets = receiver.window_cap;
        fails(
            octets == 0 || octets > LARGEST_WINDOW,
            Wrong::WindowCap { octets },
        )?;
        let windows = [
            ("initial congestion window", sender.initial_cwnd),
            ("largest congestion window", sender.cwnd_cap),
        ];
        for (what, octets) in windows {
            fails(octets == 0, Wrong::Cwnd { what })?;
        }
        let RtoRules { min, max, .. } = sender.rto;
        fails(min > max, Wrong::Rto { min, max })?;
        fails(!receiver.timer.is_valid(), Wrong::AckTimer)?;
        let never_pauses = |it: crate::extensions::Keepalive| it.interval == Duration::ZERO;
        fails(
            extensions.keepalive.is_some_and(never_pauses),
            Wrong::Keepalive,
        )
    }
}

/// A window is less than 2^30 octets (RFC 7323, section 2.3); profiles say 2^30 for "no bound".
const LARGEST_WINDOW: u64 = 1 << 30;

impl ConfigBuilder {
    /// Sets the policy that decides about runts.
    pub fn send_policy(mut self, policy: SendPolicy) -> Self {
        self.0.sender.policy = policy;
        self
    }

    /// Sets whether MORE applies whatever the send policy: a runt is held while its write has more
    /// to come.
    pub fn more_in_every_variant(mut self, applies: bool) -> Self {
        self.0.sender.more_in_every_variant = applies;
        self
    }

    /// Sets MCLBYTES, in octets: some send policies take it as the unit of copying.
    pub fn cluster(mut self, octets: u64) -> Self {
        self.0.sender.cluster = octets;
        self
    }

    /// Sets the congestion control.
    pub fn congestion(mut self, congestion: Congestion) -> Self {
        self.0.sender.congestion = congestion;
        self
    }

    /// Sets what an idle time does to the congestion window (RFC 5681, section 4.1).
    pub fn idle_restart(mut self, restart: IdleRestart) -> Self {
        self.0.sender.idle_restart = restart;
        self
    }

    /// Sets the congestion window after the handshake, in octets, at least 1 (RFC 6928: ten segments).
    pub fn initial_cwnd(mut self, octets: u64) -> Self {
        self.0.sender.initial_cwnd = octets;
        self
    }

    /// Sets the largest congestion window, and the first slow start threshold, in octets,
    /// at least 1.
    pub fn cwnd_cap(mut self, octets: u64) -> Self {
        self.0.sender.cwnd_cap = octets;
        self
    }

    /// Sets the bounds of the retransmission timeout, the lower not above the upper (RFC 6298,
    /// section 2).
    pub fn rto(mut self, rules: RtoRules) -> Self {
        self.0.sender.rto = rules;
        self
    }

    /// Sets when the receiver acknowledges.
    pub fn ack_policy(mut self, policy: AckPolicy) -> Self {
        self.0.receiver.policy = policy;
        self
    }

    /// Sets how long an acknowledgment may wait (RFC 9293, section 3.8.6.3: less than 0.5 s).
    pub fn ack_timer(mut self, timer: AckTimer) -> Self {
        self.0.receiver.timer = timer;
        self
    }

    /// Sets the largest window to advertise, in octets, from 1 to 2^30. Without window scaling at
    /// most 65,535 of them are used (RFC 7323, section 2.3).
    pub fn window_cap(mut self, octets: u64) -> Self {
        self.0.receiver.window_cap = octets;
        self
    }

    /// Sets how writes reach the send buffer.
    pub fn copy_rule(mut self, rule: CopyRule) -> Self {
        self.0.copy_rule = rule;
        self
    }

    /// Sets how long TIME-WAIT lasts (RFC 9293, section 3.4.2: four minutes).
    pub fn time_wait(mut self, length: Duration) -> Self {
        self.0.time_wait = length;
        self
    }

    /// Sets what the connection may use beyond RFC 9293's core.
    pub fn extensions(mut self, extensions: Extensions) -> Self {
        self.0.extensions = extensions;
        self
    }

    /// Returns the rules, if a connection can work with them.
    ///
    /// # Errors
    ///
    /// The first rule that cannot work.
    pub fn build(self) -> Result<Config, InvalidConfig> {
        self.0.check()?;
        Ok(self.0)
    }
}
