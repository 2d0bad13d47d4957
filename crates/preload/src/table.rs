//! What is known about each descriptor, indexed by its number.
//!
//! There are two tables. *Identity* is what a descriptor is and how the program set it; it stays
//! true in a forked child. *Holding* is what the kernel holds back on it for the library, and who
//! watches it; it is not true in a child, where the kernel wipes these pages (`MADV_WIPEONFORK`)
//! however the fork was made.
//!
//! The tables grow with the highest descriptor, because a program may lock all its memory
//! (`mlockall`) within a few megabytes, or be allowed a billion descriptors. Forgetting an entry is
//! always safe: what is unknown is asked of the kernel at the next use.

use std::sync::atomic::{
    AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst,
};

use libc::c_int;

use crate::holding::Holding;
use tinygram_coalesce::Habit;

/// What a descriptor is: bits above a kind. Always copied whole, never compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity(u64);

/// The kind of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Unknown,
    /// TCP over IPv4 or IPv6: the only kind on which anything is held.
    Tcp,
    /// Something whose read may wait: a pipe, a terminal, or another kind of socket.
    Waits,
    /// A file: reading it needs no flush.
    File,
}

impl Identity {
    const KIND: u64 = 0b11;
    /// Whether `O_NONBLOCK` is set, as far as this process knows.
    pub(crate) const NONBLOCKING: u64 = 1 << 2;
    /// Whether another descriptor leads to the same socket, so that `NONBLOCKING` may be outdated.
    pub(crate) const ALIASED: u64 = 1 << 3;
    /// Whether the program set `TCP_NODELAY`, which `getsockopt` must report.
    pub(crate) const PROGRAM_NODELAY: u64 = 1 << 4;
    /// Whether the socket is left alone, because the program coalesces itself (cork, `MSG_MORE`),
    /// or written bytes are not the bytes sent (kernel TLS, repair mode).
    pub(crate) const ALONE: u64 = 1 << 5;
    /// Whether a stdio stream writes here from inside the C library, where no hook sees it.
    pub(crate) const STREAM: u64 = 1 << 6;
    /// Whether `SO_RCVLOWAT` was changed, so that trying a read first could return too little.
    pub(crate) const ALL_OR_NOTHING: u64 = 1 << 7;
    /// Whether `TCP_NODELAY` is set in the kernel.
    pub(crate) const NODELAY_SET: u64 = 1 << 8;
    /// Whether it was decided if `--only` covers the connection, and in which row it is counted.
    pub(crate) const BOOKED: u64 = 1 << 9;
    /// Whether the connection was accepted instead of opened.
    pub(crate) const ACCEPTED: u64 = 1 << 10;
    /// Whether it is a duplicate, so that another descriptor settles the connection's account.
    pub(crate) const COPY: u64 = 1 << 11;
    /// Whether the socket carries a mark that says who set its `TCP_NODELAY`, see
    /// [`crate::sockets::sign`].
    pub(crate) const SIGNED: u64 = 1 << 12;
    /// The bits with the number of the service's [`Habit`].
    const HABIT: u64 = (HABITS_KEPT - 1) << Self::HABIT_SHIFT;
    const HABIT_SHIFT: u32 = 16;
    const ROW_SHIFT: u32 = 32;

    pub(crate) fn new(kind: Kind) -> Self {
        Self(kind as u64)
    }

    #[inline(always)]
    pub(crate) fn kind(self) -> Kind {
        match self.0 & Self::KIND {
            1 => Kind::Tcp,
            2 => Kind::Waits,
            3 => Kind::File,
            _ => Kind::Unknown,
        }
    }

    #[inline(always)]
    pub(crate) fn has(self, bit: u64) -> bool {
        self.0 & bit != 0
    }

    /// Returns the identity that a connection accepted on this listener inherits.
    pub(crate) fn inherited_by_accepted(listener: Self) -> Self {
        Self(
            listener.0
                & (Self::KIND
                    | Self::PROGRAM_NODELAY
                    | Self::ALONE
                    | Self::ALL_OR_NOTHING
                    | Self::NODELAY_SET
                    | Self::SIGNED
                    | Self::HABIT),
        )
    }

    /// Returns the identity with the service on `port`, for accepted or for opened connections. All
    /// connections without a known port share one habit, and so do services with the same number.
    #[must_use]
    pub(crate) fn with_service(self, port: u16, accepted: bool) -> Self {
        let service = u64::from(port) << 1 | u64::from(accepted);
        let number = 1 + service % (HABITS_KEPT - 1);
        Self(self.0 & !Self::HABIT | number << Self::HABIT_SHIFT)
    }

