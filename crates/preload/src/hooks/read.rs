//! Hooks for reads. On a blocking socket they first try without waiting, because a read that finds
//! data does not wait.

use libc::{
    c_int, c_uint, c_void, iovec, mmsghdr, msghdr, size_t, sockaddr, socklen_t, ssize_t, timespec,
};

use crate::errno;
use crate::hooks::descriptors;
use crate::keeper::{self, Incoming};
use crate::next::interpose;

interpose! {
    fn read(fd: c_int, buffer: *mut c_void, len: size_t) -> ssize_t {
        unsafe {
            around(
                fd, 0,
                move || read::next(fd, buffer, len),
                move || recv::next(fd, buffer, len, libc::MSG_DONTWAIT),
            )
        }
    }

    fn __read_chk(fd: c_int, buffer: *mut c_void, len: size_t, room: size_t) -> ssize_t {
        unsafe {
            around(
                fd, 0,
                move || __read_chk::next(fd, buffer, len, room),
                move || recv_checked(fd, buffer, len, room, libc::MSG_DONTWAIT),
            )
        }
    }

    fn readv(fd: c_int, pieces: *const iovec, count: c_int) -> ssize_t {
        unsafe {
            around(fd, 0, move || readv::next(fd, pieces, count), move || {
                let mut message: msghdr = std::mem::zeroed();
                message.msg_iov = pieces.cast_mut();
                message.msg_iovlen = count as _;
                recvmsg::next(fd, &raw mut message, libc::MSG_DONTWAIT)
            })
        }
    }

    fn recv(fd: c_int, buffer: *mut c_void, len: size_t, flags: c_int) -> ssize_t {
        unsafe {
            around(
                fd, flags,
                move || recv::next(fd, buffer, len, flags),
                move || recv::next(fd, buffer, len, flags | libc::MSG_DONTWAIT),
            )
        }
    }

    fn __recv_chk(
        fd: c_int, buffer: *mut c_void, len: size_t, room: size_t, flags: c_int,
    ) -> ssize_t {
        unsafe {
            around(fd, flags, move || __recv_chk::next(fd, buffer, len, room, flags), move || {
                recv_checked(fd, buffer, len, room, flags | libc::MSG_DONTWAIT)
            })
        }
    }

    fn recvfrom(
        fd: c_int, buffer: *mut c_void, len: size_t, flags: c_int, from: *mut sockaddr,
        from_len: *mut socklen_t,
    ) -> ssize_t {
        unsafe {
            around(
                fd, flags,
                move || recvfrom::next(fd, buffer, len, flags, from, from_len),
                move || {
                    recvfrom::next(fd, buffer, len, flags | libc::MSG_DONTWAIT, from, from_len)
                },
            )
        }
    }

    fn __recvfrom_chk(
        fd: c_int, buffer: *mut c_void, len: size_t, room: size_t, flags: c_int,
        from: *mut sockaddr, from_len: *mut socklen_t,
    ) -> ssize_t {
        unsafe {
            around(
                fd, flags,
                move || __recvfrom_chk::next(fd, buffer, len, room, flags, from, from_len),
                move || {
                    __recvfrom_chk::next(fd, buffer, len, room, flags | libc::MSG_DONTWAIT, from, from_len)
                },
            )
        }
    }

    fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
        unsafe {
            let result = around(fd, flags, move || recvmsg::next(fd, message, flags), move || {
                recvmsg::next(fd, message, flags | libc::MSG_DONTWAIT)
            });
            if result >= 0 {
                descriptors::after_receiving(message);
            }
            result
        }
    }

    fn recvmmsg(
        fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int, timeout: *mut timespec,
    ) -> c_int {
        unsafe {
            // A try may return less than a waiting call. So nothing is tried, and everything is
            // flushed before.
            keeper::before_sleep();
            let result = recvmmsg::next(fd, messages, count, flags, timeout);
            for index in 0..usize::try_from(result).unwrap_or(0) {
                descriptors::after_receiving(&raw mut (*messages.add(index)).msg_hdr);
            }
            result
        }
    }
}

/// Makes one read as the keeper demands: `ask` is the program's own call, `try_first` the same
/// without waiting.
#[inline(always)]
fn around(
    fd: c_int,
    flags: c_int,
    ask: impl Fn() -> ssize_t,
    try_first: impl Fn() -> ssize_t,
) -> ssize_t {
    if keeper::cares_not(fd) {
        return ask();
    }
    around_tcp(fd, flags, ask, try_first)
}

/// Reads as TCP needs it. A separate function, so that a read of anything but TCP is short and needs no stack.
#[inline(never)]
fn around_tcp(
    fd: c_int,
    flags: c_int,
    ask: impl Fn() -> ssize_t,
    try_first: impl Fn() -> ssize_t,
) -> ssize_t {
    match keeper::incoming(fd, flags) {
        Incoming::Go => ask(),
        Incoming::Report => {
            let result = ask();
            keeper::found(fd, result);
            result
        }
        Incoming::Try => {
            let before = errno::get();
            let result = try_first();
            keeper::found(fd, result);
            // ENOTSOCK: the descriptor leads elsewhere by now, and the program's own call will find
            // out.
            if result >= 0 || !matches!(errno::get(), libc::EAGAIN | libc::ENOTSOCK) {
                return result;
            }
            errno::set(before);
            ask()
        }
    }
}

/// Makes a fortified read's own check first: the try must not overrun a buffer that the call would refuse.
unsafe fn recv_checked(
    fd: c_int,
    buffer: *mut c_void,
    len: size_t,
    room: size_t,
    flags: c_int,
) -> ssize_t {
    unsafe { __recv_chk::next(fd, buffer, len, room, flags) }
}
