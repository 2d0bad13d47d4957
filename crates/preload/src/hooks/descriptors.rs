//! Hooks for descriptors: made, duplicated, passed on, received, closed.
//!
//! Every call that ends a descriptor is hooked here, so a number that may lead elsewhere becomes
//! unknown. Of the calls that begin one, only those for sockets are hooked; whatever is unknown is
//! asked of the kernel when needed.

use libc::{c_int, c_uint, cmsghdr, msghdr, sockaddr, socklen_t};

use crate::next::interpose;
use crate::page::Cause;
use crate::sockets;
use crate::table::{self, Identity, Kind};
use crate::thread;
use crate::{keeper, kernel, ledger, observe, orders};
use tinygram_coalesce::Wait;

interpose! {
    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
        let fd = unsafe { socket::next(domain, kind, protocol) };
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        let is_tcp = matches!(domain, libc::AF_INET | libc::AF_INET6)
            && kind & !flags == libc::SOCK_STREAM
            && matches!(protocol, 0 | libc::IPPROTO_TCP);
        if fd >= 0 {
            table::forget(fd);
            let identity = Identity::new(if is_tcp { Kind::Tcp } else { Kind::Waits });
            table::know(fd, identity.with(Identity::NONBLOCKING, kind & libc::SOCK_NONBLOCK != 0));
        }
        fd
    }

    fn socketpair(domain: c_int, kind: c_int, protocol: c_int, pair: *mut c_int) -> c_int {
        unsafe {
            let result = socketpair::next(domain, kind, protocol, pair);
            if result == 0 {
                table::forget(*pair);
                table::forget(*pair.add(1));
            }
            result
        }
    }

    fn connect(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
        let identity = table::identity(fd);
        if identity.kind() == Kind::Unknown && table::has_room_for(fd) {
            sockets::classify(fd);
        }
        sockets::book_connect(fd, address, len);
        if !identity.has(Identity::NONBLOCKING) {
            keeper::before_sleep();
        }
        unsafe { connect::next(fd, address, len) }
    }

    fn listen(fd: c_int, backlog: c_int) -> c_int {
        sockets::book_listener(fd);
        unsafe { listen::next(fd, backlog) }
    }

    fn accept(listener: c_int, address: *mut sockaddr, len: *mut socklen_t) -> c_int {
        before_accept(listener);
        let fd = unsafe { accept::next(listener, address, len) };
        after_accept(listener, fd, 0);
        fd
    }

    fn accept4(
        listener: c_int, address: *mut sockaddr, len: *mut socklen_t, flags: c_int,
    ) -> c_int {
        before_accept(listener);
        let fd = unsafe { accept4::next(listener, address, len, flags) };
        after_accept(listener, fd, flags);
        fd
    }

    /// Flushes instead of leaving that to the kernel's close. The kernel drops unsent bytes if the
    /// program left input unread or set `SO_LINGER` to 0, and sends nothing if another descriptor
    /// leads to the same socket.
    fn close(fd: c_int) -> c_int {
        before_end(fd);
        unsafe { close::next(fd) }
    }

    fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
        before_close_range(first, last, flags);
        unsafe { close_range::next(first, last, flags) }
    }

    fn closefrom(first: c_int) {
        before_end_from(first.max(0) as c_uint, c_uint::MAX);
        unsafe { closefrom::next(first) }
    }

    fn shutdown(fd: c_int, how: c_int) -> c_int {
        let taken = keeper::taking(fd, Cause::Sendfile);
        let result = unsafe { shutdown::next(fd, how) };
        if result == 0 && how != libc::SHUT_RD && table::identity(fd).kind() == Kind::Tcp {
            keeper::took_along(fd, taken);
        }
        result
    }

    fn dup(fd: c_int) -> c_int {
        keeper::flush(fd, Cause::Close);
        let copy = unsafe { dup::next(fd) };
        after_copy(fd, copy);
        copy
    }

    fn dup2(fd: c_int, target: c_int) -> c_int {
        before_copy(fd, target);
        let copy = unsafe { dup2::next(fd, target) };
        after_copy(fd, copy);
        copy
    }

    fn dup3(fd: c_int, target: c_int, flags: c_int) -> c_int {
        before_copy(fd, target);
        let copy = unsafe { dup3::next(fd, target, flags) };
        after_copy(fd, copy);
        copy
    }
}

/// Prepares for the end of a descriptor: sends what is held, settles the account, forgets the
/// number.
pub(crate) fn before_end(fd: c_int) {
    if table::identity(fd) == Identity::default() {
        return;
    }
    crate::errno::kept(|| {
        keeper::flush(fd, Cause::Close);
        settle(fd);
        table::forget(fd);
    });
}

