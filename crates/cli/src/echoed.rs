//! How the values of plans are written where documents echo them.

use std::fmt::Display;
use std::time::Duration;

use serde::Serializer;
use tinygram_engine::profile::Profile;

/// Writes a time in milliseconds.
pub(crate) fn milliseconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64() * 1e3)
}

/// Writes a time in microseconds.
pub(crate) fn microseconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_nanos() as f64 / 1e3)
}

/// Writes a value as it is typed.
pub(crate) fn in_words<T: Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

/// Writes each value as it is typed.
pub(crate) fn each_in_words<T: Display, S: Serializer>(
    values: &[T],
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_seq(values.iter().map(ToString::to_string))
}

/// Writes a profile's name.
pub(crate) fn profile_name<S: Serializer>(
    profile: &&'static Profile,
    to: S,
) -> Result<S::Ok, S::Error> {
    to.serialize_str(profile.name)
}
