//! What is different on each processor: the numbers of system calls, the instruction that makes one, and the clock.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::{call, call_of_go, nr, ticks, trap};

#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::BELOW_64;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{call, call_of_go, nr, ticks, trap};
