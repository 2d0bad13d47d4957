//! The routes of a network namespace, and their `quickack`.
//!
//! A route is changed as the kernel reports it, with all that it has (gateway, device, metric, multipath, other metrics):
//! `ip route change` with an incomplete line would drop the rest. A changed route is read again, and put back at once if
//! anything but `quickack` differs.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::ControlFlow;

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REPLACE};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteMetric,
    RouteProtocol, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use serde::{Deserialize, Serialize};
use tinygram_link::netlink;

/// What tells a route from the others of its namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RouteKey {
    /// The destination network.
    pub destination: IpAddr,
    /// The length of its prefix, in bits.
    pub length: u8,
    /// The table, by number: 254 is `main`, 255 `local`.
    pub table: u32,
    /// The type of service.
    pub tos: u8,
    /// The metric (priority): the lower goes first.
    pub metric: u32,
}

/// A route, as the kernel reports it.
#[derive(Clone, Debug)]
pub struct Route {
    message: RouteMessage,
}

/// The reason why a route is not changed, in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RouteError {
    /// The kernel refused.
    #[error("{0}")]
    Kernel(#[from] io::Error),
    /// It is gone.
    #[error("there is no such route any more")]
    Gone,
    /// Others have the same destination, table and metric.
    #[error("{0} routes have this destination, table and metric; a change could meet another one")]
    Several(usize),
    /// It is of a kind that cannot be written as it was read.
    #[error("{0}")]
    Unchangeable(&'static str),
    /// The kernel made something else of it.
    #[error("the kernel changed more of it than quickack, so it was put back")]
    ChangedMore,
}

impl Route {
    /// Returns the route that this thread's network namespace has from one address to another. Marks and devices to which
    /// a socket is bound are not taken into account.
    ///
    /// # Errors
    ///
    /// Returns what the kernel refuses, as when there is none.
    pub fn between(local: IpAddr, remote: IpAddr) -> io::Result<Self> {
        let mut asked = RouteMessage::default();
        asked.header.address_family = family(remote);
        // Without the second flag the kernel names the main table, whichever it found.
        asked.header.flags = RouteFlags::FibMatch | RouteFlags::LookupTable;
        asked.header.destination_prefix_length = bits(remote);
        asked.header.source_prefix_length = bits(local);
        asked.attributes = vec![
            RouteAttribute::Destination(remote.into()),
            RouteAttribute::Source(local.into()),
        ];
        let answers = ask(RouteNetlinkMessage::GetRoute(asked), 0)?;
        let message = answers.into_iter().next();
        let mut route = message
            .map(|message| Self { message })
            .ok_or(io::ErrorKind::NotFound)?;
        // Without rules of its own the kernel looks into both tables as one, and names the main one for either.
        let is_local = route.message.header.kind == RouteType::Local;
        if is_local && matches!(Self::find(&route.key()), Err(RouteError::Gone)) {
            route.set_table(LOCAL);
        }
        Ok(route)
    }

    /// Returns the only route of this thread's network namespace that has this key.
    ///
    /// # Errors
    ///
    /// Returns that there is none or are several, or what the kernel refuses.
    pub fn find(key: &RouteKey) -> Result<Self, RouteError> {
        let mut asked = RouteMessage::default();
        asked.header.address_family = family(key.destination);
        let all = ask(RouteNetlinkMessage::GetRoute(asked), NLM_F_DUMP)?;
        let routes = all.into_iter().map(|message| Self { message });
        let mut those: Vec<Self> = routes
            .filter(|route| route.is_configured() && route.key() == *key)
            .collect();
        match those.len() {
            0 => Err(RouteError::Gone),
            1 => Ok(those.remove(0)),
            count => Err(RouteError::Several(count)),
        }
    }

    /// Returns what tells it from others.
    #[must_use]
    pub fn key(&self) -> RouteKey {
        let header = &self.message.header;
        let mut key = RouteKey {
            destination: match header.address_family {
                AddressFamily::Inet6 => Ipv6Addr::UNSPECIFIED.into(),
                _ => Ipv4Addr::UNSPECIFIED.into(),
            },
            length: header.destination_prefix_length,
            table: header.table.into(),
            tos: header.tos,
            metric: 0,
        };
        for attribute in &self.message.attributes {
            match attribute {
                RouteAttribute::Destination(RouteAddress::Inet(address)) => {
                    key.destination = (*address).into();
                }
                RouteAttribute::Destination(RouteAddress::Inet6(address)) => {
                    key.destination = (*address).into();
                }
                RouteAttribute::Table(table) => key.table = *table,
                RouteAttribute::Priority(metric) => key.metric = *metric,
                _ => {}
            }
        }
        key
    }

    fn set_table(&mut self, table: u32) {
        self.message.header.table = u8::try_from(table).unwrap_or(RouteHeader::RT_TABLE_UNSPEC);
        for attribute in &mut self.message.attributes {
            if let RouteAttribute::Table(named) = attribute {
                *named = table;
            }
        }
    }

    /// Returns whether `quickack` is on.
    #[must_use]
    pub fn quickack(&self) -> bool {
        let mut metrics = self.metrics().iter();
        metrics.any(|metric| matches!(metric, RouteMetric::QuickAck(value) if *value != 0))
    }

    /// Sets `quickack`, and leaves everything else as it is.
    ///
    /// # Errors
    ///
    /// Returns why it is not changed.
    pub fn set_quickack(&self, on: bool) -> Result<(), RouteError> {
        if let Some(why) = self.unchangeable() {
            return Err(RouteError::Unchangeable(why));
        }
        let wanted = self.with_quickack(on);
        replace(&wanted)?;
        let found = Self::find(&self.key())?;
        match found.content() == wanted.content() {
            true => Ok(()),
            false => {
                replace(self)?;
                Err(RouteError::ChangedMore)
            }
        }
    }

    /// Returns why the route cannot be written as it was read.
    fn unchangeable(&self) -> Option<&'static str> {
        let header = &self.message.header;
        let is_v6 = header.address_family == AddressFamily::Inet6;
        let has = |is: fn(&RouteAttribute) -> bool| self.message.attributes.iter().any(is);
        if is_v6 && self.key().metric == 0 {
            Some("an IPv6 route of the kernel's own (metric 0) cannot be changed")
        } else if has(|one| matches!(one, RouteAttribute::Expires(_)))
            || header.protocol == RouteProtocol::Ra
        {
            Some("a router advertises it and would set it anew")
        } else if has(|one| matches!(one, RouteAttribute::Encap(_) | RouteAttribute::EncapType(_)))
        {
            Some("it encapsulates its packets, which cannot be written as it was read")
        } else if header.source_prefix_length != 0 {
            Some("it depends on the source address, which cannot be told from others by its key")
        } else {
            None
        }
    }

    /// Returns whether it is an entry of a table, not one that the kernel keeps of a path that was used.
    fn is_configured(&self) -> bool {
        !self.message.header.flags.contains(RouteFlags::Cloned)
    }

    fn metrics(&self) -> &[RouteMetric] {
        let mut all = self.message.attributes.iter();
        all.find_map(|attribute| match attribute {
            RouteAttribute::Metrics(metrics) => Some(metrics.as_slice()),
            _ => None,
        })
        .unwrap_or_default()
    }

    fn with_quickack(&self, on: bool) -> Self {
        let mut metrics = self.metrics().to_vec();
        metrics.retain(|metric| !matches!(metric, RouteMetric::QuickAck(_)));
        if on {
            metrics.push(RouteMetric::QuickAck(1));
        }
        let mut message = self.message.clone();
        message
            .attributes
            .retain(|attribute| !matches!(attribute, RouteAttribute::Metrics(_)));
        if !metrics.is_empty() {
            message.attributes.push(RouteAttribute::Metrics(metrics));
        }
        Self { message }
    }

    /// Returns it as it is written: without what the kernel only reports.
    fn written(&self) -> RouteMessage {
        let mut message = self.message.clone();
        message.header.flags &= RouteFlags::Onlink;
        let by_next_hop = |one: &RouteAttribute| matches!(one, RouteAttribute::NhId(_));
        let has_next_hop = message.attributes.iter().any(by_next_hop);
        message.attributes.retain(|attribute| match attribute {
            RouteAttribute::CacheInfo(_) => false,
            // These are the next hop's own, and may not be given beside its number.
            RouteAttribute::Gateway(_)
            | RouteAttribute::Via(_)
            | RouteAttribute::Oif(_)
            | RouteAttribute::MultiPath(_) => !has_next_hop,
            _ => true,
        });
        message
    }

    /// Returns what it consists of, without an order: that of attributes and metrics means nothing.
    fn content(&self) -> (RouteHeader, Vec<String>) {
        let message = self.written();
        let mut parts: Vec<String> = Vec::new();
        for attribute in &message.attributes {
            match attribute {
                RouteAttribute::Metrics(metrics) => {
                    parts.extend(metrics.iter().map(|metric| format!("{metric:?}")));
                }
                other => parts.push(format!("{other:?}")),
            }
        }
        parts.sort_unstable();
        (message.header, parts)
    }
}

