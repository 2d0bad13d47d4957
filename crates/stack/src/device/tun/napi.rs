//! A TUN device whose packets are taken in by a kernel thread of its own (IFF_NAPI and threaded
//! NAPI), which `tun-rs` does not set up.

use std::ffi::{c_char, c_short};
use std::fs::File;
use std::io;
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
        device.add_address_v4(address, prefix)?;
    }
    if let Some((address, prefix)) = settings.ipv6 {
        device.add_address_v6(address, prefix)?;
    }
    device.enabled(true)?;
    set_threaded(&device.name()?)?;
    Ok(device)
}

/// TUNSETIFF.
fn attach(tun: &File, name: &str) -> io::Result<()> {
    // SAFETY: all zeros is a valid value of the C structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        let why = format!("a device's name has at most 15 octets, unlike {name:?}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    for (place, octet) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = octet as c_char;
    }
    let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_NAPI;
    request.ifr_ifru.ifru_flags = flags as c_short;
    // SAFETY: the descriptor is open, and the call reads and writes a request of this form.
    let done = unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
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
