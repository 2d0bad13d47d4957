//! Reading and writing, in all of C's forms.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

use libc::{iovec, msghdr, off_t, size_t, sockaddr, socklen_t, ssize_t};

use super::address;
use super::caller::{answer, drill, slice};
use crate::call::{Call, Errno, Message, Outcome};

pub(super) unsafe extern "C" fn read(
    user: *mut c_void,
    fd: c_int,
    to: *mut c_void,
    len: size_t,
) -> ssize_t {
    let iov = iovec {
        iov_base: to,
        iov_len: len,
    };
    unsafe { receive(user, fd, &[iov], 0, null_mut()) }
}

pub(super) unsafe extern "C" fn readv(
    user: *mut c_void,
    fd: c_int,
    pieces: *const iovec,
    count: c_int,
) -> ssize_t {
    let pieces = unsafe { slice(pieces, count as usize) };
    unsafe { receive(user, fd, pieces, 0, null_mut()) }
}

pub(super) unsafe extern "C" fn recv(
    user: *mut c_void,
    fd: c_int,
    to: *mut c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    let iov = iovec {
        iov_base: to,
        iov_len: len,
    };
    unsafe { receive(user, fd, &[iov], flags, null_mut()) }
}

pub(super) unsafe extern "C" fn recvfrom(
    user: *mut c_void,
    fd: c_int,
    to: *mut c_void,
    len: size_t,
    flags: c_int,
    _: *mut sockaddr,
    _: *mut socklen_t,
) -> ssize_t {
    unsafe { recv(user, fd, to, len, flags) }
}

pub(super) unsafe extern "C" fn recvmsg(
    user: *mut c_void,
    fd: c_int,
    message: *mut msghdr,
    flags: c_int,
) -> ssize_t {
    let pieces = unsafe { slice((*message).msg_iov, (*message).msg_iovlen) };
    unsafe { receive(user, fd, pieces, flags, message) }
}

/// Reads, and distributes the octets over the pieces.
unsafe fn receive(
    user: *mut c_void,
    fd: c_int,
    pieces: &[iovec],
    flags: c_int,
    message: *mut msghdr,
) -> ssize_t {
    let most = pieces.iter().map(|piece| piece.iov_len).sum();
    // Like the kernel, refuse to read octets into a null pointer before anything is taken.
    if pieces
        .iter()
        .any(|piece| piece.iov_base.is_null() && piece.iov_len > 0)
    {
        return answer(Err(Errno(libc::EFAULT))) as ssize_t;
    }
    let got = unsafe { drill(user) }.call(fd, flags, Call::Read { fd, most, flags });
    if let Ok(Outcome { octets, inq, .. }) = &got {
        let mut rest = &octets[..];
        for piece in pieces {
            let (some, more) = rest.split_at(rest.len().min(piece.iov_len));
            unsafe {
                std::ptr::copy_nonoverlapping(some.as_ptr(), piece.iov_base.cast(), some.len());
            }
            rest = more;
        }
        if !message.is_null() {
            unsafe { control(message, *inq) };
        }
    }
    answer(got.map(|outcome| outcome.value)) as ssize_t
}

/// Writes the ancillary data: TCP_CM_INQ, if it was asked for and there is room.
unsafe fn control(message: *mut msghdr, inq: Option<c_int>) {
    let message = unsafe { &mut *message };
    message.msg_flags = 0;
    let len = size_of::<c_int>() as c_uint;
    let Some(inq) = inq.filter(|_| message.msg_controllen >= unsafe { libc::CMSG_SPACE(len) } as _)
    else {
        message.msg_controllen = 0;
        return;
    };
    const TCP_CM_INQ: c_int = 36;
    unsafe {
        let header = libc::CMSG_FIRSTHDR(message);
        (*header).cmsg_level = libc::SOL_TCP;
        (*header).cmsg_type = TCP_CM_INQ;
        (*header).cmsg_len = libc::CMSG_LEN(len) as _;
        libc::CMSG_DATA(header).cast::<c_int>().write_unaligned(inq);
        message.msg_controllen = libc::CMSG_SPACE(len) as _;
    }
}

