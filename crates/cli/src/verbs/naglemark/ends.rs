//! What the backends with real packets are told: the path between the two ends, and what the ends have.

use std::time::Duration;

use tinygram_engine::profile::Profile;
use tinygram_naglemark::hosts::Impairment;

use super::args::LinkName;

/// The path between the two ends, as it was typed.
pub(super) struct Path<'a> {
    /// A server elsewhere.
    pub(super) connect: Option<&'a str>,
    pub(super) link: LinkName,
    /// Whether segments are joined beneath TCP over veth.
    pub(super) offload: bool,
    /// In bits per second; `None` is as fast as the machine.
    pub(super) rate: Option<u64>,
    /// One way.
    pub(super) delay: Duration,
    pub(super) impairment: Impairment,
    pub(super) seed: u64,
}

/// What the ends have. Sizes are in octets.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) profile: &'static Profile,
    pub(super) mss: Option<u16>,
    pub(super) receive_buffer: Option<u64>,
}
