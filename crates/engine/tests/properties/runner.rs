//! Tries a property on many cases. Reports the smallest case that fails, with its conversation and
//! the command that repeats it.

use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::sync::Once;
use std::{env, panic};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config as RunnerConfig, RngAlgorithm, TestError, TestRng, TestRunner};

use crate::world;

/// Runs `cases` cases of `strategy`, or as many as `PROPERTY_CASES` says.
pub(crate) fn check<S: Strategy>(
    test: &str,
    what: &str,
    cases: u32,
    strategy: &S,
    property: impl Fn(&S::Value),
) where
    S::Value: Clone,
{
    let from_env = |name: &str| {
        env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let seed = from_env("PROPERTY_SEED").unwrap_or(1);
    let cases = from_env("PROPERTY_CASES").map_or(cases, |cases| cases as u32);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    for (byte, letter) in bytes[8..].iter_mut().zip(what.bytes()) {
        *byte = letter;
    }
    let config = RunnerConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 4000,
        ..RunnerConfig::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    quietly();
    let outcome = TestRunner::new_with_rng(config, rng).run(strategy, |value| {
        SHRINKING.set(true);
        property(&value);
        SHRINKING.set(false);
        Ok(())
    });
    SHRINKING.set(false);
    if let Err(failure) = outcome {
        if let TestError::Fail(_, smallest) = &failure {
            world::TELLING.set(true);
            let told = panic::catch_unwind(AssertUnwindSafe(|| property(smallest)));
            world::TELLING.set(false);
            assert!(told.is_err(), "a case that failed must fail again");
        }
        panic!(
            "{what}: {failure}\nrepeat: PROPERTY_SEED={seed} PROPERTY_CASES={cases} \
             cargo test -p tinygram-engine --test properties -- --exact {test}"
        );
    }
}

thread_local! {
    /// Set while the smallest failing case is sought, when panics are frequent.
    static SHRINKING: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the panics of cases to the runner, which reports the smallest one.
fn quietly() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !SHRINKING.get() {
                usual(info);
            }
        }));
    });
}
