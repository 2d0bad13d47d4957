//! Computing for a given time, as a program does that is busy with a request.

use std::hint::black_box;

use tinygram_naglemark::Duration;

use super::clock::now;

/// How long a step of a computation takes on this machine. What interrupts a computation makes it end later, as on
/// simulated hosts; a loop that looks at the clock would compute less.
#[derive(Clone, Copy, Debug)]
pub(super) struct Computing {
    steps_per_nano: f64,
}

impl Computing {
    /// Measures how long a step takes: the shortest of some tries.
    pub(super) fn calibrated() -> Self {
        let time = |_| {
            let began = now();
            compute(STEPS);
            now().since(began).as_nanos()
        };
        let shortest = (0..TRIES).map(time).min().unwrap_or(0).max(1);
        Self {
            steps_per_nano: STEPS as f64 / shortest as f64,
        }
    }

    /// Computes for so long.
    pub(super) fn spend(self, time: Duration) {
        compute((time.as_nanos() as f64 * self.steps_per_nano) as u64);
    }
}

fn compute(steps: u64) {
    let mut value = 1_u64;
    for _ in 0..steps {
        value = black_box(value.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1));
    }
}

/// Some tenths of a millisecond.
const STEPS: u64 = 100_000;
const TRIES: u32 = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_the_time_is_twice_the_work() {
        let computing = Computing::calibrated();
        let shortest = |micros| {
            let time = |_| {
                let began = now();
                computing.spend(Duration::from_micros(micros));
                now().since(began).as_nanos()
            };
            (0..TRIES).map(time).min().expect("some tries")
        };
        let [one, two] = [500, 1000].map(shortest);
        // Other programs only make it longer, and the shortest of many tries is seldom met by one.
        assert!(one >= 400_000, "{one} ns");
        assert!(two > one * 3 / 2, "{one} and {two} ns");
    }
}
