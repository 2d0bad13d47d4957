//! Every number on which a verdict depends, once, with its unit and its origin.
//!
//! Each group is a file; [`all`] lists them together.

/// Defines the thresholds of a group, and the table that lists them.
macro_rules! thresholds {
    ($group:ident; $( $(#[doc = $doc:literal])+ $name:ident: $type:ty = $value:expr, $unit:ident, $origin:expr; )+) => {
        $( $(#[doc = $doc])+ pub const $name: $type = $value; )+

        /// The thresholds of this group.
        pub(super) static $group: &[crate::thresholds::origin::Threshold] = &[ $(
            crate::thresholds::origin::Threshold {
                name: stringify!($name),
                value: $value as f64,
                unit: crate::thresholds::origin::Unit::$unit,
                origin: $origin,
                meaning: concat!($($doc),+),
            }
        ),+ ];
    };
}

mod acks;
mod buffers;
mod capture;
mod chance;
mod floods;
mod live;
mod origin;
mod path;
mod shares;
mod timers;
mod turns;

use self::acks::ACKS;
use self::buffers::BUFFERS;
use self::capture::CAPTURE;
use self::chance::CHANCE;
use self::floods::FLOODS;
use self::live::LIVE;
use self::path::PATH;
use self::shares::SHARES;
use self::timers::TIMERS;
use self::turns::TURNS;
pub use acks::*;
pub use buffers::*;
pub use capture::*;
pub use chance::*;
pub use floods::*;
pub use live::*;
pub use origin::{Origin, Threshold, Unit};
pub use path::*;
pub use shares::*;
pub use timers::*;
pub use turns::*;

/// Returns all thresholds, group by group.
pub fn all() -> impl Iterator<Item = &'static Threshold> {
    let groups: [&'static [Threshold]; 10] = [
        ACKS, TIMERS, PATH, TURNS, CHANCE, BUFFERS, FLOODS, CAPTURE, LIVE, SHARES,
    ];
    groups.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each name stands once, and each number says where it is from and what it means.
    #[test]
    fn every_threshold_has_a_name_a_meaning_and_an_origin() {
        for (at, one) in all().enumerate() {
            assert!(
                all().skip(at + 1).all(|other| other.name != one.name),
                "{}",
                one.name
            );
            assert!(one.meaning.trim().len() > 20, "{}", one.name);
            assert!(one.origin.source().len() > 3, "{}", one.name);
            assert!(
                one.value > 0.0 || one.name == "OTHER_NUMBERS",
                "{}",
                one.name
            );
        }
    }

    /// The name of a time says its unit.
    #[test]
    fn a_name_ends_in_its_unit() {
        for one in all() {
            let ends = match one.unit {
                Unit::Nanoseconds => one.name.ends_with("_NS"),
                Unit::Percent => one.name.ends_with("_PERCENT"),
                Unit::Bytes
                | Unit::Count
                | Unit::Probability
                | Unit::Ratio
                | Unit::PerSecond
                | Unit::Seconds => !one.name.ends_with("_NS"),
            };
            assert!(ends, "{}", one.name);
        }
    }
}
