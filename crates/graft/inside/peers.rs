//! Whom a connection leads to: the service's habits, the filters, and the counts of a remote address.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

use tinygram_coalesce::Memory;

use crate::counts::add;
use crate::kernel::{self, IPPROTO_TCP};
use crate::layout::{Cause, Filter, HABITS, HELD, LEAVING, Peer, Shared, Socket, Thread, class};
use crate::machine::{call, nr};
use crate::rules::Outcome;
use crate::thread::Caller;

/// Enters the connection behind `fd`, and returns whether it is to be touched.
#[inline(never)]
pub(crate) fn is_covered(caller: &Caller<'_>, fd: u64, socket: &Socket, is_opened: bool) -> bool {
    let Caller { shared, thread, .. } = *caller;
    let own = own_port(thread, fd);
    let peer = end(thread, fd, nr::GETPEERNAME);
    // A connection that was neither opened here nor accepted on a known port was handed over: the
    // lower port is the service's (a client's is an ephemeral one, 32768 and higher by default).
    let accepted = !is_opened && (is_listening(shared, own) || own <= peer);
    let port = if accepted { own } else { peer };
    let service = port << 1 | u32::from(accepted);
    let habit = 1 + service % (HABITS as u32 - 1);
    socket.habit.store(habit, Relaxed);
    if !passes(shared, thread, port) {
        return false;
    }
    if shared.apart.load(Relaxed) != 0 {
        enter(shared, socket, thread, service);
    }
    true
}

fn own_port(thread: &Thread, fd: u64) -> u32 {
    end(thread, fd, nr::GETSOCKNAME)
}

/// Asks for one end of a connection; returns its port, and leaves its address to [`address`].
#[inline(never)]
fn end(thread: &Thread, fd: u64, number: u64) -> u32 {
    // `struct sockaddr_in6`, whose first octets are those of `struct sockaddr_in`, and before it its length.
    let [length, one, two, three, four, high, low, ..] = &thread.scratch;
    for word in [one, two, three, four] {
        word.store(0, Relaxed);
    }
    length.store(28, Relaxed);
    let (address_at, length_at) = (one.as_ptr() as u64, length.as_ptr() as u64);
    // SAFETY: the kernel writes at most 28 octets, and the length.
    let _ = unsafe { call(number, [fd, address_at, length_at, 0, 0, 0]) };
    let halves = |word: &AtomicU64| {
        let word = word.load(Relaxed);
        [
            (word as u32).swap_bytes(),
            ((word >> 32) as u32).swap_bytes(),
        ]
    };
    let ([first, v4], [a, b], [c, d]) = (halves(one), halves(two), halves(three));
    let join = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    // The family is in the host's order, so it is in the upper half now, swapped.
    let is_v4 = first >> 16 == AF_INET.swap_bytes().into();
    let [upper, lower] = if is_v4 {
        [0, join(0xffff, v4)]
    } else {
        [join(a, b), join(c, d)]
    };
    high.store(upper, Relaxed);
    low.store(lower, Relaxed);
    first & 0xffff
}

/// Returns the upper and lower 64 bits of the address that [`end`] found last, IPv4 as IPv4-mapped IPv6.
fn address(thread: &Thread) -> [u64; 2] {
    let [_, _, _, _, _, high, low, ..] = &thread.scratch;
    [high.load(Relaxed), low.load(Relaxed)]
}

fn is_listening(shared: &Shared, port: u32) -> bool {
    let word = shared.listening.get(port as usize / 64);
    word.is_some_and(|word| word.load(Relaxed) >> (port % 64) & 1 != 0)
}

/// `listen`: connections from this port are accepted ones.
pub(crate) fn listens(caller: &Caller<'_>, fd: u64) {
    let port = own_port(caller.thread, fd);
    if port != 0
        && let Some(word) = caller.shared.listening.get(port as usize / 64)
    {
        word.fetch_or(1 << (port % 64), SeqCst);
    }
}

#[inline(never)]
fn passes(shared: &Shared, thread: &Thread, port: u32) -> bool {
    let [first, ..] = &shared.filters;
    first.kind.load(Relaxed) == 0
        || shared.filters.iter().any(|filter| {
            let number = filter.number.load(Relaxed);
            match filter.kind.load(Relaxed) {
                Filter::PORT => number == port,
                Filter::NET => {
                    let [high, low] = &filter.bits;
                    let upper = mask(number);
                    let lower = mask(number.saturating_sub(64));
                    let [peer_high, peer_low] = address(thread);
                    (high.load(Relaxed) ^ peer_high) & upper == 0
                        && (low.load(Relaxed) ^ peer_low) & lower == 0
                }
                _ => false,
            }
        })
}

