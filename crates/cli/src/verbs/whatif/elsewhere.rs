//! Live connections, where there is no Linux: they are refused.

use std::time::Duration;

use super::seen::Seen;
use crate::flags::Places;
use crate::outcome::Failure;
use crate::system::needs_linux;

/// The connections of targets: none can be asked.
pub(super) enum Live {}

impl Live {
    /// Refuses all targets.
    pub(super) fn of(_: &[String], _: &Places) -> Result<Self, String> {
        Err(needs_linux("whatif of live connections", "whatif of a capture's file").line())
    }

    pub(super) fn name(&self) -> String {
        match *self {}
    }

    pub(super) fn record(&self, _: Duration, _: u64, _: bool) -> Result<Seen, Failure> {
        match *self {}
    }
}

/// Checks no places, for none are asked.
pub(super) fn check(_: &Places) -> Result<(), String> {
    Ok(())
}

/// Returns the length of a tick of Linux's clock as most distributions build it (`CONFIG_HZ=250`).
pub(super) fn tick() -> Duration {
    Duration::from_millis(4)
}
