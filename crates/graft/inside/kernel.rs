//! System calls by number, and the clock.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::layout::Shared;
use crate::machine::{self, call, call_of_go, nr};

pub(crate) const EAGAIN: u64 = 11_u64.wrapping_neg();
pub(crate) const ENOTSOCK: u64 = 88_u64.wrapping_neg();
pub(crate) const MSG_DONTWAIT: u64 = 0x40;
pub(crate) const MSG_NOSIGNAL: u64 = 0x4000;
pub(crate) const MSG_MORE: u64 = 0x8000;
pub(crate) const SOL_SOCKET: u64 = 1;
pub(crate) const SO_PROTOCOL: u64 = 38;
pub(crate) const IPPROTO_TCP: u64 = 6;
pub(crate) const TCP_NODELAY: u64 = 1;
pub(crate) const TCP_CORK: u64 = 3;
pub(crate) const TCP_INFO: u64 = 11;
pub(crate) const TCP_REPAIR: u64 = 19;
pub(crate) const TCP_ULP: u64 = 31;
pub(crate) const F_GETFL: u64 = 3;
pub(crate) const F_SETFL: u64 = 4;
pub(crate) const O_NONBLOCK: u64 = 0o4000;
pub(crate) const SEEK_CUR: u64 = 1;
pub(crate) const PR_SET_SECCOMP: u64 = 22;
pub(crate) const PR_SET_DUMPABLE: u64 = 4;
pub(crate) const FUTEX_WAKE: u64 = 1;

/// Returns the word at an address, if it can be read; without a fault if not.
pub(crate) fn word_at(address: u64) -> Option<u64> {
    let mut word = 0_u64;
    let local = [&raw mut word as u64, 8];
    let remote = [address, 8];
    // SAFETY: asks for a number.
    let own = unsafe { call(nr::GETPID, [0; 6]) };
    let (local_at, remote_at) = (local.as_ptr() as u64, remote.as_ptr() as u64);
    let arguments = [own, local_at, 1, remote_at, 1, 0];
    // SAFETY: the kernel writes at most eight octets to the word.
    let read = unsafe { call(nr::PROCESS_VM_READV, arguments) };
    (read == 8).then_some(word)
}

/// Returns whether a result is an error.
pub(crate) fn failed(result: u64) -> bool {
    result > u64::MAX - 4096
}

/// Returns an integer option of a socket.
pub(crate) fn option(fd: u64, level: u64, name: u64) -> Result<u32, ()> {
    let mut value = 0_u32;
    let mut length = 4_u32;
    let (value_at, length_at) = (&raw mut value as u64, &raw mut length as u64);
    // SAFETY: the kernel writes at most four octets to each.
    let result = unsafe { call(nr::GETSOCKOPT, [fd, level, name, value_at, length_at, 0]) };
    if failed(result) { Err(()) } else { Ok(value) }
}

/// Sets an integer option of a socket.
pub(crate) fn set_option(fd: u64, level: u64, name: u64, value: u32) {
    let value_at = &raw const value as u64;
    // SAFETY: the kernel reads four octets.
    let _ = unsafe { call_of_go(nr::SETSOCKOPT, [fd, level, name, value_at, 4, 0]) };
}

/// Wakes one thread, of any process, that sleeps on `word`; returns how many slept.
pub(crate) fn wake(word: &AtomicU32) -> u64 {
    // SAFETY: the kernel uses the address as a name.
    unsafe { call(nr::FUTEX, [word.as_ptr() as u64, FUTEX_WAKE, 1, 0, 0, 0]) }
}

/// Returns the processor's time stamp counter in nanoseconds; never 0.
pub(crate) fn now_ns(shared: &Shared) -> u64 {
    let scaled = u128::from(machine::ticks()) * u128::from(shared.ns_per_2_32_ticks.load(Relaxed));
    ((scaled >> 32) as u64).max(1)
}
