//! Decides when the bytes that a thread holds must leave: before it waits, and around its reads.

use crate::{Policy, Rules};

/// What the calling thread holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Nothing, so there is nothing to decide.
    Nothing,
    /// The oldest held byte was written this long ago.
    For {
        /// Nanoseconds.
        age_ns: u64,
    },
}

/// A call that may wait for events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It reports events and returns at once (a poll with timeout 0): its caller spins, or goes on
    /// with other work. When it finds nothing, a program that sleeps would have slept.
    Never,
    /// It reports events, and can first be called without waiting (poll, select, epoll).
    Peekable,
    /// It sleeps: a condition variable, a child, a clock, a blocking connect.
    Blind,
}

/// What to do before a [`Wait`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeforeWait {
    /// Make the call as the program asked.
    Go,
    /// Call with timeout 0 first; flush only if nothing is ready. ([`Wait::Never`] is itself such a
    /// call.)
    Peek,
    /// Flush, then call.
    Flush,
}

/// Decides what to do before a call that may wait.
///
/// The wait of an event loop under load returns at once, because the next event is already there. A
/// flush before each such call would send every answer alone, so young bytes stay held during a
/// call that finds work.
#[must_use]
pub fn before_wait(rules: &Rules, held: Held, wait: Wait) -> BeforeWait {
    match (held, wait) {
        (Held::Nothing, _) => BeforeWait::Go,
        (Held::For { age_ns }, Wait::Peekable | Wait::Never)
            if age_ns < PEEK_NS && rules.policy != Policy::CorkUntilBlock =>
        {
            BeforeWait::Peek
        }
        (Held::For { .. }, _) => BeforeWait::Flush,
    }
}

/// A read on a TCP socket.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// Whether the descriptor is known to be non-blocking (or the call has `MSG_DONTWAIT`).
    pub nonblocking: bool,
    /// Whether a first try with `MSG_DONTWAIT` could return less than this call would
    /// (`MSG_WAITALL`, `SO_RCVLOWAT`).
    pub all_or_nothing: bool,
}

/// What to do before a [`Read`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeforeRead {
    /// Read as the program asked.
    Go,
    /// Read with `MSG_DONTWAIT`; if nothing is there, flush and read as the program asked.
    Try,
    /// Flush, then read as the program asked.
    Flush,
}

/// Decides what to do before a read on a TCP socket by a thread that holds bytes.
///
/// A read that finds data does not wait, so requests that came together are answered together.
#[must_use]
pub fn before_read(rules: &Rules, read: Read) -> BeforeRead {
    if read.nonblocking {
        BeforeRead::Go
    } else if read.all_or_nothing || rules.policy == Policy::CorkUntilBlock {
        BeforeRead::Flush
    } else {
        BeforeRead::Try
    }
}

/// The result of a read that did not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// `EAGAIN`: a blocking program would have waited here.
    Nothing,
    /// Data (or its end, or an error): the program goes on.
    Something,
}

/// What to do after a read that did not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterRead {
    /// Nothing.
    Go,
    /// Flush.
    Flush,
}

/// Decides what to do after a read that did not wait; `age_ns` is called only where the age matters.
///
/// A thread that turns to other work must not keep its peer waiting for long, so bytes older than
/// 100 us leave. This is decided after the read and not before it, because most reads find nothing
/// and need no clock.
#[must_use]
pub fn after_read(found: Found, age_ns: impl FnOnce() -> u64) -> AfterRead {
    match found {
        Found::Nothing => AfterRead::Flush,
        Found::Something if age_ns() >= READ_PATIENCE_NS => AfterRead::Flush,
        Found::Something => AfterRead::Go,
    }
}

/// Bytes younger than this stay held when a poll finds work. In the prototype 100 and 500 us made
/// no difference.
const PEEK_NS: u64 = 200_000;
/// Bytes older than this leave with the next read, even one that finds data.
const READ_PATIENCE_NS: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    const YOUNG: Held = Held::For { age_ns: 10_000 };
    const OLD: Held = Held::For { age_ns: 600_000 };
    const BLOCKING: Read = Read {
        nonblocking: false,
        all_or_nothing: false,
    };

    #[test]
    fn a_clean_thread_is_never_disturbed() {
        let rules = Rules::default();
        for wait in [Wait::Never, Wait::Peekable, Wait::Blind] {
            assert_eq!(before_wait(&rules, Held::Nothing, wait), BeforeWait::Go);
        }
    }

    #[test]
    fn an_event_loop_peeks_while_the_bytes_are_young() {
        let rules = Rules::default();
        assert_eq!(before_wait(&rules, YOUNG, Wait::Peekable), BeforeWait::Peek);
        assert_eq!(before_wait(&rules, OLD, Wait::Peekable), BeforeWait::Flush);
        assert_eq!(before_wait(&rules, YOUNG, Wait::Never), BeforeWait::Peek);
        assert_eq!(before_wait(&rules, OLD, Wait::Never), BeforeWait::Flush);
        assert_eq!(before_wait(&rules, YOUNG, Wait::Blind), BeforeWait::Flush);
    }

    #[test]
    fn a_read_is_tried_before_it_may_wait() {
        let rules = Rules::default();
        let nonblocking = Read {
            nonblocking: true,
            ..BLOCKING
        };
        let whole = Read {
            all_or_nothing: true,
            ..BLOCKING
        };
        assert_eq!(before_read(&rules, BLOCKING), BeforeRead::Try);
        assert_eq!(before_read(&rules, nonblocking), BeforeRead::Go);
        assert_eq!(before_read(&rules, whole), BeforeRead::Flush);
    }

    #[test]
    fn an_empty_read_flushes_and_a_full_one_only_what_is_old() {
        let never = || -> u64 { panic!("an empty read needs no clock") };
        assert_eq!(after_read(Found::Nothing, never), AfterRead::Flush);
        assert_eq!(after_read(Found::Something, || 99_999), AfterRead::Go);
        assert_eq!(after_read(Found::Something, || 100_000), AfterRead::Flush);
    }

    #[test]
    fn the_naive_rule_neither_peeks_nor_tries() {
        let rules = Rules {
            policy: Policy::CorkUntilBlock,
            ..Rules::default()
        };
        assert_eq!(
            before_wait(&rules, YOUNG, Wait::Peekable),
            BeforeWait::Flush
        );
        assert_eq!(before_read(&rules, BLOCKING), BeforeRead::Flush);
    }
}
