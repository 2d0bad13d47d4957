//! The calls on descriptors, and their outcomes.

use std::ffi::c_int;
use std::io;
use std::net::SocketAddr;

use libc::{
    EAGAIN, ECONNABORTED, ECONNREFUSED, ECONNRESET, EHOSTUNREACH, EINPROGRESS, ENETUNREACH,
    ENOTCONN, EPIPE, EPROTO, ETIMEDOUT,
};
use tinygram_engine::Instant;
use tinygram_tcp::ConnectionKey;

/// What a call sends.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) octets: Vec<u8>,
    /// Whether the rest of the message could not be read.
    pub(crate) damaged: bool,
    /// The destination, for MSG_FASTOPEN.
    pub(crate) to: Option<SocketAddr>,
}

/// A call that may have to sleep.
#[derive(Debug)]
pub(crate) enum Call {
    Accept {
        fd: c_int,
    },
    Connect {
        fd: c_int,
    },
    Read {
        fd: c_int,
        most: usize,
        flags: c_int,
    },
    Write {
        fd: c_int,
        message: Message,
        flags: c_int,
        done: usize,
    },
    /// A close that waits until what was written is acknowledged (SO_LINGER).
    Linger {
        key: ConnectionKey,
    },
    Poll {
        asked: Vec<(c_int, i16)>,
        until: Instant,
    },
    Epoll {
        epoll: c_int,
        most: usize,
        until: Instant,
    },
}

/// The number of an error, as in `errno`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) c_int);

/// The outcome of a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// The return value.
    pub(crate) value: i64,
    /// The octets that it read.
    pub(crate) octets: Vec<u8>,
    /// The descriptors that are ready: the caller's number for each, and the events.
    pub(crate) ready: Vec<(u64, u32)>,
    /// The octets that can still be read, if the caller wants to know (TCP_INQ).
    pub(crate) inq: Option<c_int>,
}

impl Call {
    pub(crate) fn write(fd: c_int, message: Message, flags: c_int) -> Self {
        Self::Write {
            fd,
            message,
            flags,
            done: 0,
        }
    }

    /// Returns when the call gives up.
    pub(crate) fn until(&self) -> Instant {
        match self {
            Self::Poll { until, .. } | Self::Epoll { until, .. } => *until,
            _ => Instant::FAR_FUTURE,
        }
    }

    /// Returns the outcome if the call must not sleep.
    pub(crate) fn would_block(&self) -> Result<Outcome, Errno> {
        match self {
            Self::Connect { .. } => Err(Errno(EINPROGRESS)),
            Self::Write { done, .. } if *done > 0 => Ok(Outcome::of(*done as i64)),
            _ => Err(Errno(EAGAIN)),
        }
    }
}

impl Outcome {
    /// Returns the outcome of a call that only returns `value`.
    pub(crate) fn of(value: i64) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }
}

/// Returns the C library's number of one of the stack's errors.
pub(crate) fn errno(error: &io::Error) -> Errno {
    Errno(match error.kind() {
        io::ErrorKind::ConnectionRefused => ECONNREFUSED,
        io::ErrorKind::ConnectionReset => ECONNRESET,
        io::ErrorKind::ConnectionAborted => ECONNABORTED,
        io::ErrorKind::TimedOut => ETIMEDOUT,
        io::ErrorKind::BrokenPipe => EPIPE,
        io::ErrorKind::NotConnected => ENOTCONN,
        io::ErrorKind::HostUnreachable => EHOSTUNREACH,
        io::ErrorKind::NetworkUnreachable => ENETUNREACH,
        io::ErrorKind::AddrInUse => libc::EADDRINUSE,
        io::ErrorKind::AddrNotAvailable => libc::EADDRNOTAVAIL,
        io::ErrorKind::Unsupported => libc::ENOPROTOOPT,
        io::ErrorKind::WouldBlock => EAGAIN,
        io::ErrorKind::InvalidInput => libc::EINVAL,
        _ => EPROTO,
    })
}
