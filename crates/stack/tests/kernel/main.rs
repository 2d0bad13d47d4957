//! Our stack and the running kernel's over a TUN device, in both roles.
//!
//! The tests make their own network namespace (and a user namespace, unless run by root). If that
//! or the device is not available, they say so and are skipped, unless `CI` is set. With
//! `TINYGRAM_LONG=1` they run at full length: a gigabyte each way, minutes of closed windows, ten
//! thousand connections (`lab/interop`).

#[path = "../common/mod.rs"]
mod common;
mod crowd;
mod endings;
mod many;
mod namespace;
mod transfers;
mod urgent;
mod windows;
mod world;

use std::time::Duration;

use libtest_mimic::{Arguments, Trial};

fn main() {
    if let Some(done) = crowd::as_peer() {
        return done.expect("the kernel's ends");
    }
    let arguments = Arguments::from_args();
    let missing = is_missing(&namespace::enter());
    let no_sysfs = missing || is_missing(&namespace::mount_sysfs());
    let all = transfers::trials()
        .into_iter()
        .chain(endings::trials())
        .chain(urgent::trials())
        .chain(windows::trials())
        .chain(many::trials())
        .chain(crowd::trials())
        .map(|trial| trial.with_ignored_flag(missing))
        .chain(
            transfers::napi_trials()
                .into_iter()
                .map(|trial| trial.with_ignored_flag(no_sysfs)),
        )
        .collect();
    libtest_mimic::run(&arguments, all).exit();
}

/// Returns whether tests are skipped because this is missing, and prints why.
fn is_missing(what: &Result<(), String>) -> bool {
    if let Err(reason) = what {
        assert!(
            std::env::var_os("CI").is_none(),
            "not to be skipped in CI: {reason}"
        );
        eprintln!("skipped: {reason}");
    }
    what.is_err()
}

/// A trial that runs on a thread of its own runtime.
fn trial<F: Future<Output = ()>>(
    name: impl Into<String>,
    test: impl FnOnce() -> F + Send + 'static,
) -> Trial {
    Trial::test(name, move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let limit = Duration::from_secs(long_or(1200, 30));
        let ended = runtime.block_on(async { tokio::time::timeout(limit, test()).await });
        // Threads that wait for the kernel are left behind.
        runtime.shutdown_background();
        ended.map_err(|_| format!("it takes longer than {limit:?}").into())
    })
}

/// Returns `long` for the long form and `short` otherwise.
fn long_or<T>(long: T, short: T) -> T {
    match std::env::var_os("TINYGRAM_LONG") {
        Some(_) => long,
        None => short,
    }
}
