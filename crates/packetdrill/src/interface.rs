//! packetdrill's `struct packetdrill_interface` (`packetdrill.h`), filled by
//! [`packetdrill_interface_init`].

use std::ffi::{c_char, c_int, c_longlong, c_uint, c_ulong, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use libc::{iovec, msghdr, off_t, pollfd, size_t, sockaddr, socklen_t, ssize_t, timeval};

use crate::call::{Call, Errno, Message, Outcome};
use crate::world::Drill;

/// The table of functions, in the order of `packetdrill.h`. `fcntl` and `ioctl` are variadic there;
/// with the calling conventions of Linux on x86-64 and AArch64 their third argument comes where that of
/// a function of three arguments does.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs)] // the C library's names say it all
pub struct Interface {
    pub userdata: *mut c_void,
    pub free: unsafe extern "C" fn(*mut c_void),
    pub socket: unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int) -> c_int,
    pub bind: unsafe extern "C" fn(*mut c_void, c_int, *const sockaddr, socklen_t) -> c_int,
    pub listen: unsafe extern "C" fn(*mut c_void, c_int, c_int) -> c_int,
    pub accept: unsafe extern "C" fn(*mut c_void, c_int, *mut sockaddr, *mut socklen_t) -> c_int,
    pub connect: unsafe extern "C" fn(*mut c_void, c_int, *const sockaddr, socklen_t) -> c_int,
    pub read: unsafe extern "C" fn(*mut c_void, c_int, *mut c_void, size_t) -> ssize_t,
    pub readv: unsafe extern "C" fn(*mut c_void, c_int, *const iovec, c_int) -> ssize_t,
    pub recv: unsafe extern "C" fn(*mut c_void, c_int, *mut c_void, size_t, c_int) -> ssize_t,
    pub recvfrom: unsafe extern "C" fn(
        *mut c_void,
        c_int,
        *mut c_void,
        size_t,
        c_int,
        *mut sockaddr,
        *mut socklen_t,
    ) -> ssize_t,
    pub recvmsg: unsafe extern "C" fn(*mut c_void, c_int, *mut msghdr, c_int) -> ssize_t,
    pub write: unsafe extern "C" fn(*mut c_void, c_int, *const c_void, size_t) -> ssize_t,
    pub writev: unsafe extern "C" fn(*mut c_void, c_int, *const iovec, c_int) -> ssize_t,
    pub send: unsafe extern "C" fn(*mut c_void, c_int, *const c_void, size_t, c_int) -> ssize_t,
    pub sendto: unsafe extern "C" fn(
        *mut c_void,
        c_int,
        *const c_void,
        size_t,
        c_int,
        *const sockaddr,
        socklen_t,
    ) -> ssize_t,
    pub sendmsg: unsafe extern "C" fn(*mut c_void, c_int, *const msghdr, c_int) -> ssize_t,
    pub fcntl: unsafe extern "C" fn(*mut c_void, c_int, c_int, c_ulong) -> c_int,
    pub ioctl: unsafe extern "C" fn(*mut c_void, c_int, c_ulong, *mut c_int) -> c_int,
    pub close: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
    pub shutdown: unsafe extern "C" fn(*mut c_void, c_int, c_int) -> c_int,
    pub getsockopt: unsafe extern "C" fn(
        *mut c_void,
        c_int,
        c_int,
        c_int,
        *mut c_void,
        *mut socklen_t,
    ) -> c_int,
    pub setsockopt:
        unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int, *const c_void, socklen_t) -> c_int,
    pub poll: unsafe extern "C" fn(*mut c_void, *mut pollfd, libc::nfds_t, c_int) -> c_int,
    pub netdev_send: unsafe extern "C" fn(*mut c_void, *const c_void, size_t) -> c_int,
    pub netdev_receive:
        unsafe extern "C" fn(*mut c_void, *mut c_void, *mut size_t, *mut c_longlong) -> c_int,
    pub usleep: unsafe extern "C" fn(*mut c_void, c_uint) -> c_int,
    pub gettimeofday: unsafe extern "C" fn(*mut c_void, *mut timeval, *mut c_void) -> c_int,
    pub epoll_create: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
    pub epoll_ctl:
        unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int, *mut libc::epoll_event) -> c_int,
    pub epoll_wait:
        unsafe extern "C" fn(*mut c_void, c_int, *mut libc::epoll_event, c_int, c_int) -> c_int,
    pub pipe: unsafe extern "C" fn(*mut c_void, *mut c_int) -> c_int,
    pub splice: unsafe extern "C" fn(
        *mut c_void,
        c_int,
        *mut off_t,
        c_int,
        *mut off_t,
        size_t,
        c_uint,
    ) -> c_int,
}

