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

use crate::connection::Config;

/// What every profile must be told, in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The maximum segment size, both ways.
    pub mss: u16,
    /// The send buffer.
    pub send_buffer: u64,
    /// The receive buffer.
    pub receive_buffer: u64,
}

/// A named list of rules.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// The name that is typed.
    pub name: &'static str,
    /// One line: the system and where its rules are described.
    pub summary: &'static str,
    /// Puts the rules together.
    pub config: fn(&Sizes) -> Config,
}

impl Profile {
    /// The list: the papers' stacks, then those of today.
    pub const LIST: &'static [Self] = &[
        sunos_4_1::PROFILE,
        tru64_4::PROFILE,
        freebsd_3_2::PROFILE,
        unixware_7::PROFILE,
        solaris_7::PROFILE,
        linux_2_2::PROFILE,
        solaris_8::PROFILE,
        linux_6::PROFILE,
        modern::PROFILE,
    ];

    /// The profile with this name, whatever the case.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::LIST
            .iter()
            .find(|profile| profile.name.eq_ignore_ascii_case(name))
    }
}