    /// Returns the number of the service's [`Habit`], below [`HABITS_KEPT`].
    #[inline(always)]
    pub(crate) fn habit_number(self) -> usize {
        ((self.0 & Self::HABIT) >> Self::HABIT_SHIFT) as usize
    }

    /// Returns all of `bits` at once, for one comparison on the fast path.
    #[inline(always)]
    pub(crate) fn masked(self, bits: u64) -> u64 {
        self.0 & bits
    }

    #[must_use]
    pub(crate) fn with(self, bit: u64, on: bool) -> Self {
        Self(if on { self.0 | bit } else { self.0 & !bit })
    }

    /// Returns the statistics row, if the connection has one.
    pub(crate) fn row(self) -> Option<usize> {
        ((self.0 >> Self::ROW_SHIFT) as usize).checked_sub(1)
    }

    #[must_use]
    pub(crate) fn with_row(self, row: Option<usize>) -> Self {
        let number = row.map_or(0, |index| index as u64 + 1);
        Self(self.0 & (u64::MAX >> Self::ROW_SHIFT) | number << Self::ROW_SHIFT)
    }
}

/// The tables, in parts of [`PART`] descriptors: null until one of them is known. A mapped part is
/// never unmapped.
static PARTS: [AtomicPtr<Part>; PARTS_KEPT] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; PARTS_KEPT];
static HABITS: AtomicPtr<AtomicU32> = AtomicPtr::new(std::ptr::null_mut());
/// The number of descriptors for which the tables have room: 0 before [`reserve`], or if it failed.
static LIMIT: AtomicUsize = AtomicUsize::new(0);
/// One more than the highest descriptor that was ever TCP: no search needs to go further.
static HIGHEST: AtomicUsize = AtomicUsize::new(0);

/// The tables for a range of descriptors, as mapped: a forked child keeps the identities, and the
/// rest is wiped there.
#[repr(C)]
struct Part {
    identities: [AtomicU64; PART],
    holdings: [Holding; PART],
    dirty: [AtomicU64; PART / 64],
}

/// Prepares the tables. Without it every descriptor stays unknown and every call passes through.
pub(crate) fn reserve() {
    let bytes = HABITS_KEPT as usize * size_of::<AtomicU32>();
    if let Some(habits) = map(bytes, InChild::Shared) {
        HABITS.store(habits.cast(), Relaxed);
        LIMIT.store(DESCRIPTORS, Relaxed);
    }
}

/// Closes the tables: from now on every descriptor is unknown and every call passes through.
pub(crate) fn close() {
    LIMIT.store(0, Relaxed);
}

/// Returns whether anything can be known: false after [`close`].
pub(crate) fn is_open() -> bool {
    LIMIT.load(Relaxed) != 0
}

/// Returns the part for `fd`, if it exists; `None` for a negative descriptor, which is a huge
/// index.
#[inline(always)]
fn part(fd: c_int) -> Option<&'static Part> {
    let index = fd as usize;
    if index >= LIMIT.load(Relaxed) {
        return None;
    }
    // SAFETY: null or a mapping of a part, which is never unmapped.
    unsafe { PARTS.get(index / PART)?.load(Relaxed).as_ref() }
}

/// Returns the part for `fd`, made if need be; `None` if there is no memory: then no further
/// descriptor has room.
fn made_part(fd: c_int) -> Option<&'static Part> {
    if let Some(known) = part(fd) {
        return Some(known);
    }
    let index = fd as usize;
    if index >= LIMIT.load(Relaxed) {
        return None;
    }
    let place = PARTS.get(index / PART)?;
    let Some(fresh) = map(size_of::<Part>(), InChild::WipedAfter(IDENTITY_BYTES)) else {
        LIMIT.fetch_min(index / PART * PART, Relaxed);
        return None;
    };
    let fresh = fresh.cast::<Part>();
    // Another thread may have been faster.
    match place.compare_exchange(std::ptr::null_mut(), fresh, SeqCst, SeqCst) {
        // SAFETY: all zeroes is a valid part.
        Ok(_) => Some(unsafe { &*fresh }),
        Err(other) => {
            // SAFETY: nobody has seen this thread's part; the other thread's is never unmapped.
            unsafe {
                libc::munmap(fresh.cast(), size_of::<Part>());
                Some(&*other)
            }
        }
    }
}