impl fmt::Display for RouteKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.length {
            0 => f.write_str("default")?,
            length if length == bits(self.destination) => write!(f, "{}", self.destination)?,
            length => write!(f, "{}/{length}", self.destination)?,
        }
        match self.table {
            MAIN => {}
            LOCAL => f.write_str(" table local")?,
            number => write!(f, " table {number}")?,
        }
        if self.tos != 0 {
            write!(f, " tos {:#04x}", self.tos)?;
        }
        if self.metric != 0 {
            write!(f, " metric {}", self.metric)?;
        }
        Ok(())
    }
}

fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

fn bits(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

/// Writes a route over the one with the same key.
fn replace(route: &Route) -> io::Result<()> {
    let message = RouteNetlinkMessage::NewRoute(route.written());
    ask(message, NLM_F_REPLACE | NLM_F_ACK).map(drop)
}

/// Sends a request, and returns the routes that the kernel answers with: one, unless a dump was asked for.
fn ask(request: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<RouteMessage>> {
    let mut routes = Vec::new();
    netlink::ask(NETLINK_ROUTE, request, flags, |answer| match answer {
        RouteNetlinkMessage::NewRoute(route) => {
            routes.push(route);
            match flags & NLM_F_DUMP {
                0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
        _ => ControlFlow::Continue(()),
    })?;
    Ok(routes)
}

const MAIN: u32 = 254;
const LOCAL: u32 = 255;
