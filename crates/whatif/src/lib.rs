//! What an option would do to a service: a [`conversation`] that was [`seen`] is [replayed](replay) through the
//! engine under the present [rules] and under others, and a [forecast] says how the times of its turns and the number
//! of its segments change, with intervals. Nothing here reads a file, a clock or a socket.
//!
//! A *turn* is the time from the first write of whoever asks to the read that brings the last octet of the answer.

pub mod capture;
pub mod change;
pub mod conversation;
pub mod forecast;
pub mod guess;
pub mod lateness;
pub mod offer;
pub mod pacing;
mod player;
pub mod prediction;
pub mod replay;
pub mod rules;
pub mod seen;
pub mod settling;
mod spread;

/// Returns a length of time in the engine's type.
#[must_use]
pub fn engine_time(time: std::time::Duration) -> tinygram_engine::Duration {
    tinygram_engine::Duration::from_nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
