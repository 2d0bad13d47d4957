//! Tells whether a thread that ran late was slow itself or had no CPU.

use libc::c_int;

use crate::kernel;

/// The scheduler's figures for a thread.
#[derive(Clone, Copy, Default)]
struct Account {
    ran_ns: u64,
    waited_ns: u64,
}

/// The figures last seen, of one thread: in most programs only one writes.
#[derive(Default)]
pub(crate) struct Contention {
    thread: u32,
    last: Account,
}

impl Contention {
    /// Returns whether `thread` (a kernel thread id) spent more than a tenth of its time since the
    /// last call waiting for a CPU; false if the kernel does not say.
    pub(crate) fn of(&mut self, thread: u32) -> bool {
        let Some(now) = account(thread) else {
            return false;
        };
        let last = if thread == self.thread {
            self.last
        } else {
            Account::default()
        };
        (self.thread, self.last) = (thread, now);
        let waited = now.waited_ns.saturating_sub(last.waited_ns);
        let ran = now.ran_ns.saturating_sub(last.ran_ns);
        waited > (waited + ran) / 10
    }
}

/// Returns the first two numbers of `/proc/self/task/THREAD/schedstat`.
fn account(thread: u32) -> Option<Account> {
    let mut path = *b"/proc/self/task/0000000000/schedstat\0";
    let mut rest = thread;
    for digit in path[DIGITS].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    // The kernel accepts no leading zeroes: move the number over them.
    let zeroes = path[DIGITS]
        .iter()
        .take_while(|digit| **digit == b'0')
        .count();
    path.copy_within(DIGITS.start + zeroes.., DIGITS.start);
    let mut text = [0_u8; 64];
    let length = contents(&path, &mut text)?;
    let mut numbers = std::str::from_utf8(text.get(..length)?)
        .ok()?
        .split_ascii_whitespace();
    let mut number = || numbers.next()?.parse().ok();
    Some(Account {
        ran_ns: number()?,
        waited_ns: number()?,
    })
}

/// Reads the file at `path` (which ends in NUL) into `text`, as far as there is room; returns how
/// much was read.
pub(crate) fn contents(path: &[u8], text: &mut [u8]) -> Option<usize> {
    // SAFETY: the path ends in NUL; at most the buffer's length is read.
    unsafe {
        let fd: c_int = libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return None;
        }
        let length = kernel::read(fd, text.as_mut_ptr().cast(), text.len());
        kernel::close(fd);
        usize::try_from(length).ok()
    }
}

/// The place of the thread's number in the path.
const DIGITS: std::ops::Range<usize> = 16..26;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheduler_tells_of_this_thread_and_of_no_other_process() {
        // SAFETY: no argument, cannot fail.
        let me = unsafe { libc::gettid() } as u32;
        let Some(before) = account(me) else {
            eprintln!("skipped: this kernel keeps no scheduler accounts");
            return;
        };
        let mut sum = 0_u64;
        for round in 0..20_000_000_u64 {
            sum = std::hint::black_box(sum ^ round);
        }
        assert!(account(me).unwrap().ran_ns > before.ran_ns);
        assert!(account(1_234_567_890).is_none());
    }
}