/// The contents of a mapping in a forked child.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum InChild {
    /// Zeroes.
    Wiped,
    /// The parent's contents in the first bytes (this many, whole pages), and zeroes after them.
    WipedAfter(usize),
    /// The same memory: what one process writes the other reads.
    Shared,
}

/// Maps anonymous memory of zeroes.
pub(crate) fn map(bytes: usize, in_child: InChild) -> Option<*mut libc::c_void> {
    // SAFETY: a fresh mapping, and advice on it.
    unsafe {
        let sharing = match in_child {
            InChild::Shared => libc::MAP_SHARED,
            InChild::Wiped | InChild::WipedAfter(_) => libc::MAP_PRIVATE,
        };
        let flags = sharing | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let pages = libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            flags,
            -1,
            0,
        );
        if pages == libc::MAP_FAILED {
            return None;
        }
        let kept = match in_child {
            InChild::Shared => bytes,
            InChild::Wiped => 0,
            InChild::WipedAfter(kept) => kept,
        };
        let wiped = bytes - kept;
        if wiped > 0 && libc::madvise(pages.add(kept), wiped, libc::MADV_WIPEONFORK) != 0 {
            libc::munmap(pages, bytes);
            return None;
        }
        Some(pages)
    }
}

#[inline(always)]
fn cell(fd: c_int) -> Option<&'static AtomicU64> {
    Some(&part(fd)?.identities[fd as usize % PART])
}

/// Returns what is known of `fd`; unknown also if there is no room.
#[inline(always)]
pub(crate) fn identity(fd: c_int) -> Identity {
    cell(fd).map_or(Identity(0), |cell| Identity(cell.load(Relaxed)))
}

/// Returns whether a write on `fd` may be held, as far as is known.
#[inline(always)]
pub(crate) fn may_hold(fd: c_int) -> bool {
    matches!(identity(fd).kind(), Kind::Tcp | Kind::Unknown) && has_room_for(fd)
}

/// Returns whether anything can be known of `fd`.
#[inline(always)]
pub(crate) fn has_room_for(fd: c_int) -> bool {
    (fd as usize) < LIMIT.load(Relaxed)
}

/// Sets what is known of `fd`.
pub(crate) fn know(fd: c_int, identity: Identity) {
    if let Some(part) = made_part(fd).filter(|_| !borrowed()) {
        part.identities[fd as usize % PART].store(identity.0, Relaxed);
        if identity.kind() == Kind::Tcp {
            HIGHEST.fetch_max(fd as usize + 1, Relaxed);
        }
    }
}

/// Sets or clears one bit of a known descriptor.
pub(crate) fn amend(fd: c_int, bit: u64, on: bool) {
    if let Some(cell) = cell(fd).filter(|_| !borrowed()) {
        if on {
            cell.fetch_or(bit, Relaxed);
        } else {
            cell.fetch_and(!bit, Relaxed);
        }
    }
}

/// Forgets a descriptor that is about to lead elsewhere. What was held on it must have been
/// flushed.
pub(crate) fn forget(fd: c_int) {
    let known = identity(fd);
    if known == Identity(0) || borrowed() {
        return;
    }
    know(fd, Identity(0));
    if let Some(holding) = holding(fd) {
        holding.forget();
    }
}

/// Returns the descriptors worth checking: those up to the highest that was ever TCP.
pub(crate) fn in_use() -> std::ops::Range<c_int> {
    0..HIGHEST.load(Relaxed) as c_int
}

/// Returns what is held on `fd`.
#[inline(always)]
pub(crate) fn holding(fd: c_int) -> Option<&'static Holding> {
    Some(&part(fd)?.holdings[fd as usize % PART])
}

/// Returns the habit of this connection's service. It is shared with forked children: servers that
/// fork per connection would otherwise learn nothing.
#[inline(always)]
pub(crate) fn habit(identity: Identity) -> Habit {
    habit_cell(identity).map_or(Habit::default(), |cell| Habit::unpack(cell.load(Relaxed)))
}

/// Updates the habit of a connection's service.
#[inline(always)]
pub(crate) fn teach(identity: Identity, lesson: impl FnOnce(Habit) -> Habit) {
    if let Some(cell) = habit_cell(identity) {
        let known = cell.load(Relaxed);
        let learned = lesson(Habit::unpack(known)).pack();
        if learned != known {
            cell.store(learned, Relaxed);
        }
    }
}

