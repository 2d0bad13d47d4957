//! Descriptors: their kinds, and the options that the application set.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::net::SocketAddr;

use libc::IPPROTO_TCP;
use tinygram_engine::Duration;
use tinygram_tcp::{ConnectionKey, ListenerKey, SocketOptions};

use crate::settings::Settings;

/// The object that a descriptor names.
#[derive(Debug)]
pub(crate) struct Descriptor {
    pub(crate) kind: Kind,
    pub(crate) nonblocking: bool,
    /// Whether it is an IPv6 socket, which carries IPv4 in mapped addresses.
    pub(crate) v6: bool,
    /// The options that getsockopt returns as they were set.
    pub(crate) chosen: Chosen,
}

#[derive(Debug)]
pub(crate) enum Kind {
    /// Neither connected nor listening.
    Fresh {
        options: Box<SocketOptions>,
        bound: Option<SocketAddr>,
    },
    Listener(ListenerKey),
    Stream {
        key: ConnectionKey,
        /// Whether connect(2) has begun and not reported its outcome yet.
        connecting: bool,
    },
    /// The watched descriptors: the events and the caller's number.
    Epoll(BTreeMap<c_int, Watched>),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Watched {
    pub(crate) events: u32,
    pub(crate) data: u64,
    /// The events that were ready at the last report (EPOLLET).
    pub(crate) told: u32,
    /// The octets that had arrived by then: each arrival is reported, whether or not everything was
    /// read.
    pub(crate) received: u64,
}

/// The options that the application set, as it reads them back. Connections inherit them from their
/// listener.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    /// Level, name and value of options that are plain numbers.
    pub(crate) numbers: Vec<(c_int, c_int, c_int)>,
    pub(crate) linger: Option<Duration>,
    pub(crate) send_buffer: u64,
    pub(crate) receive_buffer: u64,
}

impl Chosen {
    pub(crate) fn new(options: &SocketOptions, settings: &Settings) -> Self {
        Self {
            numbers: Vec::new(),
            linger: None,
            send_buffer: options.send_buffer,
            receive_buffer: match settings.freebsd() {
                true => options.receive_buffer,
                false => settings.receive_buffer(),
            },
        }
    }

    pub(crate) fn linger(&self) -> Option<Duration> {
        self.linger
    }

    /// Returns TCP_INQ.
    pub(crate) fn tells_inq(&self) -> bool {
        self.number(IPPROTO_TCP, TCP_INQ).is_some_and(|on| on != 0)
    }

    pub(crate) fn number(&self, level: c_int, name: c_int) -> Option<c_int> {
        let known = self
            .numbers
            .iter()
            .find(|one| (one.0, one.1) == (level, name));
        known.map(|one| one.2)
    }

    pub(crate) fn set_number(&mut self, level: c_int, name: c_int, value: c_int) {
        self.numbers.retain(|one| (one.0, one.1) != (level, name));
        self.numbers.push((level, name, value));
    }
}

/// `TCP_INQ`, which the library does not name.
pub(crate) const TCP_INQ: c_int = 36;
