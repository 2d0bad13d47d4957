//! What is otherwise in a program in C: its sockets may block, and its threads may be cancelled.

use core::sync::atomic::Ordering::Relaxed;

use tinygram_coalesce::{AfterRead, Found, after_read};

use crate::call::{Call, Next};
use crate::entry::other;
use crate::kernel::{self, EAGAIN, ENOTSOCK, MSG_DONTWAIT, MSG_MORE, MSG_NOSIGNAL};
use crate::layout::{Cause, Shared, class};
use crate::machine::{self, nr};
use crate::reads::{age_ns, flush_all, nothing_held};
use crate::table::socket;
use crate::thread::Caller;
use crate::{flush, sockets, waits, writes};

/// As [`on_call`], for a program in C, whose sockets may block.
pub(crate) extern "C" fn on_c_call(call: &mut Call, shared: &Shared) -> Next {
    if shared.inert.load(Relaxed) != 0 {
        return Next::Go;
    }
    let Some(caller) = Caller::of_thread(call.task, shared) else {
        return Next::Go;
    };
    waits::take_over(&caller);
    match call.word {
        nr::READ | nr::RECVFROM | nr::RECVMSG | nr::READV => blocking(&caller, call),
        nr::WRITE | nr::SENDTO => {
            let (number, flags) = (call.word, call.a4);
            match writes::outgoing(&caller, call) {
                Next::Go => made_in_c(&caller, call, number, flags),
                made => made,
            }
        }
        nr::ACCEPT | nr::ACCEPT4 => {
            sockets::accepts(&caller, call.a1);
            waits::before(&caller);
            Next::Go
        }
        nr::FUTEX => {
            let operation = call.a2 & FUTEX_OPERATION;
            if operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET {
                waits::before(&caller);
            }
            Next::Go
        }
        _ => other(&caller, call),
    }
}

const FUTEX_OPERATION: u64 = 0x7f;
const FUTEX_WAIT: u64 = 0;
const FUTEX_WAIT_BITSET: u64 = 9;

/// Reads in a program in C, where a read may block: what is held leaves before it waits.
#[inline(always)]
fn blocking(caller: &Caller<'_>, call: &mut Call) -> Next {
    let shared = caller.shared;
    if !flush::holds(caller) {
        nothing_held(caller, call.a1);
        return Next::Go;
    }
    let what = socket(shared, call.a1).map_or(class::WAITS, |socket| {
        sockets::known(caller, call.a1, socket) & class::KIND
    });
    if what == class::FILE {
        return Next::Go;
    }
    let flags = match call.word {
        nr::READ => 0,
        nr::RECVFROM => call.a4,
        _ => MSG_PEEK,
    };
    if what != class::TCP || flags & !(MSG_DONTWAIT | MSG_NOSIGNAL) != 0 {
        flush_all(caller);
        return Next::Go;
    }
    let [address, length] = if call.word == nr::READ {
        [0, 0]
    } else {
        [call.a5, call.a6]
    };
    let arguments = [
        call.a1,
        call.a2,
        call.a3,
        flags | MSG_DONTWAIT,
        address,
        length,
    ];
    // SAFETY: the program's own arguments, for what it asked for, but without waiting.
    let result = unsafe { machine::call(nr::RECVFROM, arguments) };
    if kernel::failed(result) {
        // It waits, or fails as it would have.
        flush_all(caller);
        return Next::Go;
    }
    call.word = result;
    if after_read(Found::Something, || age_ns(caller)) == AfterRead::Flush {
        flush_all(caller);
    }
    Next::Made
}

/// Any flag with which a read is left to the program.
const MSG_PEEK: u64 = 2;

/// Makes a write of a program in C that is to be held; `number` and `flags` are what the program asked
/// for. Its `dup2` may not pass here, so what was a socket may be something else by now.
#[inline(always)]
fn made_in_c(caller: &Caller<'_>, call: &mut Call, number: u64, flags: u64) -> Next {
    let has_more = |flags: u64| flags & MSG_MORE != 0;
    let is_held = call.word == nr::SENDTO && has_more(call.a4);
    if !is_held || number == nr::SENDTO && has_more(flags) {
        return Next::Go;
    }
    // Without waiting for room: whoever cancels the thread must find it in the program's own SYSCALL, or in a call that
    // does not begin again.
    call.a4 |= MSG_DONTWAIT;
    call.word = call.make();
    let is_part = !kernel::failed(call.word) && call.word < call.a3;
    if call.word != EAGAIN && call.word != ENOTSOCK && !is_part {
        return Next::Made;
    }
    without_holding(caller, call, number, flags)
}

