//! What `tinygram run` loads into a program: thin hooks over a pure hold-and-flush policy.
//!
//! The road of a small write: the program calls `write`; [the hook](hooks) asks the
//! [keeper](keeper) what to do; the keeper asks the [policy], which decides from what it remembers of
//! the socket; held bytes go to the kernel with `MSG_MORE`, and leave when the writing thread is
//! about to wait, by one `setsockopt(TCP_NODELAY)`. A [watchdog] bounds the hold.
//!
//! Rules of this crate: no allocation, no lock and no panic in a hook; no state across the program's
//! own call except in atomics, since a signal handler may interrupt it, `longjmp` out of it, or a
//! cancellation unwind through it.

#![cfg_attr(
    not(interpose),
    allow(
        dead_code,
        reason = "without the C library's names nobody calls the hooks"
    )
)]

pub mod live;
pub mod page;
pub mod traces;

pub mod settings;

mod clock;
mod contention;
mod elf;
mod errno;
mod escape;
mod flight;
mod flush;
mod hooks;
mod keeper;
mod kernel;
mod ledger;
mod load;
mod next;
mod observe;
mod orders;
mod reach;
mod sockets;
mod table;
mod thread;
mod watchdog;
