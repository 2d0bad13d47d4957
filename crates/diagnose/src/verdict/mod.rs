//! Decides what a hold is: a stall of one kind, or one of the lookalikes.
//!
//! `checks/` has the questions, a file each; `examine` asks them in their order; `story` knows when
//! each can be asked. CONTRIBUTING.md lists the places that still demote a hold without a check.

pub(crate) mod check;
pub(crate) mod checks;
pub(crate) mod evidence;
pub(crate) mod examine;
pub(crate) mod kinds;
pub(crate) mod ledger;
pub(crate) mod lookalikes;
pub(crate) mod story;

#[cfg(test)]
mod tests;