/// Makes, as the program has asked for it, a write that could not be held as a whole: there is no room
/// (the result is what was written, or EAGAIN), or the descriptor is no socket.
#[cold]
#[inline(never)]
fn without_holding(caller: &Caller<'_>, call: &mut Call, number: u64, flags: u64) -> Next {
    let result = core::mem::replace(&mut call.word, number);
    call.a4 = flags;
    if result == ENOTSOCK {
        sockets::forget(caller, call.a1);
        return Next::Go;
    }
    flush::one(caller.shared, call.a1, Cause::Write);
    if result == EAGAIN {
        return Next::Go;
    }
    call.word = with_the_rest(call, result);
    Next::Made
}

/// Writes the rest of a write of which `written` octets are written already, and returns how many are then, also if there
/// is an error. An error that is there already while it waits is left to the next call. Whether it waits for room is the socket's.
///
/// It waits in poll(2), which does not begin again behind a signal's handler, as a call that writes may. So a signal ends
/// it with what is written, as it would end the program's own write. One that comes right before poll begins does not.
#[inline(never)]
fn with_the_rest(call: &Call, written: u64) -> u64 {
    // Only of `sendto` the register has flags.
    let asked = if call.word == nr::SENDTO { call.a4 } else { 0 };
    let flags = asked | MSG_DONTWAIT | MSG_NOSIGNAL;
    let mut done = written;
    while done < call.a3 {
        let (start, length) = (call.a2.wrapping_add(done), call.a3.wrapping_sub(done));
        // SAFETY: the program's own octets, to where it writes them.
        let sent = unsafe { machine::call(nr::SENDTO, [call.a1, start, length, flags, 0, 0]) };
        if sent == EAGAIN {
            let waits = asked & MSG_DONTWAIT == 0;
            if !waits || !waits_for_room(call.a1) {
                break;
            }
        } else if kernel::failed(sent) {
            break;
        } else {
            done = done.wrapping_add(sent);
        }
    }
    done
}

/// Waits until a socket that blocks has room. Returns false if it does not block, if there is no room for as long as it
/// waits (`SO_SNDTIMEO`), if there is an error, or if a signal comes.
fn waits_for_room(fd: u64) -> bool {
    // SAFETY: reads the descriptor's flags.
    let flags = unsafe { machine::call(nr::FCNTL, [fd, kernel::F_GETFL, 0, 0, 0, 0]) };
    if kernel::failed(flags) || flags & kernel::O_NONBLOCK != 0 {
        return false;
    }
    // Seconds and microseconds; both 0: without end.
    let mut timeout = [0_u64; 2];
    let mut length = 16_u32;
    let (timeout_at, length_at) = (&raw mut timeout as u64, &raw mut length as u64);
    let arguments = [
        fd,
        kernel::SOL_SOCKET,
        SO_SNDTIMEO,
        timeout_at,
        length_at,
        0,
    ];
    // SAFETY: the kernel writes at most 16 and four octets.
    unsafe { machine::call(nr::GETSOCKOPT, arguments) };
    let [seconds, us] = timeout;
    let seconds_ms = seconds.saturating_mul(1_000);
    let wait_ms = match seconds_ms.saturating_add(us.div_ceil(1_000)) {
        0 => u64::MAX,
        ms => ms.min(i32::MAX as u64),
    };
    // `struct pollfd`: the descriptor, what is asked for and, in the upper half, what is found.
    let mut asked = [fd as u32, POLLOUT];
    // SAFETY: the kernel writes to the last two octets.
    let found = unsafe { machine::call(nr::POLL, [&raw mut asked as u64, 1, wait_ms, 0, 0, 0]) };
    found == 1 && (asked[1] >> 16) & (POLLERR | POLLHUP) == 0
}

const SO_SNDTIMEO: u64 = 21;
const POLLOUT: u32 = 4;
const POLLERR: u32 = 8;
const POLLHUP: u32 = 16;