/// Settles what is about to be closed: nothing with `CLOSE_RANGE_CLOEXEC`, nor if the kernel refuses the call.
pub(crate) fn before_close_range(first: c_uint, last: c_uint, flags: c_int) {
    if first <= last && flags & !(libc::CLOSE_RANGE_UNSHARE as c_int) == 0 {
        before_end_from(first, last);
    }
}

pub(crate) fn before_end_from(first: c_uint, last: c_uint) {
    let known = table::in_use();
    let first = c_int::try_from(first)
        .unwrap_or(c_int::MAX)
        .clamp(known.start, known.end);
    let end = c_int::try_from(last).map_or(known.end, |last| last.saturating_add(1).min(known.end));
    for fd in first..end {
        before_end(fd);
    }
}

/// Settles the accounts of every connection, because the process is about to end.
pub(crate) fn settle_all() {
    for fd in table::in_use() {
        settle(fd);
    }
}

fn settle(fd: c_int) {
    if let Some(orders) = orders::orders()
        && orders.page.is_some()
        && !table::identity(fd).has(Identity::COPY)
        && !thread::this().is_borrowed()
    {
        if let Some(holding) = table::holding(fd) {
            observe::before_write(orders, fd, table::identity(fd), holding);
        }
        ledger::settle(orders, fd);
    }
}

fn before_accept(listener: c_int) {
    if !table::identity(listener).has(Identity::NONBLOCKING) {
        keeper::before_sleep();
    } else {
        keeper::peeks_before(Wait::Never);
    }
}

fn after_accept(listener: c_int, fd: c_int, flags: c_int) {
    if fd < 0 {
        return;
    }
    table::forget(fd);
    let mut listening = table::identity(listener);
    if listening.kind() == Kind::Unknown && table::has_room_for(listener) {
        // A listener from before the library was loaded, passed on by systemd or a parent.
        listening = sockets::classify(listener);
    }
    if listening.kind() != Kind::Tcp {
        return;
    }
    // On Linux, an accepted socket inherits all options except O_NONBLOCK.
    let identity = Identity::inherited_by_accepted(listening)
        .with(Identity::NONBLOCKING, flags & libc::SOCK_NONBLOCK != 0)
        .with(Identity::ACCEPTED, true);
    sockets::book(fd, identity);
}

/// Prepares for copying `fd` onto `target`, which ends unless it is the same.
fn before_copy(fd: c_int, target: c_int) {
    keeper::flush(fd, Cause::Close);
    if fd != target {
        before_end(target);
    }
}

/// Notes that two numbers lead to one socket: `O_NONBLOCK` set through one is not noticed for the other.
pub(crate) fn after_copy(fd: c_int, copy: c_int) {
    if copy < 0 || copy == fd {
        return;
    }
    table::forget(copy);
    if table::identity(fd).kind() == Kind::Tcp {
        table::amend(fd, Identity::ALIASED, true);
        // The program may set it through one number and ask through the other.
        crate::errno::kept(|| sockets::sign(fd));
        // The account stays with the original, so the connection is counted once.
        table::know(copy, table::identity(fd).with(Identity::COPY, true));
    }
}

/// Flushes the descriptors in a message's control data, before another process has them.
///
/// # Safety
/// `message` is the program's argument of `sendmsg`.
pub(crate) unsafe fn before_handing_on(message: *const msghdr) {
    unsafe {
        each_descriptor(message, |fd| {
            keeper::flush(fd, Cause::Close);
            crate::errno::kept(|| sockets::sign(fd));
            table::amend(fd, Identity::ALIASED, true);
        });
    }
}

/// Marks the descriptors that came in a message as unknown, whatever their numbers meant before.
///
/// # Safety
/// `message` is one that `recvmsg` filled.
pub(crate) unsafe fn after_receiving(message: *const msghdr) {
    unsafe {
        if !message.is_null() && (*message).msg_controllen > 0 {
            each_descriptor(message, table::forget);
        }
    }
}

unsafe fn each_descriptor(message: *const msghdr, mut visit: impl FnMut(c_int)) {
    unsafe {
        let mut header: *const cmsghdr = libc::CMSG_FIRSTHDR(message);
        while let Some(control) = header.as_ref() {
            if control.cmsg_level == libc::SOL_SOCKET && control.cmsg_type == libc::SCM_RIGHTS {
                let data = libc::CMSG_DATA(header).cast::<c_int>();
                let bytes =
                    (control.cmsg_len as libc::size_t).saturating_sub(libc::CMSG_LEN(0) as usize);
                for index in 0..bytes / size_of::<c_int>() {
                    visit(data.add(index).read_unaligned());
                }
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
}

/// Handles `fcntl(F_DUPFD)`; `fcntl` itself is hooked in [`crate::hooks::process`].
pub(crate) unsafe fn fcntl_dup(fd: c_int, command: c_int, argument: usize) -> c_int {
    keeper::flush(fd, Cause::Close);
    let copy = unsafe { kernel::fcntl(fd, command, argument) };
    after_copy(fd, copy);
    copy
}
