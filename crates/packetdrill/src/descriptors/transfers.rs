//! Reading from connections and writing to them.

use std::ffi::c_int;
use std::io;
use std::task::Poll;

use libc::{
    EAGAIN, EDESTADDRREQ, EFAULT, ENOTCONN, EOPNOTSUPP, EPIPE, MSG_MORE, MSG_PEEK, MSG_WAITALL,
};
use tinygram_engine::State;
use tinygram_tcp::ConnectionKey;

use super::{Done, nobody};
use crate::call::{Errno, Message, Outcome, errno};
use crate::descriptor::{Descriptor, Kind};
use crate::world::World;

impl World {
    pub(super) fn try_read(&mut self, fd: c_int, most: usize, flags: c_int) -> Done {
        let key = match self.stream(fd) {
            Ok(key) => key,
            Err(errno) => return Some(Err(errno)),
        };
        if flags & libc::MSG_OOB != 0 {
            return Some(self.read_urgent(key, flags & MSG_PEEK != 0));
        }
        let state = self.core.state(key);
        let readable = self.core.info(self.now, key).readable as usize;
        let least = if flags & MSG_WAITALL != 0 {
            most
        } else {
            most.min(1)
        };
        let readiness = self.core.readiness(key);
        if readable < least && !readiness.peer_closed && !readiness.failed {
            if matches!(state, State::Closed) {
                return Some(match self.core.take_error(key) {
                    Some(error) => Err(errno(&error)),
                    None => Ok(Outcome::default()),
                });
            }
            return None;
        }
        let mut octets = Vec::new();
        if flags & MSG_PEEK != 0 && readable > 0 {
            self.core
                .peek(key, most)
                .for_each(|piece| octets.extend_from_slice(piece));
            return Some(Ok(Outcome {
                value: octets.len() as i64,
                octets,
                ..Outcome::default()
            }));
        }
        let take = |piece: &[u8]| octets.extend_from_slice(piece);
        let waits = !self.is_nonblocking(fd) && flags & libc::MSG_DONTWAIT == 0;
        let result = match waits {
            true => self.core.poll_read(self.now, key, most, &nobody(), take),
            false => match self.core.read_now(self.now, key, most, take) {
                Some(result) => Poll::Ready(result),
                None => Poll::Pending,
            },
        };
        match result {
            Poll::Ready(Ok(count)) => {
                let inq = self.descriptors[&fd]
                    .chosen
                    .tells_inq()
                    .then(|| self.inq(key));
                Some(Ok(Outcome {
                    value: count as i64,
                    octets,
                    inq,
                    ..Outcome::default()
                }))
            }
            Poll::Ready(Err(error)) => Some(Err(errno(&error))),
            Poll::Pending => None,
        }
    }

    /// Returns whether only an urgent octet, which is not part of the stream, has come.
    pub(crate) fn stands_at_urgent(&mut self, fd: c_int) -> bool {
        self.stream(fd).is_ok_and(|key| {
            let nothing = self.core.info(self.now, key).readable == 0;
            nothing && self.core.is_at_mark(key) && self.core.readiness(key).priority
        })
    }

    pub(super) fn read_urgent(&mut self, key: ConnectionKey, keep: bool) -> Result<Outcome, Errno> {
        match self.core.read_urgent(key, keep) {
            Ok(Some(octet)) => Ok(Outcome {
                value: 1,
                octets: vec![octet],
                ..Outcome::default()
            }),
            Ok(None) => Err(Errno(EAGAIN)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Outcome::default()),
            Err(error) => Err(errno(&error)),
        }
    }

    /// Returns what TCP_INQ reports: the octets that can be read, plus one at the end of the stream
    /// (tcp_inq_hint).
    pub(super) fn inq(&self, key: ConnectionKey) -> c_int {
        let readable = self.core.info(self.now, key).readable as c_int;
        let ended = self.core.readiness(key).peer_closed;
        if readable == 0 && ended { 1 } else { readable }
    }

    pub(super) fn try_write(
        &mut self,
        fd: c_int,
        message: &Message,
        flags: c_int,
        done: &mut usize,
    ) -> Done {
        if let (
            Ok(Descriptor {
                kind: Kind::Fresh { .. },
                ..
            }),
            Some(_),
        ) = (self.descriptor(fd), message.to)
            && flags & libc::MSG_FASTOPEN != 0
        {
            return Some(Err(Errno(EOPNOTSUPP)));
        }
        let key = match self.stream(fd) {
            Ok(key) => key,
            Err(Errno(ENOTCONN)) => {
                return Some(Err(Errno(if flags & libc::MSG_FASTOPEN != 0 {
                    EDESTADDRREQ
                } else {
                    EPIPE
                })));
            }
            Err(errno) => return Some(Err(errno)),
        };
        if message.damaged && message.octets.is_empty() {
            return Some(Err(Errno(EFAULT)));
        }
        if flags & libc::MSG_OOB != 0 {
            let (now, octets) = (self.now, &message.octets);
            return match self.core.poll_write_urgent(now, key, octets, &nobody()) {
                Poll::Ready(Ok(count)) => Some(Ok(Outcome::of(count as i64))),
                Poll::Ready(Err(error)) => Some(Err(errno(&error))),
                Poll::Pending => None,
            };
        }
        let more = flags & MSG_MORE != 0;
        let whole = !self.is_nonblocking(fd) && flags & libc::MSG_DONTWAIT == 0;
        let opening = matches!(self.core.state(key), State::SynSent | State::SynReceived);
        if opening && *done == 0 {
            // The kernel waits until the connection is established.
            return None;
        }
        let len = message.octets.len();
        if whole && *done > 0 && !self.core.readiness(key).writable {
            // A sleeping writer is not woken until a third of the buffer is free.
            return None;
        }
        if whole {
            let octets = &message.octets;
            let now = self.now;
            return match self
                .core
                .poll_write_whole(now, key, octets, done, more, &nobody())
            {
                Poll::Ready(Ok(())) => Some(Ok(Outcome::of(len as i64))),
                Poll::Ready(Err(_)) if *done > 0 => Some(Ok(Outcome::of(*done as i64))),
                Poll::Ready(Err(error)) => Some(Err(errno(&error))),
                Poll::Pending => None,
            };
        }
        let pieces = [io::IoSlice::new(&message.octets)];
        match self
            .core
            .poll_write(self.now, key, &pieces, more, &nobody())
        {
            Poll::Ready(Ok(count)) => Some(Ok(Outcome::of(count as i64))),
            Poll::Ready(Err(error)) => Some(Err(errno(&error))),
            Poll::Pending => None,
        }
    }
}
