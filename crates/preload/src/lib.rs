//! The library that `tinygram run` loads into a program: thin hooks over a pure hold-and-flush
//! policy.
//!
//! The path of a small write: the program calls `write`; [the hook](hooks) asks the
//! [keeper](keeper) what to do; the keeper asks the [policy], which decides from what it remembers
//! of the socket. Held bytes go to the kernel with `MSG_MORE`. They leave when the writing thread
//! is about to wait, by one `setsockopt(TCP_NODELAY)`. A [watchdog] bounds the hold.
//!
//! Rules of this crate: a hook never allocates, locks or panics. No state is kept across the
//! program's own call except in atomics, because a signal handler may interrupt it, `longjmp` may
//! leave it, or a cancellation may unwind through it.

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

// The library itself runs on one platform only; elsewhere the crate has what the command shares
// with it.
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod alarm;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod clock;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod contention;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod elf;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod errno;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod escape;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod flight;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod flush;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod holding;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod hooks;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod keeper;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod kernel;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod ledger;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod load;
mod measure;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod next;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod observe;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod orders;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod reach;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod rounds;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod sockets;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod table;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod thread;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod watchdog;
