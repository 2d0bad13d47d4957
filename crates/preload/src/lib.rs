//! The library that `tinygram run` loads into a program: thin hooks over a pure hold-and-flush
//! policy.
//!
//! The path of a small write: the program calls `write`; the hook (`hooks`) asks the
//! keeper (`keeper`) what to do; the keeper asks the policy, which decides from what it remembers
//! of the socket. Held bytes go to the kernel with `MSG_MORE`. They leave when the writing thread
//! is about to wait, by one `setsockopt(TCP_NODELAY)`. A watchdog bounds the hold.
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

// The library itself runs on x86_64 with glibc or musl; elsewhere the crate has what the command shares
// with it.
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod alarm;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod clock;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod contention;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod elf;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod ending;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod errno;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod escape;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod flight;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod flush;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod holding;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod hooks;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod keeper;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod kernel;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod ledger;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod load;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod measure;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod next;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod observe;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod orders;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod reach;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod rounds;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod sockets;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod table;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod thread;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod watchdog;
