//! The shared memory, as the command sees it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::{Duration, Instant};

use tinygram_coalesce::Rules;

use crate::layout::{MAGIC, Shared};

/// A mapping of [`Shared`], which is unmapped when it is dropped.
#[derive(Debug)]
pub struct Mapping(NonNull<Shared>);

// SAFETY: the memory consists of atomic integers.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the file, which is as long as [`Shared`].
    ///
    /// # Errors
    /// The kernel's.
    pub fn of(file: &File) -> io::Result<Self> {
        if file.metadata()?.len() < size_of::<Shared>() as u64 {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        // SAFETY: a new mapping of a file that is long enough.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size_of::<Shared>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self(
            NonNull::new(address.cast()).expect("mmap returns no null"),
        ))
    }

    /// Sets the rules, and last what says that everything is set.
    pub fn set_up(&self, rules: &Rules) {
        self.policy.store(rules.policy as u32, Relaxed);
        self.hold_below.store(rules.hold_below as u64, Relaxed);
        self.watchdog_ns.store(rules.watchdog_ns, Relaxed);
        self.eager.store(u32::from(rules.eager), Relaxed);
        self.ns_per_2_32_ticks.store(ns_per_2_32_ticks(), Relaxed);
        self.magic.store(MAGIC, SeqCst);
    }
}

impl std::ops::Deref for Mapping {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        // SAFETY: mapped until dropped; any octets are valid.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: our own mapping.
        unsafe { libc::munmap(self.0.as_ptr().cast(), size_of::<Shared>()) };
    }
}

/// Returns the time by the processor's time stamp counter, as the injected code has it.
#[must_use]
pub fn now_ns(shared: &Shared) -> u64 {
    let scaled = u128::from(ticks()) * u128::from(shared.ns_per_2_32_ticks.load(Relaxed));
    (scaled >> 32) as u64
}

/// Measures the counter against the monotonic clock. Two milliseconds tell it to a thousandth, and
/// the bound of a hold needs no more.
#[allow(
    clippy::disallowed_methods,
    reason = "measures a clock of the real world"
)]
fn ns_per_2_32_ticks() -> u64 {
    let (began, first) = (Instant::now(), ticks());
    std::thread::sleep(Duration::from_millis(2));
    let (took, last) = (began.elapsed(), ticks());
    let counted = u128::from(last.wrapping_sub(first).max(1));
    ((took.as_nanos() << 32) / counted) as u64
}

fn ticks() -> u64 {
    // SAFETY: every processor of x86-64 has the instruction.
    unsafe { core::arch::x86_64::_rdtsc() }
}
