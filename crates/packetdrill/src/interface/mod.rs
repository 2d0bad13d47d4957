//! packetdrill's `struct packetdrill_interface` (`packetdrill.h`), filled by
//! [`packetdrill_interface_init`].

#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "one reason for all: packetdrill passes what packetdrill.h says, as the C library's callers do"
)]

mod address;
mod caller;
mod interposed;
mod sockets;
mod transfer;

use std::ffi::{c_char, c_int, c_longlong, c_uint, c_ulong, c_void};
use std::sync::Arc;

use libc::{iovec, msghdr, off_t, pollfd, size_t, sockaddr, socklen_t, ssize_t, timeval};

use crate::world::Drill;

/// The table of functions, in the order of `packetdrill.h`. `fcntl` and `ioctl` are variadic there;
/// in the calling conventions of Linux on x86-64 and AArch64, their third argument is passed like
/// that of a function with three arguments.
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

/// Is called by packetdrill when it has loaded the object; `--so_flags` are `NAME=VALUE` settings,
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
            free: sockets::free,
            socket: sockets::socket,
            bind: sockets::bind,
            listen: sockets::listen,
            accept: sockets::accept,
            connect: sockets::connect,
            read: transfer::read,
            readv: transfer::readv,
            recv: transfer::recv,
            recvfrom: transfer::recvfrom,
            recvmsg: transfer::recvmsg,
            write: transfer::write,
            writev: transfer::writev,
            send: transfer::send,
            sendto: transfer::sendto,
            sendmsg: transfer::sendmsg,
            fcntl: sockets::fcntl,
            ioctl: sockets::ioctl,
            close: sockets::close,
            shutdown: sockets::shutdown,
            getsockopt: sockets::getsockopt,
            setsockopt: sockets::setsockopt,
            poll: sockets::poll,
            netdev_send: sockets::netdev_send,
            netdev_receive: sockets::netdev_receive,
            usleep: sockets::usleep,
            gettimeofday: sockets::gettimeofday,
            epoll_create: sockets::epoll_create,
            epoll_ctl: sockets::epoll_ctl,
            epoll_wait: sockets::epoll_wait,
            pipe: transfer::pipe,
            splice: transfer::splice,
        });
    }
}
