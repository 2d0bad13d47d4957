//! Estimates how long simulations and measurements will take, before they begin.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tinygram_naglemark::Plan;

use crate::outcome::Failure;
use crate::terminal;
use crate::values::in_words;

/// Work of which a part shows how long the whole will take.
pub(crate) trait Work: Sized {
    /// Returns the effort, in a unit in proportion to which the time grows.
    fn effort(&self) -> u64;

    /// Returns about one part in `each` of the work, taken from all over it.
    fn thinned(&self, each: u32) -> Self;
}

impl Work for Plan {
    fn effort(&self) -> u64 {
        self.effort()
    }

    fn thinned(&self, each: u32) -> Self {
        self.thinned(each)
    }
}

/// Prints how long the work will take, if that is long. `sample` does a thinned part of it, on as
/// many `backends` as the whole. `whole` is the sum of [`Work::effort`] over the backends.
pub(crate) fn tell<W: Work>(
    doing: &str,
    work: &W,
    backends: usize,
    whole: u64,
    sample: impl Fn(&W) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let timed = |thin: &W, share| {
        #[allow(clippy::disallowed_methods)] // how long the machine takes is about the real world
        let began = Instant::now();
        patiently(doing, share, || sample(thin))?;
        Ok(began.elapsed())
    };
    if let Some(takes) = estimated(work, backends, whole, timed)? {
        terminal::announce(doing, takes);
    }
    Ok(())
}

/// Returns the estimated time of the whole; `None` if the whole is not much more than a sample.
/// `timed` runs a sample, is told how many times as large the whole is, and returns the sample's
/// time.
fn estimated<W: Work>(
    work: &W,
    backends: usize,
    whole: u64,
    timed: impl Fn(&W, f64) -> Result<Duration, Failure>,
) -> Result<Option<Duration>, Failure> {
    let mut takes = None;
    for each in THINNER {
        let thin = work.thinned(each);
        let effort = thin.effort() * backends as u64;
        // Nothing is left of little work.
        if effort == 0 {
            continue;
        }
        if effort * WORTH_IT > whole {
            break;
        }
        let share = whole as f64 / effort as f64;
        let took = timed(&thin, share)?;
        takes = Some(took.mul_f64(share));
        // The first runs of everything are slower than the later ones, so a short sample
        // overestimates.
        if took >= TELLING {
            break;
        }
    }
    Ok(takes)
}

/// Runs a sample. If that takes long, prints how long the whole will take at least, if the sample
/// is representative.
fn patiently<T>(doing: &str, share: f64, sample: impl FnOnce() -> T) -> T {
    let (done, wait) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if wait.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                let least = in_words(PATIENCE.mul_f64(share));
                terminal::remark(&format!("tinygram: {doing} probably takes {least} or more"));
            }
        });
        let sampled = sample();
        drop(done);
        sampled
    })
}

/// How many times thinner than the whole each sample is, in order.
const THINNER: [u32; 4] = [499, 97, 31, 11];
/// A sample that takes this long is long enough.
const TELLING: Duration = Duration::from_millis(250);
/// A sample that takes longer than this causes a message.
const PATIENCE: Duration = Duration::from_secs(5);
/// The least ratio of the whole to a sample; below it nothing is sampled.
const WORTH_IT: u64 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan::default().repetitions(10)
    }

    #[test]
    fn an_estimate_is_the_samples_time_by_its_share() {
        for ms_a_transfer in [1, 50] {
            let each = Duration::from_millis(ms_a_transfer);
            let timed = |thin: &Plan, _| Ok(each * thin.effort() as u32);
            let takes = estimated(&plan(), 1, plan().effort(), timed).unwrap();
            let exact = each.mul_f64(plan().effort() as f64);
            assert_eq!(takes.unwrap().as_millis(), exact.as_millis());
        }
    }

    #[test]
    fn a_sample_grows_until_it_tells_enough() {
        let sizes = std::cell::RefCell::new(Vec::new());
        let timed = |thin: &Plan, _| {
            sizes.borrow_mut().push(thin.effort());
            Ok(Duration::from_millis(thin.effort()))
        };
        estimated(&plan(), 2, plan().effort() * 2, timed).unwrap();
        // Two policies, and 3, 11, 33 and 91 of a thousand lengths; the last sample takes 182 ms.
        assert_eq!(sizes.into_inner(), [6, 22, 66, 182]);
    }

    /// Work of few pieces.
    struct Pieces(u64);

    impl Work for Pieces {
        fn effort(&self) -> u64 {
            self.0 * 50
        }

        fn thinned(&self, each: u32) -> Self {
            Self(self.0 / u64::from(each))
        }
    }

    #[test]
    fn a_sample_of_nothing_is_not_timed() {
        for pieces in [0, 1, 30, 300, 3_000] {
            let timed = |thin: &Pieces, share: f64| {
                assert!(thin.effort() > 0 && share.is_finite(), "{pieces}");
                Ok(Duration::from_millis(thin.effort()))
            };
            let whole = Pieces(pieces);
            let takes = estimated(&whole, 1, whole.effort(), timed).unwrap();
            assert_eq!(takes.is_some(), pieces >= 300, "{pieces}");
        }
    }

    #[test]
    fn a_small_plan_is_not_sampled() {
        let plan = Plan::default().lengths(tinygram_naglemark::Lengths::fixed(100, 10));
        let timed = |_: &Plan, _| panic!("it is sampled");
        assert_eq!(estimated(&plan, 1, plan.effort(), timed).unwrap(), None);
    }
}
