//! Reads the kernel's information about a TCP connection (`TCP_INFO`).

use std::os::fd::{AsFd, AsRawFd};

use libc::{c_int, socklen_t};
use netlink_packet_sock_diag::inet::nlas::TcpInfo;

/// Returns the kernel's `TCP_INFO`, or `None` if the socket is not a TCP connection.
pub fn tcp_info(socket: &impl AsFd) -> Option<TcpInfo> {
    let mut bytes = [0_u8; 512];
    let length = get(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes)?;
    // An older kernel fills fewer fields; the others stay zero.
    TcpInfo::parse(&bytes[..length.max(TCP_INFO_FULL)]).ok()
}

/// Reads an option's value into `bytes` and returns its length.
pub fn get(socket: &impl AsFd, level: c_int, name: c_int, bytes: &mut [u8]) -> Option<usize> {
    let mut length = bytes.len() as socklen_t;
    // SAFETY: the kernel writes at most `length` bytes.
    let failed = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            name,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    (failed == 0).then_some(length as usize)
}

/// At least as long as the `struct tcp_info` that the parser knows.
const TCP_INFO_FULL: usize = 256;
