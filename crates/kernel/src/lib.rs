//! The papers' send policies on an unmodified Linux: BPF congestion controls that hold small segments, and their loader.
//!
//! [`Loaded::load`] registers a [`BpfPolicy`] on top of a [`Base`] under a name of its own. A socket gets it by that name
//! (`TCP_CONGESTION`), or because a control group that it belongs to [has it](Loaded::choose_for). Nothing here prints.
//! On another system there is the list of policies alone.

#[cfg(test)]
#[path = "../../host/tests/contract/mod.rs"]
mod contract;
#[cfg(target_os = "linux")]
mod loader;
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "the loader asks for it")
)]
mod policy;

#[cfg(target_os = "linux")]
pub use loader::{Base, Counts, Loaded, Run, list};
pub use policy::{BpfPolicy, Parameter};
