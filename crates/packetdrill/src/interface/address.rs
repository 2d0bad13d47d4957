//! Addresses in the C library's form.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use libc::{AF_INET, AF_INET6, sockaddr, sockaddr_in, sockaddr_in6, socklen_t};

use crate::call::Errno;

/// Reads an address; an IPv6 address that maps an IPv4 address becomes the IPv4 address.
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

/// Writes an address; `v6` says that the socket is an IPv6 one.
pub(super) unsafe fn write(address: SocketAddr, v6: bool, to: *mut sockaddr, len: *mut socklen_t) {
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
