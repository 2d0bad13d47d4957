//! The rule that was put into a Go or static program.

use std::fs::File;
use std::io;

use tinygram_coalesce::Policy;
use tinygram_graft::shared;

use super::State;

/// The address of the shared memory.
pub(super) struct Grafted(u64);

impl Grafted {
    /// Returns it by a process's `/proc/PID/maps`; `None` if it is not there.
    pub(super) fn in_maps(maps: &str) -> Option<Self> {
        shared::address_in(maps).map(Self)
    }

    /// Returns what the rule shows now; `None` if it has another version, or rests for good.
    pub(super) fn state(&self, memory: &File) -> io::Result<Option<State>> {
        let shown = shared::look(memory, self.0)?;
        Ok(shown.filter(|shown| !shown.is_inert).map(|shown| State {
            policy: shown.policy.name(),
            writes_held: shown.held,
            writes_merged: shown.merged,
            watchdog_rescues: shown.rescued,
            went_over_to_nodelay: shown.went_over,
            services_over_to_nodelay: 0,
            writes_passed_by_trial: 0,
        }))
    }

    /// Switches to another policy.
    pub(super) fn switch(&self, memory: &File, policy: Policy) -> io::Result<()> {
        shared::switch(memory, self.0, policy)
    }
}
