//! How often to do something that takes long.

use std::time::{Duration, Instant};

/// The most of a processor that something may take which is done again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// A twentieth.
    Twentieth,
    /// A hundredth.
    Hundredth,
    /// Half a hundredth.
    HalfAHundredth,
}

impl Share {
    /// Returns how long to rest after what took so long.
    #[must_use]
    pub fn rest(self, took: Duration) -> Duration {
        took.saturating_mul(match self {
            Self::Twentieth => 20,
            Self::Hundredth => 100,
            Self::HalfAHundredth => 200,
        })
    }
}

/// Allows a look, and the next one only after a rest: looking takes at most a twentieth of the time, also where the kernel has
/// room for very many sockets.
#[derive(Default)]
pub struct Pace {
    rested: Option<Instant>,
}

impl Pace {
    /// Looks, unless the last look was too recent: less than `least` ago, too. Returns what `look` returned.
    pub fn look<T>(&mut self, least: Duration, look: impl FnOnce() -> T) -> Option<T> {
        #[expect(clippy::disallowed_methods, reason = "how often to look is real time")]
        let now = Instant::now();
        if self.rested.is_some_and(|rested| now < rested) {
            return None;
        }
        let seen = look();
        self.rested = Some(now + least.max(Share::Twentieth.rest(now.elapsed())));
        Some(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_followed_by_twenty_times_its_length_without_one() {
        let mut pace = Pace::default();
        let length = Duration::from_millis(5);
        #[expect(clippy::disallowed_methods, reason = "what is tested is real time")]
        let before = Instant::now();
        let seen = pace.look(Duration::ZERO, || std::thread::sleep(length));
        assert!(seen.is_some() && pace.rested >= Some(before + length * 20));

        let mut pace = Pace::default();
        assert_eq!(pace.look(Duration::from_secs(3600), || 1), Some(1));
        assert_eq!(pace.look(Duration::ZERO, || 2), None);
    }
}
