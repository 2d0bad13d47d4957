//! Shared by the examples: a stack on its own TUN device.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tinygram_stack::{Stack, Tun, TunSettings};

/// The kernel's addresses on the device, and the stack's.
pub(crate) const KERNEL_V4: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
pub(crate) const STACK_V4: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
pub(crate) const KERNEL_V6: Ipv6Addr = Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1);
pub(crate) const STACK_V6: Ipv6Addr = Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 2);

/// Returns a stack that is connected to the kernel by a TUN device, and the remaining arguments.
/// `--no-offload` makes every packet on the device look as on a wire; `--mtu N` and `--name NAME`
/// set up the device.
pub(crate) fn stack() -> io::Result<(Stack, Vec<String>)> {
    let mut settings = TunSettings {
        ipv4: Some((KERNEL_V4, 24)),
        ipv6: Some((KERNEL_V6, 64)),
        ..TunSettings::default()
    };
    let mut rest = Vec::new();
    let mut arguments = std::env::args().skip(1);
    let bad = |text: &str| io::Error::new(io::ErrorKind::InvalidInput, text.to_owned());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--no-offload" => settings.offload = false,
            "--mtu" => {
                let mtu = arguments.next().and_then(|mtu| mtu.parse().ok());
                settings.mtu = mtu.ok_or_else(|| bad("--mtu wants octets, 1280 to 65535"))?;
            }
            "--name" => {
                let name = arguments.next().ok_or_else(|| bad("--name wants a name"))?;
                settings.name = Some(name);
            }
            _ => rest.push(argument),
        }
    }
    let tun = Tun::open(&settings).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => io::Error::new(
            error.kind(),
            "no right to make a TUN device: run as root, or in a namespace of your own \
             (unshare --user --map-root-user --net)",
        ),
        _ => error,
    })?;
    eprintln!("kernel {KERNEL_V4} and {KERNEL_V6} on {}", tun.name()?);
    eprintln!("stack  {STACK_V4} and {STACK_V6}");
    let addresses = [IpAddr::from(STACK_V4), IpAddr::from(STACK_V6)];
    Ok((Stack::new(tun, &addresses)?, rest))
}