pub(super) unsafe extern "C" fn write(
    user: *mut c_void,
    fd: c_int,
    from: *const c_void,
    len: size_t,
) -> ssize_t {
    let iov = iovec {
        iov_base: from.cast_mut(),
        iov_len: len,
    };
    unsafe { transmit(user, fd, &[iov], 0, None) }
}

pub(super) unsafe extern "C" fn writev(
    user: *mut c_void,
    fd: c_int,
    pieces: *const iovec,
    count: c_int,
) -> ssize_t {
    let pieces = unsafe { slice(pieces, count as usize) };
    unsafe { transmit(user, fd, pieces, 0, None) }
}

pub(super) unsafe extern "C" fn send(
    user: *mut c_void,
    fd: c_int,
    from: *const c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    let iov = iovec {
        iov_base: from.cast_mut(),
        iov_len: len,
    };
    unsafe { transmit(user, fd, &[iov], flags, None) }
}

pub(super) unsafe extern "C" fn sendto(
    user: *mut c_void,
    fd: c_int,
    from: *const c_void,
    len: size_t,
    flags: c_int,
    address: *const sockaddr,
    address_len: socklen_t,
) -> ssize_t {
    let iov = iovec {
        iov_base: from.cast_mut(),
        iov_len: len,
    };
    let to = unsafe { address::read(address, address_len) }.ok();
    unsafe { transmit(user, fd, &[iov], flags, to) }
}

pub(super) unsafe extern "C" fn sendmsg(
    user: *mut c_void,
    fd: c_int,
    message: *const msghdr,
    flags: c_int,
) -> ssize_t {
    let message = unsafe { &*message };
    let pieces = unsafe { slice(message.msg_iov, message.msg_iovlen) };
    let to = unsafe { address::read(message.msg_name.cast(), message.msg_namelen) }.ok();
    unsafe { transmit(user, fd, pieces, flags, to) }
}

/// Gathers the pieces, and writes them at once.
unsafe fn transmit(
    user: *mut c_void,
    fd: c_int,
    pieces: &[iovec],
    flags: c_int,
    to: Option<std::net::SocketAddr>,
) -> ssize_t {
    let mut octets = Vec::new();
    let mut damaged = false;
    for piece in pieces {
        if piece.iov_len > 0 && piece.iov_base.is_null() {
            damaged = true;
            break;
        }
        octets.extend_from_slice(unsafe { slice(piece.iov_base.cast::<u8>(), piece.iov_len) });
    }
    let message = Message {
        octets,
        damaged,
        to,
    };
    let sent = unsafe { drill(user) }.call(fd, flags, Call::write(fd, message, flags));
    answer(sent.map(|outcome| outcome.value)) as ssize_t
}

pub(super) unsafe extern "C" fn pipe(_: *mut c_void, ends: *mut c_int) -> c_int {
    unsafe { libc::pipe(ends) }
}

/// Moves octets between a kernel's pipe and a socket of this stack.
pub(super) unsafe extern "C" fn splice(
    user: *mut c_void,
    from: c_int,
    _: *mut off_t,
    to: c_int,
    _: *mut off_t,
    len: size_t,
    flags: c_uint,
) -> c_int {
    let drill = unsafe { drill(user) };
    let more = if flags & libc::SPLICE_F_MORE == 0 {
        0
    } else {
        libc::MSG_MORE
    };
    let mut octets = vec![0_u8; len];
    if drill.with(|world| world.knows(to)) {
        let got = unsafe { libc::read(from, octets.as_mut_ptr().cast(), len) };
        if got < 0 {
            return -1;
        }
        octets.truncate(got as usize);
        let message = Message {
            octets,
            damaged: false,
            to: None,
        };
        let sent = drill.call(to, more, Call::write(to, message, more));
        return answer(sent.map(|outcome| outcome.value)) as c_int;
    }
    // The kernel moves nothing across urgent data, and does not wait there.
    if drill.with(|world| world.stands_at_urgent(from)) {
        return 0;
    }
    let got = drill.call(
        from,
        0,
        Call::Read {
            fd: from,
            most: len,
            flags: 0,
        },
    );
    match got {
        Ok(outcome) => {
            let octets = &outcome.octets;
            (unsafe { libc::write(to, octets.as_ptr().cast(), octets.len()) }) as c_int
        }
        Err(errno) => answer(Err(errno)) as c_int,
    }
}
