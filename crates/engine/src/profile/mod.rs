//! Profiles: a stack is a list of rules, not a fork of the engine. One file per stack.

mod freebsd_3_2;
mod linux_2_2;
mod linux_6;
mod modern;
mod solaris_7;
mod solaris_8;
mod sunos_4_1;
mod tru64_4;
mod unixware_7;

use crate::connection::{Config, ConfigBuilder};
use crate::receiver::ReceiverConfig;
use crate::receiver::ack_policy::{AckPolicy, AckTimer};
use crate::registry::UnknownName;
use crate::sender::congestion::{Congestion, restart::IdleRestart};
use crate::sender::send_policy::SendPolicy;
use crate::sender::{RtoRules, SenderConfig};

/// The sizes that every profile needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The maximum segment size in both directions, in octets: from 1 to 65,535; 1460 on Ethernet
    /// with IPv4.
    pub mss: u16,
    /// The send buffer, in octets, at least 1.
    pub send_buffer: u64,
    /// The receive buffer, in octets, at least 1.
    pub receive_buffer: u64,
}

/// A named list of rules.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// The name on a command line.
    pub name: &'static str,
    /// One line: the system and the source that describes its rules.
    pub summary: &'static str,
    /// Returns the rules for given sizes.
    pub config: fn(&Sizes) -> Config,
}

impl Profile {
    /// SunOS 4.1 (Moldeklev & Gunningberg; Heidemann).
    pub const SUNOS_4_1: Self = sunos_4_1::PROFILE;
    /// Tru64 UNIX 4.0F (Mogul & Minshall).
    pub const TRU64_4: Self = tru64_4::PROFILE;
    /// FreeBSD 3.2 (Doupnik).
    pub const FREEBSD_3_2: Self = freebsd_3_2::PROFILE;
    /// UnixWare 7 (Doupnik).
    pub const UNIXWARE_7: Self = unixware_7::PROFILE;
    /// Solaris 7 (Doupnik).
    pub const SOLARIS_7: Self = solaris_7::PROFILE;
    /// Linux 2.2 (Doupnik).
    pub const LINUX_2_2: Self = linux_2_2::PROFILE;
    /// Solaris 8 (Davids).
    pub const SOLARIS_8: Self = solaris_8::PROFILE;
    /// Linux 6.
    pub const LINUX_6: Self = linux_6::PROFILE;
    /// Our recommendation to the author of a stack today. Its send policy gathers writes until the
    /// writer blocks: call [`app_blocks`](crate::Connection::app_blocks) when the application stops
    /// writing; otherwise a short write waits for a millisecond.
    pub const MODERN: Self = modern::PROFILE;

    /// All profiles: the papers' stacks, then those of today.
    pub const LIST: &'static [Self] = &[
        Self::SUNOS_4_1,
        Self::TRU64_4,
        Self::FREEBSD_3_2,
        Self::UNIXWARE_7,
        Self::SOLARIS_7,
        Self::LINUX_2_2,
        Self::SOLARIS_8,
        Self::LINUX_6,
        Self::MODERN,
    ];

    /// Returns the profile with this name, ignoring case.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::LIST
            .iter()
            .find(|profile| profile.name.eq_ignore_ascii_case(name))
    }

    /// Returns the rules for these sizes.
    #[must_use]
    pub fn config(&self, sizes: &Sizes) -> Config {
        (self.config)(sizes)
    }

    /// Returns a builder that starts from the rules for these sizes.
    pub fn builder(&self, sizes: Sizes) -> ConfigBuilder {
        self.config(&sizes).to_builder()
    }
}

/// Returns a sender of these sizes by the RFCs of the papers' time. A profile names what its stack has, and where that is
/// written.
fn sender(sizes: &Sizes) -> SenderConfig {
    let mss = u64::from(sizes.mss);
    SenderConfig {
        mss: u32::from(sizes.mss),
        buffer: sizes.send_buffer,
        policy: SendPolicy::Nagle,
        more_in_every_variant: false,
        // A kernel that does not copy in clusters.
        cluster: mss,
        congestion: Congestion::Reno,
        idle_restart: IdleRestart::None,
        initial_cwnd: mss,
        cwnd_cap: 65_535,
        rto: RtoRules::RFC_6298,
    }
}

/// Returns a receiver of these sizes with BSD's timer.
fn receiver(sizes: &Sizes) -> ReceiverConfig {
    ReceiverConfig {
        buffer: sizes.receive_buffer,
        window_cap: 65_535,
        mss: sizes.mss,
        policy: AckPolicy::EverySecond,
        timer: AckTimer::BSD,
    }
}

impl core::fmt::Display for Profile {
    /// Writes the name on a command line.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name)
    }
}

impl core::str::FromStr for Profile {
    type Err = UnknownName;

    /// Parses a name, as [`named`](Self::named) does.
    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let found = Self::named(name).copied();
        found.ok_or_else(|| UnknownName {
            kind: "profile",
            name: name.into(),
            known: Self::LIST.iter().map(|profile| profile.name).collect(),
        })
    }
}
