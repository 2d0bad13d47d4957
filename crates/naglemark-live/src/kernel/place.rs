//! The place of the two ends: on one machine, in two namespaces of one machine, or on two machines.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use tinygram_link::device::TunDevice;
use tinygram_link::emulator::Rules;
use tinygram_link::namespace::Namespace;
use tinygram_link::processors;
use tinygram_link::relay::Link;
use tinygram_link::veth::{self, Offload};
use tinygram_naglemark::{Duration, Error, MediumKind, NOMINAL_RATE};

use super::rules::Now;
use super::server;
use crate::client::Client;
use crate::networks::{DEVICE, FAR, MTU, NEAR, space};
use crate::socket::{Options, listen};

/// What joins the client to its server.
#[derive(Clone, Debug)]
pub enum Where {
    /// The loopback device.
    Loopback,
    /// A veth pair between two namespaces made for the run.
    Veth(Offload),
    /// An emulated link, with the seed of its random decisions, between two namespaces made for the
    /// run.
    Emulated(Rules, u64),
    /// A server that was started elsewhere.
    Remote(SocketAddr),
}

/// A client, and the server that listens for it.
pub(super) struct Place {
    pub(super) client: Client,
    pub(super) server: SocketAddr,
    /// The client's processor, if the two ends have one each.
    pub(super) processor: Option<usize>,
    /// The link, which carries packets until it is dropped.
    _link: Option<Link>,
}

impl Place {
    /// Makes what is needed and starts the server there.
    pub(super) fn prepare(place: &Where, options: Options, rule: &Now) -> Result<Self, Error> {
        let failed =
            |error: io::Error| Error::failed(format!("preparing --link {}", place.name()), error);
        let ready = |server, inside, processor, link| Self {
            client: Client::new(inside, options),
            server,
            processor,
            _link: link,
        };
        // An emulated link needs processors, too, and with it the placement of the two ends matters
        // less.
        let [own, servers] = match (place, processors::two()) {
            (Where::Loopback | Where::Veth(_), Some(two)) => two.map(Some),
            _ => [None, None],
        };
        match place {
            Where::Remote(server) => Ok(ready(*server, None, None, None)),
            Where::Loopback => {
                let listener = listen((Ipv4Addr::LOCALHOST, 0).into(), options).map_err(failed)?;
                let server = start(listener, servers, rule).map_err(failed)?;
                Ok(ready(server, None, own, None))
            }
            Where::Veth(offload) => {
                let [near, far] = [space()?, space()?];
                veth::join([&near, &far], DEVICE, [NEAR, FAR], *offload).map_err(failed)?;
                let server = serve_inside(&far, options, servers, rule).map_err(failed)?;
                Ok(ready(server, Some(near), own, None))
            }
            Where::Emulated(rules, seed) => {
                let [near, far] = [space()?, space()?];
                let device = |space, own| TunDevice::new(space, DEVICE, own, MTU);
                let join = || -> io::Result<Link> {
                    Link::join(device(&near, NEAR)?, device(&far, FAR)?, *rules, *seed)
                };
                let link = join().map_err(failed)?;
                let server = serve_inside(&far, options, None, rule).map_err(failed)?;
                Ok(ready(server, Some(near), None, Some(link)))
            }
        }
    }
}

impl Where {
    /// Returns the name, as typed and as shown.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::Veth(_) => "veth",
            Self::Emulated(..) => "emulated",
            Self::Remote(_) => "remote",
        }
    }

    /// Returns the link's rules, if it is emulated.
    pub(super) fn rules(&self) -> Option<&Rules> {
        match self {
            Self::Emulated(rules, _) => Some(rules),
            _ => None,
        }
    }

    /// Returns whether this place needs new namespaces.
    #[must_use]
    pub fn needs_namespaces(&self) -> bool {
        matches!(self, Self::Veth(_) | Self::Emulated(..))
    }
}

/// Returns what a score's estimate is based on: rate and round-trip time of an emulated link, or a
/// nominal rate if the link is as fast as the machine.
pub(crate) fn estimated(rules: Option<&Rules>) -> (MediumKind, Duration) {
    let bits_per_second = rules.and_then(|rules| rules.rate).unwrap_or(NOMINAL_RATE);
    let rtt = rules.map_or(0, |rules| 2 * rules.delay.as_nanos() as u64);
    let medium = MediumKind::PointToPoint { bits_per_second };
    (medium, Duration::from_nanos(rtt))
}

fn serve_inside(
    space: &Namespace,
    options: Options,
    processor: Option<usize>,
    rule: &Now,
) -> io::Result<SocketAddr> {
    let listener = space.within(|| listen((FAR.v4, 0).into(), options))??;
    start(listener, processor, rule)
}

/// Starts the server, which runs until the process ends.
fn start(listener: TcpListener, processor: Option<usize>, rule: &Now) -> io::Result<SocketAddr> {
    let (at, rule) = (listener.local_addr()?, rule.clone());
    std::thread::Builder::new()
        .name("server".into())
        .spawn(move || {
            processor.into_iter().for_each(processors::keep_to);
            server::serve_under(&listener, &rule);
        })?;
    Ok(at)
}
