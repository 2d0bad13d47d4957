//! The shared memory, as the command sees it.

use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::{Duration, Instant};

use tinygram_coalesce::{Only, Policy, Rules};

use crate::layout::{Cause, Counts, Filter, MAGIC, Shared};

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

    /// Sets everything up for a process, which has `own_number` in its own namespace, and last what
    /// says that everything is set.
    pub fn set_up(&self, settings: &Settings, pid: u32, own_number: u32) {
        let rules = &settings.rules;
        self.policy.store(rules.policy as u32, Relaxed);
        self.hold_below.store(rules.hold_below as u64, Relaxed);
        self.watchdog_ns.store(rules.watchdog_ns, Relaxed);
        self.eager.store(u32::from(rules.eager), Relaxed);
        self.ns_per_2_32_ticks.store(ns_per_2_32_ticks(), Relaxed);
        self.pid.store(own_number, Relaxed);
        self.apart.store(u32::from(settings.apart), Relaxed);
        for (place, only) in self.filters.iter().zip(&settings.only) {
            let (kind, number, bits) = match *only {
                Only::Port(port) => (Filter::PORT, port.into(), 0),
                Only::Net { bits, prefix } => (Filter::NET, prefix.into(), bits),
            };
            place.number.store(number, Relaxed);
            place.bits[0].store((bits >> 64) as u64, Relaxed);
            place.bits[1].store(bits as u64, Relaxed);
            place.kind.store(kind, Relaxed);
        }
        for port in listening(pid) {
            let word = &self.listening[usize::from(port) / 64];
            word.fetch_or(1 << (port % 64), Relaxed);
        }
        self.magic.store(MAGIC, SeqCst);
    }
}

/// What is to be put in force in a program.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// What to hold and how long.
    pub rules: Rules,
    /// The connections to touch, up to [`crate::layout::FILTERS`]; if none is named, all.
    pub only: Vec<Only>,
    /// Whether to count remote addresses apart.
    pub apart: bool,
}

/// What can be read of a program from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The policy in force.
    pub policy: Policy,
    /// Whether everything passes through for good.
    pub is_inert: bool,
    /// Writes that were held.
    pub held: u64,
    /// Writes that joined held octets.
    pub merged: u64,
    /// Rescues by the watchdog.
    pub rescued: u64,
    /// Connections that went over to `TCP_NODELAY`.
    pub went_over: u64,
}

/// Returns where the shared memory is in a process, by its `/proc/PID/maps`.
#[must_use]
pub fn address_in(maps: &str) -> Option<u64> {
    let is_ours = |line: &&str| line.contains(NAME) && line.split(' ').nth(1) == Some("rw-s");
    let line = maps.lines().rfind(is_ours)?;
    u64::from_str_radix(line.split('-').next()?, 16).ok()
}

/// Reads what the memory at `address` of a process shows; `None` if it is not ours, or of another
/// version.
///
/// # Errors
/// The kernel's.
pub fn look(memory: &File, address: u64) -> io::Result<Option<Shown>> {
    let word = |at: usize| {
        let mut octets = [0; 8];
        memory.read_exact_at(&mut octets, address + at as u64)?;
        Ok::<_, io::Error>(u64::from_ne_bytes(octets))
    };
    if word(offset_of!(Shared, magic))? != MAGIC {
        return Ok(None);
    }
    let count = |at: usize| word(offset_of!(Shared, counts) + at);
    let policy = (word(offset_of!(Shared, policy))? & 0xffff_ffff) as u32;
    let known = Policy::ALL.iter().map(|(known, ..)| *known);
    Ok(Some(Shown {
        policy: known
            .into_iter()
            .find(|known| *known as u32 == policy)
            .unwrap_or_default(),
        is_inert: word(offset_of!(Shared, inert))? & 0xffff_ffff != 0,
        held: count(offset_of!(Counts, held))?,
        merged: count(offset_of!(Counts, merged))?,
        rescued: count(offset_of!(Counts, flushes) + 8 * Cause::Watchdog as usize)?,
        went_over: count(offset_of!(Counts, went_over))?,
    }))
}

/// Puts a policy in force in the process whose shared memory is at `address`.
///
/// # Errors
/// The kernel's.
pub fn switch(memory: &File, address: u64, policy: Policy) -> io::Result<()> {
    let at = address + offset_of!(Shared, policy) as u64;
    memory.write_all_at(&(policy as u32).to_ne_bytes(), at)
}

/// What `/proc/PID/maps` calls the memory.
const NAME: &str = "/memfd:tngraft";

/// Returns the TCP ports that somebody listens on in the network namespace of a process.
fn listening(pid: u32) -> Vec<u16> {
    let mut ports = Vec::new();
    for name in ["tcp", "tcp6"] {
        let text = std::fs::read_to_string(format!("/proc/{pid}/net/{name}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let mut words = line.split_ascii_whitespace();
            let (local, state) = (words.nth(1), words.nth(1));
            let port = local.and_then(|local| local.rsplit(':').next());
            let port = port.and_then(|port| u16::from_str_radix(port, 16).ok());
            if let (Some(port), Some(LISTEN)) = (port, state) {
                ports.push(port);
            }
        }
    }
    ports
}

/// `TCP_LISTEN`, as `/proc/net/tcp` shows it.
const LISTEN: &str = "0A";

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
