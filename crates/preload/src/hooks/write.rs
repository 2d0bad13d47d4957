//! Hooks for writes: a write is held with `MSG_MORE`, pushed, or passed.

use libc::{
    c_int, c_uint, c_void, iovec, mmsghdr, msghdr, off_t, size_t, sockaddr, socklen_t, ssize_t,
};

use crate::errno;
use crate::hooks::descriptors;
use crate::keeper::{self, Outgoing, Taken};
use crate::next::interpose;
use crate::page::Cause;
use crate::table::{self, Identity, Kind};

interpose! {
    fn write(fd: c_int, bytes: *const c_void, len: size_t) -> ssize_t {
        unsafe {
            match keeper::outgoing(fd, len) {
                Outgoing::Pass => write::next(fd, bytes, len),
                Outgoing::Report => reporting(fd, write::next(fd, bytes, len)),
                Outgoing::Hold => {
                    let result = send::next(fd, bytes, len, libc::MSG_MORE);
                    if held_after_all(fd, result) { result } else { write::next(fd, bytes, len) }
                }
                Outgoing::Push(taken) => pushing(fd, taken, write::next(fd, bytes, len)),
            }
        }
    }

    fn writev(fd: c_int, pieces: *const iovec, count: c_int) -> ssize_t {
        unsafe {
            match keeper::outgoing(fd, total(fd, pieces, count as size_t)) {
                Outgoing::Pass => writev::next(fd, pieces, count),
                Outgoing::Report => reporting(fd, writev::next(fd, pieces, count)),
                Outgoing::Hold => {
                    let mut message: msghdr = std::mem::zeroed();
                    message.msg_iov = pieces.cast_mut();
                    message.msg_iovlen = count as _;
                    let result = sendmsg::next(fd, &raw const message, libc::MSG_MORE);
                    if !held_after_all(fd, result) {
                        return writev::next(fd, pieces, count);
                    }
                    result
                }
                Outgoing::Push(taken) => pushing(fd, taken, writev::next(fd, pieces, count)),
            }
        }
    }

    fn send(fd: c_int, bytes: *const c_void, len: size_t, flags: c_int) -> ssize_t {
        unsafe {
            match outgoing_with(fd, len, flags) {
                Outgoing::Pass => send::next(fd, bytes, len, flags),
                Outgoing::Report => reporting(fd, send::next(fd, bytes, len, flags)),
                Outgoing::Hold => holding(fd, send::next(fd, bytes, len, flags | libc::MSG_MORE)),
                Outgoing::Push(taken) => pushing(fd, taken, send::next(fd, bytes, len, flags)),
            }
        }
    }

    fn sendto(
        fd: c_int, bytes: *const c_void, len: size_t, flags: c_int, to: *const sockaddr, to_len:
        socklen_t,
    ) -> ssize_t {
        unsafe {
            match outgoing_with(fd, len, flags) {
                Outgoing::Pass => sendto::next(fd, bytes, len, flags, to, to_len),
                Outgoing::Report => reporting(fd, sendto::next(fd, bytes, len, flags, to, to_len)),
                Outgoing::Hold => {
                    let flags = flags | libc::MSG_MORE;
                    holding(fd, sendto::next(fd, bytes, len, flags, to, to_len))
                }
                Outgoing::Push(taken) => pushing(fd, taken, sendto::next(fd, bytes, len, flags, to, to_len)),
            }
        }
    }

    fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
        unsafe {
            if carries_control(message) {
                descriptors::before_handing_on(message);
                return sendmsg::next(fd, message, flags);
            }
            match outgoing_with(fd, message_len(fd, message), flags) {
                Outgoing::Pass => sendmsg::next(fd, message, flags),
                Outgoing::Report => reporting(fd, sendmsg::next(fd, message, flags)),
                Outgoing::Hold => holding(fd, sendmsg::next(fd, message, flags | libc::MSG_MORE)),
                Outgoing::Push(taken) => pushing(fd, taken, sendmsg::next(fd, message, flags)),
            }
        }
    }

    /// Holds nothing: several messages make a large write together, and a program that batches needs no holding.
    fn sendmmsg(fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int {
        unsafe {
            let taken = keeper::taking(fd, Cause::LargeWrite);
            let result = sendmmsg::next(fd, messages, count, flags);
            let messages = messages.cast_const();
            let count = usize::try_from(result).unwrap_or(0);
            let sent = (0..count).map(|nth| (*messages.add(nth)).msg_len as usize).sum();
            keeper::sent_alongside(fd, sent, true, taken);
            result
        }
    }

    /// `sendfile` sends what was held before it. If it reached the end of the file early, the
    /// kernel itself holds the tail for the bytes that it expected: then a flush is still needed.
    fn sendfile(to: c_int, from: c_int, offset: *mut off_t, count: size_t) -> ssize_t {
        sending_file(to, count, || unsafe { sendfile::next(to, from, offset, count) })
    }

    fn sendfile64(to: c_int, from: c_int, offset: *mut off_t, count: size_t) -> ssize_t {
        sending_file(to, count, || unsafe { sendfile64::next(to, from, offset, count) })
    }
}

