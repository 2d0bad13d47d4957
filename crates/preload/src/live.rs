//! What can be read, and in one place changed, in a running process from outside: the rules in
//! force and a few counts. The library exports it by name; whoever may read the process's memory
//! (`tinygram ps`, `tinygram run --switch`) finds it there. Nothing is left when the process ends.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};

use tinygram_coalesce::{Policy, Rules};

/// The state in the library's memory.
#[derive(Debug)]
#[repr(C)]
pub struct Live {
    /// [`MAGIC`], once the library has started.
    pub magic: AtomicU64,
    /// The [`Policy`], by its number.
    policy: AtomicU8,
    hold_below: AtomicUsize,
    watchdog_ns: AtomicU64,
    eager: AtomicBool,
    /// Writes that were held. Threads may lose each other's counts.
    pub held: AtomicU64,
    /// Writes that joined bytes already held.
    pub merged: AtomicU64,
    /// Rescues by the watchdog.
    pub rescued: AtomicU64,
    /// Connections that switched to `NODELAY`, because they were rescued too often.
    pub went_over: AtomicU64,
    /// Writes that were to be held and passed, because holding was measured to be worse, or was
    /// being measured.
    pub passed: AtomicU64,
    /// The services, a bit each, whose writes pass because holding was measured to be worse.
    pub services_over: AtomicU64,
}

/// `tinygram` and the number of this layout, which changes with it.
pub const MAGIC: u64 = u64::from_le_bytes(*b"tnygram2");
/// The name under which the library exports it.
pub const SYMBOL: &str = "tinygram_live";
/// The offset of the policy's byte in a [`Live`].
pub const POLICY_AT: usize = std::mem::offset_of!(Live, policy);

#[cfg_attr(interpose, unsafe(export_name = "tinygram_live"))]
#[cfg_attr(interpose, used)]
pub(crate) static LIVE: Live = Live::new();

impl Live {
    const fn new() -> Self {
        Self {
            magic: AtomicU64::new(0),
            policy: AtomicU8::new(0),
            hold_below: AtomicUsize::new(0),
            watchdog_ns: AtomicU64::new(0),
            eager: AtomicBool::new(false),
            held: AtomicU64::new(0),
            merged: AtomicU64::new(0),
            rescued: AtomicU64::new(0),
            went_over: AtomicU64::new(0),
            passed: AtomicU64::new(0),
            services_over: AtomicU64::new(0),
        }
    }

    pub(crate) fn begin(&self, rules: &Rules) {
        self.policy.store(rules.policy as u8, Relaxed);
        self.hold_below.store(rules.hold_below, Relaxed);
        self.watchdog_ns.store(rules.watchdog_ns, Relaxed);
        self.eager.store(rules.eager, Relaxed);
        self.magic.store(MAGIC, Relaxed);
    }

    /// Returns the policy in force.
    #[inline(always)]
    #[must_use]
    pub fn policy(&self) -> Policy {
        const FLUSH_ON_BLOCK: u8 = Policy::FlushOnBlock as u8;
        const CORK_UNTIL_BLOCK: u8 = Policy::CorkUntilBlock as u8;
        const OBSERVE: u8 = Policy::Observe as u8;
        // Read at every write: a search in the list of all policies took thirty instructions.
        match self.policy.load(Relaxed) {
            FLUSH_ON_BLOCK => Policy::FlushOnBlock,
            CORK_UNTIL_BLOCK => Policy::CorkUntilBlock,
            OBSERVE => Policy::Observe,
            _ => Policy::Nodelay,
        }
    }

    /// Returns the rules in force.
    #[inline(always)]
    #[must_use]
    pub fn rules(&self) -> Rules {
        Rules {
            policy: self.policy(),
            hold_below: self.hold_below.load(Relaxed),
            watchdog_ns: self.watchdog_ns.load(Relaxed),
            eager: self.eager.load(Relaxed),
        }
    }
}

/// Adds one. Not a locked instruction: a count that a thread loses matters less than its cost.
#[inline(always)]
pub(crate) fn count(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed) + 1, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_is_read_as_it_was_written() {
        for (policy, ..) in Policy::ALL {
            let live = Live::new();
            live.policy.store(policy as u8, Relaxed);
            assert_eq!(live.policy(), policy);
        }
    }
}
