//! Go programs and static ones: no library can be loaded into them, so the rule is put in by
//! `tinygram-graft`. On machines that it is not written for, `elsewhere.rs` stands here.

mod attached;
mod how;
mod started;
mod verified;

pub(super) use attached::{attach, detach};
pub(super) use how::How;
pub(super) use started::run;