/// Returns whether a write made as a `send` is valid; it is not if the descriptor is no longer a
/// socket.
fn held_after_all(fd: c_int, result: ssize_t) -> bool {
    if result < 0 && errno::get() == libc::ENOTSOCK {
        keeper::not_held(fd);
        return false;
    }
    keeper::held(fd, result);
    true
}

fn holding(fd: c_int, result: ssize_t) -> ssize_t {
    keeper::held(fd, result);
    result
}

fn pushing(fd: c_int, taken: Taken, result: ssize_t) -> ssize_t {
    keeper::pushed(fd, result, taken);
    result
}

fn reporting(fd: c_int, result: ssize_t) -> ssize_t {
    keeper::passed(fd, result);
    result
}

fn sending_file(to: c_int, asked: size_t, send: impl Fn() -> ssize_t) -> ssize_t {
    let taken = keeper::taking(to, Cause::Sendfile);
    let result = send();
    let sent = usize::try_from(result).unwrap_or(0);
    keeper::sent_alongside(to, sent, sent == asked, taken);
    result
}

/// Asks the keeper about a send with flags. A program that uses `MSG_MORE` coalesces itself;
/// out-of-band data, end-of-record marks and zero-copy concern single segments.
fn outgoing_with(fd: c_int, len: size_t, flags: c_int) -> Outgoing {
    if flags & !(libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) == 0 {
        return keeper::outgoing(fd, len);
    }
    if flags & libc::MSG_MORE != 0 && table::identity(fd).kind() == Kind::Tcp {
        table::amend(fd, Identity::ALONE, true);
    }
    Outgoing::Pass
}

unsafe fn carries_control(message: *const msghdr) -> bool {
    // SAFETY: the program passes this header to the kernel, which refuses an invalid one.
    !message.is_null() && unsafe { (*message).msg_controllen } > 0
}

unsafe fn message_len(fd: c_int, message: *const msghdr) -> size_t {
    if message.is_null() {
        return 0;
    }
    // SAFETY: as above.
    unsafe { total(fd, (*message).msg_iov, (*message).msg_iovlen as size_t) }
}

/// Returns the bytes in `count` pieces, if something may be held.
unsafe fn total(fd: c_int, pieces: *const iovec, count: size_t) -> size_t {
    if pieces.is_null() || count > MAX_PIECES || !table::may_hold(fd) {
        return 0;
    }
    // SAFETY: the program passes that many pieces to the kernel.
    unsafe { std::slice::from_raw_parts(pieces, count) }
        .iter()
        .fold(0, |sum, piece| sum.saturating_add(piece.iov_len))
}

/// `UIO_MAXIOV`: the kernel refuses more.
const MAX_PIECES: usize = 1024;
