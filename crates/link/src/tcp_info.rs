//! What the kernel tells about a TCP connection (`TCP_INFO`).

use std::os::fd::{AsFd, AsRawFd};

use libc::{c_int, socklen_t};
use netlink_packet_sock_diag::inet::nlas::TcpInfo;

/// Nothing if it is not a TCP connection.
pub fn tcp_info(socket: &impl AsFd) -> Option<TcpInfo> {
    let mut bytes = [0_u8; 512];
    let length = get(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes)?;
    // An older kernel knows fewer fields: those it does not know stay zero.
    TcpInfo::parse(&bytes[..length.max(TCP_INFO_FULL)]).ok()
}

/// Returns the length of an option's value, which is in `bytes` then.
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
