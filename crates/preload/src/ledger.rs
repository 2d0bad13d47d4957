//! The books, which `--stats` shows. Without a page to write to, every entry costs one branch.

use std::sync::atomic::Ordering::Relaxed;

use libc::c_int;

use crate::orders::Orders;
use crate::page::{Cause, Row};
use crate::table::{self, Identity};
use crate::thread::Wrote;
use crate::{clock, flight};
use tinygram_coalesce::Policy;

#[inline(always)]
pub(crate) fn wrote(orders: &Orders, identity: Identity, write: Wrote) {
    if orders.page.is_some() {
        enter_write(orders, identity, write);
    }
}

fn enter_write(orders: &Orders, identity: Identity, write: Wrote) {
    let Some(row) = row(orders, identity) else {
        return;
    };
    row.writes.fetch_add(1, Relaxed);
    row.bytes.fetch_add(write.len as u64, Relaxed);
    row.held.fetch_add(u64::from(write.held), Relaxed);
    row.merged.fetch_add(u64::from(write.joined), Relaxed);
    row.unwatched.fetch_add(u64::from(write.unwatched), Relaxed);
    row.measured.fetch_add(u64::from(write.measured), Relaxed);
    // Under Nagle's algorithm it would have waited until the first write was acknowledged.
    let would_wait = write.second && !identity.has(Identity::PROGRAM_NODELAY);
    row.in_several.fetch_add(u64::from(would_wait), Relaxed);
}

/// Records that the kernel accepted no byte of a write that is in the books.
pub(crate) fn refused(orders: &Orders, identity: Identity, write: Wrote) {
    if let Some(row) = row(orders, identity) {
        row.writes.fetch_sub(1, Relaxed);
        row.bytes.fetch_sub(write.len as u64, Relaxed);
        row.held.fetch_sub(u64::from(write.held), Relaxed);
        row.merged.fetch_sub(u64::from(write.joined), Relaxed);
        row.unwatched.fetch_sub(u64::from(write.unwatched), Relaxed);
        row.measured.fetch_sub(u64::from(write.measured), Relaxed);
        let would_wait = write.second && !identity.has(Identity::PROGRAM_NODELAY);
        row.in_several.fetch_sub(u64::from(would_wait), Relaxed);
    }
}

/// Records under `observe` that a write waited this long for an acknowledgment.
pub(crate) fn stalled(orders: &Orders, identity: Identity, waited_ns: u64) {
    if let Some(row) = row(orders, identity) {
        row.stalls.fetch_add(1, Relaxed);
        row.stalled_ns.fetch_add(waited_ns, Relaxed);
        row.longest_stall_ns.fetch_max(waited_ns, Relaxed);
    }
}

/// Records under `observe` that a write waited this long for an acknowledgment, and the program for
/// its peer.
pub(crate) fn awaited(orders: &Orders, identity: Identity, waited_ns: u64) {
    if let Some(row) = row(orders, identity) {
        row.awaited.fetch_add(1, Relaxed);
        row.awaited_ns.fetch_add(waited_ns, Relaxed);
        row.name_process();
    }
}

/// Records under `observe` that a write and the program waited, but for less time than a receiver's
/// timer takes.
pub(crate) fn awaited_briefly(orders: &Orders, identity: Identity) {
    if let Some(row) = row(orders, identity) {
        row.awaited_briefly.fetch_add(1, Relaxed);
    }
}

/// Records under `observe` that a write waited while its thread slept, and the program did not wait
/// for the peer.
pub(crate) fn unawaited(orders: &Orders, identity: Identity) {
    if let Some(row) = row(orders, identity) {
        row.unawaited.fetch_add(1, Relaxed);
    }
}

/// Records under `observe` that a thread sleeps while a cork holds what it wrote.
pub(crate) fn corked(orders: &Orders, identity: Identity) {
    if let Some(row) = row(orders, identity) {
        row.corked.fetch_add(1, Relaxed);
    }
}

/// Records that bytes held since `since_ns` have left.
#[inline(always)]
pub(crate) fn flushed(orders: &Orders, fd: c_int, since_ns: u64, cause: Cause) {
    if orders.page.is_some() {
        enter_flush(orders, fd, since_ns, cause);
    }
}

fn enter_flush(orders: &Orders, fd: c_int, since_ns: u64, cause: Cause) {
    let Some(row) = row(orders, table::identity(fd)) else {
        return;
    };
    let held_ns = clock::now_ns().saturating_sub(since_ns);
    let rules = orders.rules();
    // Under `observe` nothing is held and no watchdog runs; it would have come by now.
    let overdue = rules.policy == Policy::Observe && held_ns >= rules.watchdog_ns;
    let (cause, held_ns) = if overdue {
        (Cause::Watchdog, rules.watchdog_ns)
    } else {
        (cause, held_ns)
    };
    row.flushes[cause as usize].fetch_add(1, Relaxed);
    row.longest_hold_ns.fetch_max(held_ns, Relaxed);
}

/// Records that a connection switches to `NODELAY`, because the watchdog had to rescue it too
/// often.
pub(crate) fn went_over(orders: &Orders, identity: Identity) {
    if let Some(row) = row(orders, identity) {
        row.went_over.fetch_add(1, Relaxed);
    }
}

/// Enters a connection into the books: finds its row, and notes how many segments it has sent
/// before.
pub(crate) fn open(orders: &Orders, fd: c_int, row: usize) {
    let (Some(page), Some(holding)) = (orders.page, table::holding(fd)) else {
        return;
    };
    if let Some(row) = page.row(row) {
        row.connections.fetch_add(1, Relaxed);
    }
    holding
        .segments_before
        .store(flight::data_segments(fd).unwrap_or(0), Relaxed);
}

/// Settles a descriptor that is about to close: reads how many segments its connection sent.
///
/// After a fork, two processes that share a connection each settle it: usually the parent closes it
/// at once, with nothing sent, and the child does the work.
pub(crate) fn settle(orders: &Orders, fd: c_int) {
    let identity = table::identity(fd);
    let (Some(row), Some(holding)) = (row(orders, identity), table::holding(fd)) else {
        return;
    };
    if let Some(segments) = flight::data_segments(fd) {
        let sent = segments.wrapping_sub(holding.segments_before.swap(segments, Relaxed));
        row.segments.fetch_add(u64::from(sent), Relaxed);
        row.settled.fetch_add(1, Relaxed);
    }
}

fn row(orders: &Orders, identity: Identity) -> Option<&'static Row> {
    orders.page?.row(identity.row()?)
}
