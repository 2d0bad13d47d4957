//! Tells whether a thread that ran late was slow itself or had no processor.

use std::collections::HashMap;
use std::fs;

use crate::tracee::number_inside;

/// The scheduler's figures for threads, as they were last seen.
#[derive(Debug, Default)]
pub(crate) struct Contention(HashMap<u32, Account>);

#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// The thread's number in `/proc`, which is another than its own in a PID namespace of its own.
    in_proc: u32,
    ran_ns: u64,
    waited_ns: u64,
}

impl Contention {
    /// Returns whether the thread spent more than a tenth of its time since the last question waiting
    /// for a processor; false if the kernel does not say. `pid` is the process's number in `/proc`, `tid`
    /// the thread's in its own namespace.
    pub(crate) fn of(&mut self, pid: u32, tid: u32) -> bool {
        let known = self.0.get(&tid).map(|account| account.in_proc);
        let Some(now) = account(pid, tid, known) else {
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

fn account(pid: u32, tid: u32, known: Option<u32>) -> Option<Account> {
    let is_it = |in_proc: &u32| number_inside(&format!("{pid}/task/{in_proc}")) == Some(tid);
    let in_proc = known
        .filter(is_it)
        .or_else(|| Some(tid).filter(is_it))
        .or_else(|| tasks(pid).find(is_it))?;
    let text = fs::read_to_string(format!("/proc/{pid}/task/{in_proc}/schedstat")).ok()?;
    let mut numbers = text.split_ascii_whitespace();
    let mut number = || numbers.next()?.parse().ok();
    Some(Account {
        in_proc,
        ran_ns: number()?,
        waited_ns: number()?,
    })
}

/// Returns the numbers of a process's threads in `/proc`.
fn tasks(pid: u32) -> impl Iterator<Item = u32> {
    fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// In a PID namespace of its own, with the host's `/proc`, the program calls its first thread 1.
    #[test]
    fn threads_of_another_namespace_are_found() {
        // SAFETY: no arguments, cannot fail.
        if unsafe { libc::geteuid() } != 0 {
            eprintln!("skipped: it takes root to make a PID namespace");
            return;
        }
        let mut outside = Command::new("unshare")
            .args(["--pid", "--fork", "--kill-child", "cat"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let children = format!("/proc/{0}/task/{0}/children", outside.id());
        let inside: u32 = loop {
            let text = fs::read_to_string(&children).unwrap();
            if let Ok(pid) = text.trim().parse() {
                break pid;
            }
            std::thread::yield_now();
        };
        let found = account(inside, 1, None).map(|account| account.in_proc);
        let again = account(inside, 1, found).map(|account| account.in_proc);
        let nobody = account(inside, 2, None).is_none();
        drop(outside.stdin.take());
        outside.wait().unwrap();
        assert_eq!([found, again], [Some(inside); 2]);
        assert!(nobody);
    }
}