/// Called by packetdrill when it has loaded the object; `--so_flags` are `NAME=VALUE` settings,
/// separated by commas.
///
/// # Safety
///
/// `flags` is null or a C string; `interface` has room for the table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetdrill_interface_init(
    flags: *const c_char,
    interface: *mut Interface,
) {
    let flags = if flags.is_null() {
        String::new()
    } else {
        unsafe { std::ffi::CStr::from_ptr(flags) }
            .to_string_lossy()
            .into_owned()
    };
    let drill = Drill::new(&flags).unwrap_or_else(|wrong| {
        eprintln!("tinygram: {wrong}");
        std::process::exit(2);
    });
    let drill = Arc::new(drill);
    *interposed::DRILL.lock().expect("nobody panics") = Arc::downgrade(&drill);
    let userdata = Arc::into_raw(drill) as *mut c_void;
    unsafe {
        interface.write(Interface {
            userdata,
            free,
            socket,
            bind,
            listen,
            accept,
            connect,
            read,
            readv,
            recv,
            recvfrom,
            recvmsg,
            write,
            writev,
            send,
            sendto,
            sendmsg,
            fcntl,
            ioctl,
            close,
            shutdown,
            getsockopt,
            setsockopt,
            poll,
            netdev_send,
            netdev_receive,
            usleep,
            gettimeofday,
            epoll_create,
            epoll_ctl,
            epoll_wait,
            pipe,
            splice,
        });
    }
}

/// # Safety
///
/// `userdata` is what [`packetdrill_interface_init`] gave.
unsafe fn drill<'a>(userdata: *mut c_void) -> &'a Drill {
    unsafe { &*(userdata as *const Drill) }
}

/// C's way of saying how a call ended.
fn answer(outcome: Result<i64, Errno>) -> i64 {
    match outcome {
        Ok(value) => value,
        Err(Errno(number)) => {
            unsafe { *libc::__errno_location() = number };
            -1
        }
    }
}

unsafe extern "C" fn free(userdata: *mut c_void) {
    drop(unsafe { Arc::from_raw(userdata as *const Drill) });
}

unsafe extern "C" fn socket(user: *mut c_void, domain: c_int, kind: c_int, _: c_int) -> c_int {
    answer(unsafe { drill(user) }.with(|world| world.socket(domain, kind))) as c_int
}

unsafe extern "C" fn bind(
    user: *mut c_void,
    fd: c_int,
    address: *const sockaddr,
    len: socklen_t,
) -> c_int {
    let address = unsafe { address::read(address, len) };
    answer(unsafe { drill(user) }.with(|world| world.bind(fd, address?))) as c_int
}

unsafe extern "C" fn listen(user: *mut c_void, fd: c_int, backlog: c_int) -> c_int {
    answer(unsafe { drill(user) }.with(|world| world.listen(fd, backlog))) as c_int
}

unsafe extern "C" fn accept(
    user: *mut c_void,
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    let drill = unsafe { drill(user) };
    let accepted = drill.call(fd, 0, Call::Accept { fd });
    if let Ok(Outcome { value, .. }) = &accepted {
        let (peer, v6) = drill.with(|world| world.peer(*value as c_int));
        if let Some(peer) = peer {
            unsafe { address::write(peer, v6, address, len) };
        }
    }
    answer(accepted.map(|outcome| outcome.value)) as c_int
}

unsafe extern "C" fn connect(
    user: *mut c_void,
    fd: c_int,
    address: *const sockaddr,
    len: socklen_t,
) -> c_int {
    let drill = unsafe { drill(user) };
    let address = unsafe { address::read(address, len) };
    let begun = drill.with(|world| world.connect(fd, address?));
    let outcome = match begun {
        Ok(true) => drill
            .call(fd, 0, Call::Connect { fd })
            .map(|outcome| outcome.value),
        Ok(false) => Ok(0),
        Err(errno) => Err(errno),
    };
    answer(outcome) as c_int
}

unsafe extern "C" fn read(user: *mut c_void, fd: c_int, to: *mut c_void, len: size_t) -> ssize_t {
    let iov = iovec {
        iov_base: to,
        iov_len: len,
    };
    unsafe { receive(user, fd, &[iov], 0, null_mut()) }
}

