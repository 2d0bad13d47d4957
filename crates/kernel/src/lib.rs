//! The papers' send policies on an unmodified Linux: BPF congestion controls that hold small segments, and their loader.
//!
//! [`Loaded::load`] registers a [`BpfPolicy`] on top of a [`Base`] under a name of its own. A socket gets it by that name
//! (`TCP_CONGESTION`), or because a control group that it belongs to [has it](Loaded::choose_for). Nothing here prints.

#![cfg(target_os = "linux")]

mod base;
#[cfg(test)]
#[path = "../../host/tests/contract/mod.rs"]
mod contract;
mod kernel_types;
mod loaded;
mod object;
mod policy;
mod run;
mod sys;

pub use base::Base;
pub use loaded::Loaded;
pub use policy::{BpfPolicy, Parameter};
pub use run::{Counts, Run, list};
