//! How often to look at something that takes long to look at.

use std::time::{Duration, Instant};

/// Allows a look, and the next one only after twenty times what this one took: looking takes at most a twentieth of the
/// time, also where the kernel has room for very many sockets.
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
        self.rested = Some(now + least.max(now.elapsed() * 20));
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
