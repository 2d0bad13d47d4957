//! The numbers by which the kernel tells sockets, and network namespaces, from all others since the machine was started.

use std::io;
use std::os::fd::AsRawFd;

use libc::c_int;

/// Returns the socket's own.
pub(crate) fn of(socket: &impl AsRawFd) -> io::Result<u64> {
    read(socket, libc::SO_COOKIE)
}

/// Returns that of the socket's network namespace. Linux 5.14 and newer tell it.
pub(crate) fn of_namespace(socket: &impl AsRawFd) -> io::Result<u64> {
    read(socket, SO_NETNS_COOKIE)
}

fn read(socket: &impl AsRawFd, option: c_int) -> io::Result<u64> {
    let mut cookie = 0_u64;
    let mut length = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the kernel writes at most as many octets as the number has.
    let failed = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    };
    match failed {
        0 => Ok(cookie),
        _ => Err(io::Error::last_os_error()),
    }
}

/// In `linux/socket.h`s of all architectures but two, which Linux 5.14 gave it.
const SO_NETNS_COOKIE: c_int = 71;
