//! Decides what a hold is, a stall of one kind or a lookalike; read `story`, `examine`, `checks/`, `kinds/`.
//!
//! `checks/` has the questions, a file each; `examine` asks them in their order, of the `evidence`; `story` knows when
//! each can be asked. The room names `flow` alone. A tier is what the answers leave of it (`checked`), and what is ruled out is counted by the check
//! that did so (`ruled_out`): nothing else takes either a check's name.

pub(crate) mod check;
pub(crate) mod checked;
pub(crate) mod checks;
pub(crate) mod evidence;
pub(crate) mod examine;
pub(crate) mod kinds;
pub(crate) mod ledger;
pub(crate) mod lookalikes;
pub(crate) mod ruled_out;
pub(crate) mod story;

#[cfg(test)]
mod tests;
