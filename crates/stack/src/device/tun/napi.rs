//! A TUN device whose packets are taken in by a kernel thread of its own (IFF_NAPI and threaded
//! NAPI), which `tun-rs` does not set up.

use std::ffi::{c_char, c_short};
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsRawFd, IntoRawFd};

use tun_rs::SyncDevice;

use super::TunSettings;

/// Opens the device, without offload.
pub(super) fn open(settings: &TunSettings) -> io::Result<SyncDevice> {
    let tun = File::options()
        .read(true)
        .write(true)
        .open("/dev/net/tun")?;
    attach(&tun, settings.name.as_deref().unwrap_or(""))?;
    // SAFETY: the descriptor is that of a TUN device without extra headers, and its ownership is
    // passed on.
    let device = unsafe { SyncDevice::from_fd(tun.into_raw_fd()) }?;
    device.set_mtu(settings.mtu)?;
    if let Some((address, prefix)) = settings.ipv4 {
        set_ipv4(&device.name()?, address, prefix)?;
    }
    if let Some((address, prefix)) = settings.ipv6 {
        device.add_address_v6(address, prefix)?;
    }
    device.enabled(true)?;
    set_threaded(&device.name()?)?;
    Ok(device)
}

/// Makes the descriptor that of a device (TUNSETIFF).
fn attach(tun: &File, name: &str) -> io::Result<()> {
    let mut request = request(name)?;
    let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_NAPI;
    request.ifr_ifru.ifru_flags = flags as c_short;
    ask(tun, libc::TUNSETIFF, &mut request)
}

/// Sets the device's address and its mask (SIOCSIFADDR, SIOCSIFNETMASK). `tun-rs` does this only
/// while it makes a device, or with a netlink library as large as the rest of this crate's.
fn set_ipv4(name: &str, address: Ipv4Addr, prefix: u8) -> io::Result<()> {
    let mask = u32::MAX.checked_shl(32 - u32::from(prefix.min(32)));
    let mask = Ipv4Addr::from(mask.unwrap_or(0));
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    for (what, value) in [(libc::SIOCSIFADDR, address), (libc::SIOCSIFNETMASK, mask)] {
        let [a, b, c, d] = value.octets().map(|octet| octet as c_char);
        let mut request = request(name)?;
        request.ifr_ifru.ifru_addr = libc::sockaddr {
            sa_family: libc::AF_INET as libc::sa_family_t,
            // The port, the address, and what is not used.
            sa_data: [0, 0, a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0],
        };
        // The constants have glibc's type of a request; musl's is narrower.
        ask(&socket, what as libc::Ioctl, &mut request)?;
    }
    Ok(())
}

/// Returns a request about the device of this name.
fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all zeros is a valid value of the C structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        let why = format!("a device's name has at most 15 octets, unlike {name:?}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    for (place, octet) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = octet as c_char;
    }
    Ok(request)
}

fn ask(descriptor: &impl AsRawFd, what: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the call reads and writes a request of this form.
    let done = unsafe { libc::ioctl(descriptor.as_raw_fd(), what, request) };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set_threaded(name: &str) -> io::Result<()> {
    let path = format!("/sys/class/net/{name}/threaded");
    std::fs::write(&path, "1").map_err(|error| {
        let why = format!("{path}: {error} (is /sys that of this network namespace?)");
        io::Error::new(error.kind(), why)
    })
}
