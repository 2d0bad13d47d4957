//! Loads a policy into Linux's kernel, and finds those that are loaded.

mod base;
mod kernel_types;
mod loaded;
mod object;
mod run;
mod sys;

pub use base::Base;
pub use loaded::Loaded;
pub use run::{Counts, Run, list};
