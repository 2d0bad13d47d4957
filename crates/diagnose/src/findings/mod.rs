//! Speaks of what was decided; read `finding`, `speak`, then a file for each kind, which has its reasons.
//!
//! A `finding` is made of `flow`'s measurements and `verdict`'s answers; `speak` asks the kind's file, and `said` has what
//! several kinds say. `tinygram_flood` also finds floods, in a connection's counts.

mod buffer_tearing;
mod cork_held;
pub(crate) mod finding;
mod idle_restart;
mod nagle_round_trip;
mod odd_full_short_final;
mod said;
mod short_initial_segment;
mod slow_start_delayed_ack;
mod small_buffer;
mod speak;
pub(crate) mod tinygram_flood;
mod write_write_read;

#[cfg(test)]
pub(crate) mod tests;