#[inline(always)]
fn habit_cell(identity: Identity) -> Option<&'static AtomicU32> {
    let habits = HABITS.load(Relaxed);
    // SAFETY: a mapping that is never unmapped, with a cell for every number.
    (!habits.is_null()).then(|| unsafe { &*habits.add(identity.habit_number()) })
}

/// Adds `fd` to the watchdog's list. Its `since_ns` must have been set by a locked instruction
/// before, so that either this thread sees the bit or the watchdog sees the time.
#[inline(always)]
pub(crate) fn watch(fd: c_int) {
    if let Some(part) = part(fd) {
        let (word, bit) = part.dirty_bit(fd);
        if word.load(Relaxed) & bit == 0 {
            word.fetch_or(bit, Relaxed);
        }
    }
}

/// Calls `look` for each watched descriptor that is marked, and removes the others. Returns whether
/// any was removed, or `look` returned true for one: that is, whether something was held since the
/// last sweep.
///
/// A hook leaves the bit of a busy socket set; only this sweep clears it, now and then.
pub(crate) fn sweep(mut look: impl FnMut(c_int) -> bool) -> bool {
    let mut any = false;
    let highest = HIGHEST.load(Relaxed);
    for first in (0..highest).step_by(PART) {
        if let Some(part) = part(first as c_int) {
            let words = (highest - first).div_ceil(64).min(PART / 64);
            for (index, word) in part.dirty.iter().take(words).enumerate() {
                any |= sweep_word(word, first + index * 64, &mut look);
            }
        }
    }
    any
}

/// Does the same for the descriptors from `first` on whose bits are in `word`.
#[inline(always)]
fn sweep_word(word: &AtomicU64, first: usize, look: &mut impl FnMut(c_int) -> bool) -> bool {
    let mut bits = word.load(Relaxed);
    let mut any = false;
    while bits != 0 {
        let number = bits.trailing_zeros();
        let fd = first as c_int + number as c_int;
        bits &= bits - 1;
        if is_held(fd) {
            any |= look(fd);
            continue;
        }
        any = true;
        word.fetch_and(!(1 << number), SeqCst);
        if is_held(fd) {
            word.fetch_or(1 << number, Relaxed);
            look(fd);
        }
    }
    any
}

fn is_held(fd: c_int) -> bool {
    holding(fd).is_some_and(|h| h.mark_now() != 0)
}

impl Part {
    #[inline(always)]
    fn dirty_bit(&self, fd: c_int) -> (&AtomicU64, u64) {
        let index = fd as usize % PART;
        (&self.dirty[index / 64], 1 << (index % 64))
    }
}

/// Returns whether the caller is a `vfork`ed child: what it does to its descriptors must not be
/// recorded, because the memory is its parent's.
fn borrowed() -> bool {
    crate::thread::this().is_borrowed()
}

/// The number of services' habits that are kept apart; a power of two.
pub(crate) const HABITS_KEPT: u64 = 64;
/// The number of descriptors in a part of the tables: 82 KB.
const PART: usize = 1024;
/// Four times the kernel's own default ceiling for `RLIMIT_NOFILE`. Calls on a higher descriptor
/// pass through.
const DESCRIPTORS: usize = 1 << 22;
const PARTS_KEPT: usize = DESCRIPTORS / PART;
/// Whole pages: what follows them is wiped in a forked child.
const IDENTITY_BYTES: usize = PART * size_of::<AtomicU64>();
const _: () = assert!(IDENTITY_BYTES.is_multiple_of(4096));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_keeps_its_kind_its_bits_and_its_row() {
        let identity = Identity::new(Kind::Tcp)
            .with(Identity::NONBLOCKING, true)
            .with(Identity::ALIASED, true)
            .with_row(Some(1023))
            .with(Identity::ALIASED, false);
        assert_eq!(identity.kind(), Kind::Tcp);
        assert!(identity.has(Identity::NONBLOCKING) && !identity.has(Identity::ALIASED));
        assert_eq!(identity.row(), Some(1023));
        assert_eq!(identity.with_row(None).row(), None);
        assert_eq!(identity.with_service(443, true).row(), Some(1023));
        for kind in [Kind::Unknown, Kind::Tcp, Kind::Waits, Kind::File] {
            assert_eq!(Identity::new(kind).with(Identity::ALONE, true).kind(), kind);
        }
    }
}
