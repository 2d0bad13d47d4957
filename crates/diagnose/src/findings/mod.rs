//! Findings speak: one file per kind has its reasons and what the sender does.

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
