//! Tells whether a thread that ran late was slow itself or had no processor.

use std::collections::HashMap;
use std::fs;

/// The scheduler's figures for threads, as they were last seen.
#[derive(Debug, Default)]
pub(crate) struct Contention(HashMap<u32, Account>);

#[derive(Clone, Copy, Debug, Default)]
struct Account {
    ran_ns: u64,
    waited_ns: u64,
}

impl Contention {
    /// Returns whether the thread spent more than a tenth of its time since the last question waiting
    /// for a processor; false if the kernel does not say.
    pub(crate) fn of(&mut self, pid: u32, tid: u32) -> bool {
        let Some(now) = account(pid, tid) else {
            return false;
        };
        // The numbers come from memory that the program can write, so there may be any number of them.
        if self.0.len() >= MOST_THREADS {
            self.0.clear();
        }
        let last = self.0.insert(tid, now).unwrap_or_default();
        let waited = now.waited_ns.saturating_sub(last.waited_ns);
        let ran = now.ran_ns.saturating_sub(last.ran_ns);
        waited > (waited + ran) / 10
    }
}

/// More threads than a process can hold octets in ([`crate::layout::THREADS`]).
const MOST_THREADS: usize = 4096;

fn account(pid: u32, tid: u32) -> Option<Account> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
    let mut numbers = text.split_ascii_whitespace();
    let mut number = || numbers.next()?.parse().ok();
    Some(Account {
        ran_ns: number()?,
        waited_ns: number()?,
    })
}
