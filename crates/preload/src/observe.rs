//! `observe`: what the program's writes suffer as it is, by the kernel's own account.
//!
//! A write that is not sent at once while something is unacknowledged waits for that acknowledgment
//! (Nagle's algorithm). When the next one is made, or the connection ends, the kernel still says when
//! data was last sent on the connection (`tcpi_last_data_sent`, in milliseconds): so long it waited.

use std::sync::atomic::Ordering::Relaxed;

use libc::c_int;

use crate::flight::{self, Flight};
use crate::orders::{self, Orders};
use crate::table::{self, Holding, Identity};
use crate::{clock, errno, ledger};

/// Before a write on `fd`, and before its end: what became of the one that waited?
#[inline(always)]
pub(crate) fn before_write(orders: &Orders, fd: c_int, identity: Identity, holding: &Holding) {
    let since_ns = holding.stalled_ns.load(Relaxed);
    if since_ns != 0 && orders.page.is_some() {
        errno::kept(|| settle(orders, fd, identity, holding, since_ns));
    }
}

fn settle(orders: &Orders, fd: c_int, identity: Identity, holding: &Holding, since_ns: u64) {
    let Some(flight) = flight::flight(fd).filter(|flight| flight.not_sent == 0) else {
        return;
    };
    holding.stalled_ns.store(0, Relaxed);
    let sent_ns = clock::now_ns().saturating_sub(u64::from(flight.last_sent_ms) * 1_000_000);
    let waited_ns = sent_ns.saturating_sub(since_ns);
    if waited_ns >= LEAST_STALL_NS {
        ledger::stalled(orders, identity, waited_ns);
    }
}

/// After a write on `fd`: does it wait?
pub(crate) fn after_write(fd: c_int) {
    if let (Some(orders), Some(holding)) = (orders::orders(), table::holding(fd))
        && orders.page.is_some()
        && holding.stalled_ns.load(Relaxed) == 0
        && errno::kept(|| flight::flight(fd)).is_some_and(Flight::waits)
    {
        holding.stalled_ns.store(clock::now_ns(), Relaxed);
    }
}

/// The kernel's clock of what it sent last is one of milliseconds, of as few as a tick has.
const LEAST_STALL_NS: u64 = 5_000_000;
