//! Marks what is held, and sends it.
//!
//! *Held implies marked*: the mark is set before the octets are given to the kernel, and is removed
//! after they have left, by compare-and-swap on a word that counts the writes. So at no instant are
//! there held octets that the watchdog cannot see, wherever a thread loses its processor.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed, Ordering::SeqCst};

use crate::counts::add;
use crate::kernel::{self, IPPROTO_TCP, TCP_NODELAY};
use crate::layout::{Cause, HELD, LEAVING, ONE_WRITE, SOCKETS, Shared, Socket, Thread};
use crate::peers;
use crate::table::socket;
use crate::thread::Caller;

/// Records that octets are about to be held on `fd`.
#[inline(always)]
pub(crate) fn mark(caller: &Caller<'_>, fd: u64, socket: &Socket) {
    let before = socket.mark.load(Relaxed);
    if before & HELD == 0 || before & LEAVING != 0 {
        let now_ns = kernel::now_ns(caller.shared);
        socket.since_ns.store(now_ns, Relaxed);
    }
    // Before the mark, so that the watchdog looks as far as it.
    if fd > caller.shared.highest.load(Relaxed) {
        caller.shared.highest.fetch_max(fd, SeqCst);
    }
    // A locked instruction: either a watchdog that falls asleep sees it, or this thread sees it asleep.
    let _ = socket.mark.fetch_update(SeqCst, SeqCst, |mark| {
        Some((mark & !LEAVING | HELD).wrapping_add(ONE_WRITE))
    });
    socket.tid.store(caller.thread.tid.load(Relaxed), Relaxed);
    remember(caller, fd);
    let (word, bit) = place(fd);
    // SAFETY: `socket` has compared the descriptor with the table's length.
    let bits = unsafe { caller.shared.marked.get_unchecked(word) };
    if bits.load(Relaxed) & bit == 0 {
        bits.fetch_or(bit, SeqCst);
    }
}

/// Enters `fd` into the thread's list; sends the oldest if there is no room.
fn remember(caller: &Caller<'_>, fd: u64) {
    let entry = fd as u32 + 1;
    let mut free = None;
    for place in &caller.thread.held {
        let there = place.load(Relaxed);
        if there == entry {
            return;
        }
        if there == 0 && free.is_none() {
            free = Some(place);
        }
    }
    let place: &AtomicU32 = match free {
        Some(place) => place,
        None => {
            let [first, ..] = &caller.thread.held;
            let oldest = u64::from(first.load(Relaxed)).wrapping_sub(1);
            one(caller.shared, oldest, Cause::Overflow);
            first
        }
    };
    place.store(entry, Relaxed);
}

/// Returns whether the thread holds anything. Marks whose octets have left with a write are removed.
#[inline(always)]
pub(crate) fn holds(caller: &Caller<'_>) -> bool {
    let mut any = false;
    for place in &caller.thread.held {
        let entry = place.load(Relaxed);
        if entry == 0 {
            continue;
        }
        let fd = u64::from(entry) - 1;
        let Some(socket) = socket(caller.shared, fd) else {
            continue;
        };
        let mark = socket.mark.load(Relaxed);
        if mark & LEAVING != 0 {
            // The write that took them along was made by this thread before this call.
            unmark(caller.shared, fd, socket, mark);
            place.store(0, Relaxed);
        } else if mark & HELD == 0 {
            place.store(0, Relaxed);
        } else {
            any = true;
        }
    }
    any
}

/// Sends everything that a thread holds.
pub(crate) fn thread(shared: &Shared, thread: &Thread, cause: Cause) {
    for place in &thread.held {
        let entry = place.load(Relaxed);
        if entry != 0 {
            place.store(0, Relaxed);
            one(shared, u64::from(entry) - 1, cause);
        }
    }
}

/// Sends what is held on `fd`.
pub(crate) fn one(shared: &Shared, fd: u64, cause: Cause) {
    let Some(socket) = socket(shared, fd) else {
        return;
    };
    let mark = socket.mark.load(SeqCst);
    if mark & HELD == 0 {
        return;
    }
    if mark & LEAVING == 0 {
        // This flushes in one call, whatever options the socket has.
        kernel::set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
        count_hold(shared, socket, cause);
    }
    unmark(shared, fd, socket, mark);
}

/// Removes a mark, unless octets were held after `mark` was read.
pub(crate) fn unmark(shared: &Shared, fd: u64, socket: &Socket, mark: u64) {
    let cleared = mark & !(HELD | LEAVING);
    if socket
        .mark
        .compare_exchange(mark, cleared, SeqCst, SeqCst)
        .is_ok()
    {
        let (word, bit) = place(fd);
        // SAFETY: as in `mark`.
        let bits = unsafe { shared.marked.get_unchecked(word) };
        bits.fetch_and(!bit, SeqCst);
        // Another thread may have marked it again before the bit was removed.
        if socket.mark.load(SeqCst) & HELD != 0 {
            bits.fetch_or(bit, SeqCst);
        }
    }
}

/// Counts a flush and the time that the oldest octet was held.
pub(crate) fn count_hold(shared: &Shared, socket: &Socket, cause: Cause) {
    let held_ns = kernel::now_ns(shared).saturating_sub(socket.since_ns.load(Relaxed));
    let counts = &shared.counts;
    if let Some(count) = counts.flushes.get(cause as usize) {
        add(count, 1);
    }
    if held_ns > counts.longest_hold_ns.load(Relaxed) {
        counts.longest_hold_ns.store(held_ns, Relaxed);
    }
    if socket.peer.load(Relaxed) != 0 {
        peers::count_flush(shared, socket, cause, held_ns);
    }
}

fn place(fd: u64) -> (usize, u64) {
    let fd = fd as usize % SOCKETS;
    (fd / 64, 1 << (fd % 64))
}