unsafe extern "C" fn readv(
    user: *mut c_void,
    fd: c_int,
    pieces: *const iovec,
    count: c_int,
) -> ssize_t {
    let pieces = unsafe { slice(pieces, count as usize) };
    unsafe { receive(user, fd, pieces, 0, null_mut()) }
}

unsafe extern "C" fn recv(
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

unsafe extern "C" fn recvfrom(
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

unsafe extern "C" fn recvmsg(
    user: *mut c_void,
    fd: c_int,
    message: *mut msghdr,
    flags: c_int,
) -> ssize_t {
    let pieces = unsafe { slice((*message).msg_iov, (*message).msg_iovlen) };
    unsafe { receive(user, fd, pieces, flags, message) }
}

/// Reads, and scatters what came over the pieces.
unsafe fn receive(
    user: *mut c_void,
    fd: c_int,
    pieces: &[iovec],
    flags: c_int,
    message: *mut msghdr,
) -> ssize_t {
    let most = pieces.iter().map(|piece| piece.iov_len).sum();
    // As the kernel, a read of something into nowhere is refused before anything is taken.
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

/// The ancillary data: TCP_CM_INQ, if it was asked for and there is room.
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

unsafe extern "C" fn write(
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

unsafe extern "C" fn writev(
    user: *mut c_void,
    fd: c_int,
    pieces: *const iovec,
    count: c_int,
) -> ssize_t {
    let pieces = unsafe { slice(pieces, count as usize) };
    unsafe { transmit(user, fd, pieces, 0, None) }
}

unsafe extern "C" fn send(
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

unsafe extern "C" fn sendto(
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

unsafe extern "C" fn sendmsg(
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

/// Gathers the pieces, and writes them as one.
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

unsafe extern "C" fn fcntl(user: *mut c_void, fd: c_int, command: c_int, value: c_ulong) -> c_int {
    answer(unsafe { drill(user) }.with(|world| world.fcntl(fd, command, value))) as c_int
}

unsafe extern "C" fn ioctl(
    user: *mut c_void,
    fd: c_int,
    request: c_ulong,
    value: *mut c_int,
) -> c_int {
    let asked = unsafe { drill(user) }.with(|world| world.ioctl(fd, request));
    if let Ok(count) = asked {
        unsafe { value.write(count) };
    }
    answer(asked.map(|_| 0)) as c_int
}

unsafe extern "C" fn close(user: *mut c_void, fd: c_int) -> c_int {
    let drill = unsafe { drill(user) };
    let outcome = match drill.with(|world| world.close(fd)) {
        Ok(Some(lingering)) => drill.call(fd, 0, lingering).map(|_| 0),
        Ok(None) => Ok(0),
        Err(errno) => Err(errno),
    };
    answer(outcome) as c_int
}

unsafe extern "C" fn shutdown(user: *mut c_void, fd: c_int, how: c_int) -> c_int {
    answer(unsafe { drill(user) }.with(|world| world.shutdown(fd, how))) as c_int
}

unsafe extern "C" fn getsockopt(
    user: *mut c_void,
    fd: c_int,
    level: c_int,
    name: c_int,
    to: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    let asked = unsafe { drill(user) }.with(|world| world.option(fd, level, name));
    if let Ok(octets) = &asked {
        unsafe {
            let some = octets.len().min(*len as usize);
            std::ptr::copy_nonoverlapping(octets.as_ptr(), to.cast(), some);
            *len = some as socklen_t;
        }
    }
    answer(asked.map(|_| 0)) as c_int
}

unsafe extern "C" fn setsockopt(
    user: *mut c_void,
    fd: c_int,
    level: c_int,
    name: c_int,
    from: *const c_void,
    len: socklen_t,
) -> c_int {
    let octets = unsafe { slice(from.cast::<u8>(), len as usize) };
    answer(unsafe { drill(user) }.with(|world| world.set_option(fd, level, name, octets))) as c_int
}

unsafe extern "C" fn poll(
    user: *mut c_void,
    set: *mut pollfd,
    count: libc::nfds_t,
    timeout: c_int,
) -> c_int {
    let set = if count == 0 {
        &mut []
    } else {
        unsafe { std::slice::from_raw_parts_mut(set, count as usize) }
    };
    let asked = set.iter().map(|one| (one.fd, one.events)).collect();
    let answered = unsafe { drill(user) }.wait_for(timeout, |until| Call::Poll { asked, until });
    if let Ok(outcome) = &answered {
        for (one, (_, events)) in set.iter_mut().zip(&outcome.ready) {
            one.revents = *events as i16;
        }
    }
    answer(answered.map(|outcome| outcome.value)) as c_int
}

unsafe extern "C" fn netdev_send(user: *mut c_void, from: *const c_void, len: size_t) -> c_int {
    let packet = unsafe { slice(from.cast::<u8>(), len) };
    unsafe { drill(user) }.with(|world| world.on_packet(packet));
    0
}

unsafe extern "C" fn netdev_receive(
    user: *mut c_void,
    to: *mut c_void,
    len: *mut size_t,
    at: *mut c_longlong,
) -> c_int {
    let (micros, packet) = unsafe { drill(user) }.next_packet();
    unsafe {
        let some = packet.len().min(*len);
        std::ptr::copy_nonoverlapping(packet.as_ptr(), to.cast(), some);
        *len = some;
        *at = micros;
    }
    0
}

unsafe extern "C" fn usleep(user: *mut c_void, micros: c_uint) -> c_int {
    unsafe { drill(user) }.sleep(u64::from(micros));
    0
}

unsafe extern "C" fn gettimeofday(user: *mut c_void, to: *mut timeval, _: *mut c_void) -> c_int {
    let micros = unsafe { drill(user) }.look_at_the_clock();
    unsafe {
        to.write(timeval {
            tv_sec: (micros / 1_000_000) as _,
            tv_usec: (micros % 1_000_000) as _,
        });
    }
    0
}

unsafe extern "C" fn epoll_create(user: *mut c_void, _: c_int) -> c_int {
    answer(unsafe { drill(user) }.with(super::world::World::epoll_create)) as c_int
}

unsafe extern "C" fn epoll_ctl(
    user: *mut c_void,
    epoll: c_int,
    operation: c_int,
    fd: c_int,
    event: *mut libc::epoll_event,
) -> c_int {
    let event = unsafe { event.as_ref() }.map(|event| (event.events, event.u64));
    answer(unsafe { drill(user) }.with(|world| world.epoll_ctl(epoll, operation, fd, event)))
        as c_int
}

unsafe extern "C" fn epoll_wait(
    user: *mut c_void,
    epoll: c_int,
    events: *mut libc::epoll_event,
    most: c_int,
    timeout: c_int,
) -> c_int {
    let most = most.max(0) as usize;
    let answered =
        unsafe { drill(user) }.wait_for(timeout, |until| Call::Epoll { epoll, most, until });
    if let Ok(outcome) = &answered {
        for (at, (data, ready)) in outcome.ready.iter().enumerate() {
            let event = libc::epoll_event {
                events: *ready,
                u64: *data,
            };
            unsafe { events.add(at).write_unaligned(event) };
        }
    }
    answer(answered.map(|outcome| outcome.value)) as c_int
}

unsafe extern "C" fn pipe(_: *mut c_void, ends: *mut c_int) -> c_int {
    unsafe { libc::pipe(ends) }
}

/// Between a pipe of the kernel's and a socket of ours.
unsafe extern "C" fn splice(
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

/// # Safety
///
/// As [`std::slice::from_raw_parts`], but that there may be nothing at all.
unsafe fn slice<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if count == 0 || first.is_null() {
        &[]
    } else {
        unsafe { std::slice::from_raw_parts(first, count) }
    }
}

/// Addresses as the C library has them.
mod address {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

    use libc::{AF_INET, AF_INET6, sockaddr, sockaddr_in, sockaddr_in6, socklen_t};

    use crate::call::Errno;

    /// Returns an address as IPv4's where an IPv6 address stands for one.
    pub(super) unsafe fn read(from: *const sockaddr, len: socklen_t) -> Result<SocketAddr, Errno> {
        if from.is_null() {
            return Err(Errno(libc::EFAULT));
        }
        let len = len as usize;
        match i32::from(unsafe { (*from).sa_family }) {
            AF_INET if len >= size_of::<sockaddr_in>() => {
                let from = unsafe { from.cast::<sockaddr_in>().read_unaligned() };
                let address = Ipv4Addr::from(u32::from_be(from.sin_addr.s_addr));
                Ok((address, u16::from_be(from.sin_port)).into())
            }
            AF_INET6 if len >= size_of::<sockaddr_in6>() => {
                let from = unsafe { from.cast::<sockaddr_in6>().read_unaligned() };
                let address = Ipv6Addr::from(from.sin6_addr.s6_addr);
                Ok((address.to_canonical(), u16::from_be(from.sin6_port)).into())
            }
            AF_INET | AF_INET6 => Err(Errno(libc::EINVAL)),
            _ => Err(Errno(libc::EAFNOSUPPORT)),
        }
    }

    /// `v6`: the socket is one of IPv6.
    pub(super) unsafe fn write(
        address: SocketAddr,
        v6: bool,
        to: *mut sockaddr,
        len: *mut socklen_t,
    ) {
        if to.is_null() || len.is_null() {
            return;
        }
        let port = address.port().to_be();
        match address.ip() {
            IpAddr::V4(ip) if !v6 => {
                let mut from: sockaddr_in = unsafe { std::mem::zeroed() };
                from.sin_family = AF_INET as _;
                from.sin_port = port;
                from.sin_addr.s_addr = u32::from(ip).to_be();
                unsafe { copy(&from, to, len) };
            }
            ip => {
                let ip = match ip {
                    IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                    IpAddr::V6(ip) => ip,
                };
                let mut from: sockaddr_in6 = unsafe { std::mem::zeroed() };
                from.sin6_family = AF_INET6 as _;
                from.sin6_port = port;
                from.sin6_addr.s6_addr = ip.octets();
                unsafe { copy(&from, to, len) };
            }
        }
    }

    unsafe fn copy<T>(from: &T, to: *mut sockaddr, len: *mut socklen_t) {
        unsafe {
            let some = size_of::<T>().min(*len as usize);
            std::ptr::copy_nonoverlapping(std::ptr::from_ref(from).cast::<u8>(), to.cast(), some);
            *len = size_of::<T>() as socklen_t;
        }
    }
}

/// What packetdrill asks of the C library and not of its interface. With this object loaded before the
/// C library (`LD_PRELOAD`) it is answered for descriptors of ours; for all others the kernel answers.
mod interposed {
    use std::ffi::{c_int, c_long, c_void};
    use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
    use std::sync::{Arc, Mutex, Weak};

    use libc::{SYS_getsockopt, SYS_sendfile, SYS_times, off_t, size_t, socklen_t, ssize_t};

    use super::Call;
    use crate::call::Message;
    use crate::world::Drill;

    pub(super) static DRILL: Mutex<Weak<Drill>> = Mutex::new(Weak::new());

    fn ours(fd: c_int) -> Option<Arc<Drill>> {
        let drill = DRILL.lock().ok()?.upgrade()?;
        drill.with(|world| world.knows(fd)).then_some(drill)
    }

    /// # Safety
    ///
    /// As the C library's.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn getsockopt(
        fd: c_int,
        level: c_int,
        name: c_int,
        to: *mut c_void,
        len: *mut socklen_t,
    ) -> c_int {
        match ours(fd) {
            Some(drill) => {
                let userdata = Arc::as_ptr(&drill) as *mut c_void;
                unsafe { super::getsockopt(userdata, fd, level, name, to, len) }
            }
            None => (unsafe { libc::syscall(SYS_getsockopt, fd, level, name, to, len) }) as c_int,
        }
    }

    /// # Safety
    ///
    /// As the C library's.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn sendfile(
        to: c_int,
        from: c_int,
        offset: *mut off_t,
        count: size_t,
    ) -> ssize_t {
        let Some(drill) = ours(to) else {
            return (unsafe { libc::syscall(SYS_sendfile, to, from, offset, count) }) as ssize_t;
        };
        let mut octets = vec![0_u8; count];
        let got = unsafe {
            match offset.as_mut() {
                Some(at) => {
                    let got = libc::pread(from, octets.as_mut_ptr().cast(), count, *at);
                    *at += got.max(0) as off_t;
                    got
                }
                None => libc::read(from, octets.as_mut_ptr().cast(), count),
            }
        };
        if got < 0 {
            return got;
        }
        octets.truncate(got as usize);
        let message = Message {
            octets,
            damaged: false,
            to: None,
        };
        let sent = drill.call(to, 0, Call::write(to, message, 0));
        super::answer(sent.map(|outcome| outcome.value)) as ssize_t
    }

    /// packetdrill waits for ten ticks of the kernel's clock before a script begins; in virtual time
    /// nothing is gained by that.
    ///
    /// # Safety
    ///
    /// As the C library's.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn times(to: *mut c_void) -> c_long {
        static TICKS: AtomicI64 = AtomicI64::new(0);
        if DRILL.lock().is_ok_and(|drill| drill.strong_count() > 0) && to.is_null() {
            return TICKS.fetch_add(1, Relaxed);
        }
        (unsafe { libc::syscall(SYS_times, to) }) as c_long
    }
}