/// Returns the mask of the first bits of 64.
fn mask(bits: u32) -> u64 {
    match bits {
        0 => 0,
        1..=63 => u64::MAX << (64 - bits),
        _ => u64::MAX,
    }
}

/// Counts a connection for its remote address.
#[cold]
#[inline(never)]
fn enter(shared: &Shared, socket: &Socket, thread: &Thread, service: u32) {
    let [high, low] = address(thread);
    for (index, peer) in shared.peers.iter().enumerate() {
        if peer.state.load(SeqCst) == 0 && peer.state.compare_exchange(0, 1, SeqCst, SeqCst).is_ok()
        {
            peer.service.store(service, Relaxed);
            peer.address[0].store(high, Relaxed);
            peer.address[1].store(low, Relaxed);
            peer.state.store(Peer::READY, SeqCst);
        }
        // One that is being written may become a second row of the same address; they are added up.
        if peer.state.load(SeqCst) == Peer::READY
            && peer.service.load(Relaxed) == service
            && peer.address[0].load(Relaxed) == high
            && peer.address[1].load(Relaxed) == low
        {
            peer.connections.fetch_add(1, Relaxed);
            socket.peer.store(index as u32 + 1, Relaxed);
            return;
        }
    }
    add(&shared.unlisted, 1);
}

fn of<'a>(shared: &'a Shared, socket: &Socket) -> Option<&'a Peer> {
    let place = socket.peer.load(Relaxed);
    shared.peers.get((place as usize).wrapping_sub(1))
}

/// Counts a write for the socket's remote address, before it is decided about.
#[cold]
#[inline(never)]
pub(crate) fn count_write(shared: &Shared, socket: &Socket, length: u64) {
    if let Some(peer) = of(shared, socket) {
        let is_held = socket.mark.load(Relaxed) & (HELD | LEAVING) == HELD;
        peer.counts.writes.fetch_add(1, Relaxed);
        peer.counts.octets.fetch_add(length, Relaxed);
        let joins = u64::from(is_held);
        peer.counts.merged.fetch_add(joins, Relaxed);
    }
}

/// Counts what was decided.
#[cold]
#[inline(never)]
pub(crate) fn count_outcome(shared: &Shared, socket: &Socket, outcome: Outcome) {
    let Some(peer) = of(shared, socket) else {
        return;
    };
    match outcome {
        Outcome::Held => add(&peer.counts.held, 1),
        Outcome::Unwatched => add(&peer.counts.unwatched, 1),
        Outcome::Passes => {}
    }
    // The second write of a message would have waited without `TCP_NODELAY`.
    let is_second = Memory::unpack(socket.memory.load(Relaxed)).is_second();
    if is_second && socket.class.load(Relaxed) & class::PROGRAM_NODELAY == 0 {
        peer.in_several.fetch_add(1, Relaxed);
    }
}

/// Counts a flush of what was held for so many nanoseconds.
#[cold]
#[inline(never)]
pub(crate) fn count_flush(shared: &Shared, socket: &Socket, cause: Cause, held_ns: u64) {
    if let Some(peer) = of(shared, socket) {
        if let Some(count) = peer.counts.flushes.get(cause as usize) {
            add(count, 1);
        }
        peer.counts.longest_hold_ns.fetch_max(held_ns, Relaxed);
    }
}

/// Counts the segments of a connection whose descriptor is about to be closed.
#[inline(always)]
pub(crate) fn settle(caller: &Caller<'_>, fd: u64, socket: &Socket) {
    if let Some(peer) = of(caller.shared, socket) {
        read_segments(&caller.thread.scratch, fd, peer);
        socket.peer.store(0, Relaxed);
    }
}

#[cold]
#[inline(never)]
fn read_segments(info: &[AtomicU64; 30], fd: u64, peer: &Peer) {
    let mut length = size_of_val(info) as u32;
    let (info_at, length_at) = (info.as_ptr() as u64, &raw mut length as u64);
    let arguments = [fd, IPPROTO_TCP, kernel::TCP_INFO, info_at, length_at, 0];
    // SAFETY: the kernel writes at most that many octets, and their number.
    let result = unsafe { call(nr::GETSOCKOPT, arguments) };
    if kernel::failed(result) {
        return;
    }
    let word = |at: usize| info[at / 8].load(Relaxed) >> (at % 8 * 8) & 0xffff_ffff;
    let segments = word(DATA_SEGS_OUT).saturating_sub(word(TOTAL_RETRANS));
    peer.segments.fetch_add(segments, Relaxed);
    peer.settled.fetch_add(1, Relaxed);
}

const AF_INET: u16 = 2;
/// The offset of `tcpi_total_retrans` in a `struct tcp_info`.
const TOTAL_RETRANS: usize = 100;
/// The offset of `tcpi_data_segs_out`.
const DATA_SEGS_OUT: usize = 156;
