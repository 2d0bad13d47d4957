//! Shared by the examples: a stack on its own TUN device.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tinygram_stack::{Stack, Tun, TunSettings};

/// The kernel's addresses on the device unless others are given, each with the number of its bits
/// that name the network. `tinygram link` uses other networks.
const KERNEL_V4: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 78, 0, 1), 24);
const KERNEL_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0xfd78, 0, 0, 0, 0, 0, 0, 1), 64);

/// A stack that is connected to the kernel by a TUN device.
pub(crate) struct Example {
    pub(crate) stack: Stack,
    /// The stack's addresses, IPv4 first.
    #[allow(dead_code)] // not every example says where it is
    pub(crate) addresses: [IpAddr; 2],
    /// The arguments that are not about the device.
    pub(crate) rest: Vec<String>,
}

/// Makes the stack and its device as the arguments demand. `--address ADDRESS/BITS` (once for each
/// family) is the kernel's address on the device; the stack has the next one. `--no-offload` makes
/// every packet on the device look as on a wire; `--mtu N` and `--name NAME` set up the device.
pub(crate) fn stack() -> io::Result<Example> {
    let mut settings = TunSettings {
        ipv4: Some(KERNEL_V4),
        ipv6: Some(KERNEL_V6),
        ..TunSettings::default()
    };
    let mut rest = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--no-offload" => settings.offload = false,
            "--address" => {
                let address = arguments.next().and_then(|text| address(&text));
                let usage = "--address wants the kernel's address on the device, such as \
                             10.78.0.1/24 or fd78::1/64; the next address of the network is the \
                             stack's";
                match address.ok_or_else(|| bad(usage))? {
                    (IpAddr::V4(address), bits) => settings.ipv4 = Some((address, bits)),
                    (IpAddr::V6(address), bits) => settings.ipv6 = Some((address, bits)),
                }
            }
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
    open(&settings, rest)
}

fn bad(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text.to_owned())
}

/// Returns the address and the bits of `ADDRESS/BITS`, if the next address is in the same network.
fn address(text: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = text.split_once('/')?;
    let (address, bits): (IpAddr, u8) = (address.parse().ok()?, bits.parse().ok()?);
    let same_network = match (address, next(address)?) {
        (IpAddr::V4(one), IpAddr::V4(other)) => {
            let host = 32_u32.checked_sub(bits.into())?;
            let of = |address: Ipv4Addr| address.to_bits().checked_shr(host).unwrap_or(0);
            of(one) == of(other)
        }
        (IpAddr::V6(one), IpAddr::V6(other)) => {
            let host = 128_u32.checked_sub(bits.into())?;
            let of = |address: Ipv6Addr| address.to_bits().checked_shr(host).unwrap_or(0);
            of(one) == of(other)
        }
        _ => false,
    };
    same_network.then_some((address, bits))
}

/// Returns the address after this one.
fn next(address: IpAddr) -> Option<IpAddr> {
    Some(match address {
        IpAddr::V4(v4) => Ipv4Addr::from_bits(v4.to_bits().checked_add(1)?).into(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits().checked_add(1)?).into(),
    })
}

fn open(settings: &TunSettings, rest: Vec<String>) -> io::Result<Example> {
    let kernel = [
        settings.ipv4.expect("an address of each family").0.into(),
        settings.ipv6.expect("an address of each family").0.into(),
    ];
    let addresses = kernel.map(|address| next(address).expect("the arguments were checked"));
    let tun = Tun::open(settings).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => io::Error::new(
            error.kind(),
            "no right to make a TUN device: run as root, or in a namespace of your own \
             (unshare --user --map-root-user --net)",
        ),
        _ => error,
    })?;
    eprintln!("kernel {} and {} on {}", kernel[0], kernel[1], tun.name()?);
    eprintln!("stack  {} and {}", addresses[0], addresses[1]);
    Ok(Example {
        stack: Stack::new(tun, &addresses)?,
        addresses,
        rest,
    })
}
