//! What the tests share.
#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod peer;

use tinygram_host::lacking::Lacking;
use tinygram_kernel::{Base, BpfPolicy, Loaded};

/// Loads a policy; `None` if this machine takes none, with the reason on standard error.
pub(crate) fn load(policy: &str, base: Base) -> Option<Loaded> {
    load_with(policy, base, None)
}

/// Loads a policy with a number of its own.
pub(crate) fn load_with(policy: &str, base: Base, parameter: Option<u32>) -> Option<Loaded> {
    let policy = BpfPolicy::named(policy).expect("in the list");
    match Loaded::load(policy, base, parameter) {
        Ok(loaded) => Some(loaded),
        Err(lacking @ Lacking::Other(_)) => panic!("{} on {base}: {lacking}", policy.name),
        Err(lacking) => {
            eprintln!("skipped: {lacking}");
            None
        }
    }
}
