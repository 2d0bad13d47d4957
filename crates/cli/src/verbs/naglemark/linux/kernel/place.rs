//! Where the two ends are: on one machine, in two namespaces of it, or on two machines.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tinygram_link::device::{Addresses, Device};
use tinygram_link::emulator::Rules;
use tinygram_link::namespace::{self, Namespace};
use tinygram_link::netlink;
use tinygram_link::relay::Link;
use tinygram_link::veth::{self, Offload};

use super::server;
use crate::exit::Failure;

/// What joins the client to its server.
#[derive(Clone, Debug)]
pub(in super::super) enum Where {
    /// The loopback device.
    Loopback,
    /// A veth pair between two namespaces made for the run.
    Veth(Offload),
    /// An emulated link between two namespaces made for the run.
    Emulated(Rules, u64),
    /// A server that was started elsewhere.
    Remote(SocketAddr),
}

/// A client's place, with a server that listens.
pub(super) struct Place {
    server: SocketAddr,
    /// The client's end, if it is not this process's own namespace.
    inside: Option<Namespace>,
    options: Options,
    /// Carries packets as long as it is there.
    _link: Option<Link>,
}

/// What must be set before a connection is opened. Sizes are in octets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    pub(super) mss: Option<u16>,
    pub(super) receive_buffer: Option<u64>,
}

impl Place {
    /// Makes what is needed and starts the server there.
    pub(super) fn prepare(place: &Where, options: Options) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::Io {
            doing: format!("preparing --link {}", place.name()),
            error,
        };
        let ready = |server, inside, link| Self {
            server,
            inside,
            options,
            _link: link,
        };
        match place {
            Where::Remote(server) => Ok(ready(*server, None, None)),
            Where::Loopback => {
                let listener = listen((Ipv4Addr::LOCALHOST, 0).into(), options).map_err(failed)?;
                let server = start(listener).map_err(failed)?;
                Ok(ready(server, None, None))
            }
            Where::Veth(offload) => {
                let [near, far] = spaces()?;
                veth::join([&near, &far], DEVICE, [NEAR, FAR], *offload).map_err(failed)?;
                let server = serve_inside(&far, options).map_err(failed)?;
                Ok(ready(server, Some(near), None))
            }
            Where::Emulated(rules, seed) => {
                let [near, far] = spaces()?;
                let device = |space, own| Device::new(space, DEVICE, own, MTU);
                let join = || -> io::Result<Link> {
                    Link::join(device(&near, NEAR)?, device(&far, FAR)?, *rules, *seed)
                };
                let link = join().map_err(failed)?;
                let server = serve_inside(&far, options).map_err(failed)?;
                Ok(ready(server, Some(near), Some(link)))
            }
        }
    }

    /// A new connection to the server.
    pub(super) fn connect(&self) -> io::Result<TcpStream> {
        let connect = || -> io::Result<TcpStream> {
            let socket = socket(self.server, self.options)?;
            socket.connect_timeout(&self.server.into(), CONNECT_TIMEOUT)?;
            let stream: TcpStream = socket.into();
            stream.set_read_timeout(Some(READ_TIMEOUT))?;
            Ok(stream)
        };
        match &self.inside {
            Some(space) => space.within(connect),
            None => connect(),
        }
    }
}

impl Where {
    /// As typed, and as shown.
    pub(in super::super) fn name(&self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::Veth(_) => "veth",
            Self::Emulated(..) => "emulated",
            Self::Remote(_) => "remote",
        }
    }
}

/// A listener with the options that its connections inherit.
pub(super) fn listen(at: SocketAddr, options: Options) -> io::Result<TcpListener> {
    let socket = socket(at, options)?;
    socket.set_reuse_address(true)?;
    socket.bind(&at.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

fn socket(with: SocketAddr, options: Options) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(with), Type::STREAM, Some(Protocol::TCP))?;
    // The profile's congestion control, where the kernel has it. Before there is a connection: one
    // that was BBR's for a moment is paced for ever.
    let _ = socket.set_tcp_congestion(b"cubic");
    if let Some(mss) = options.mss {
        socket.set_tcp_mss(mss.into())?;
    }
    if let Some(octets) = options.receive_buffer {
        socket.set_recv_buffer_size(octets as usize)?;
    }
    Ok(socket)
}

fn spaces() -> Result<[Namespace; 2], Failure> {
    namespace::acquire_privilege().map_err(|error| Failure::Input(error.to_string()))?;
    let make = || -> io::Result<Namespace> {
        let space = Namespace::new()?;
        space.within(netlink::loopback_up)?;
        Ok(space)
    };
    let make = || {
        make().map_err(|error| Failure::Io {
            doing: "making a network namespace".into(),
            error,
        })
    };
    Ok([make()?, make()?])
}

fn serve_inside(space: &Namespace, options: Options) -> io::Result<SocketAddr> {
    start(space.within(|| listen((FAR.v4, 0).into(), options))?)
}

/// The server lives as long as the process.
fn start(listener: TcpListener) -> io::Result<SocketAddr> {
    let at = listener.local_addr()?;
    std::thread::Builder::new()
        .name("server".into())
        .spawn(move || server::serve(&listener))?;
    Ok(at)
}

const DEVICE: &str = "nagle0";
const MTU: u16 = 1500;
const BACKLOG: i32 = 128;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Longer than any stall, and than a few retransmissions in a row.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
const NEAR: Addresses = Addresses {
    v4: Ipv4Addr::new(10, 77, 0, 1),
    v6: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1),
};
const FAR: Addresses = Addresses {
    v4: Ipv4Addr::new(10, 77, 0, 2),
    v6: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 2),
};
