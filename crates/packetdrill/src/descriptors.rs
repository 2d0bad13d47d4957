//! The calls on descriptors.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_ulong};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::task::{Context, Poll, Waker};

use libc::{
    EAGAIN, EALREADY, EBADF, EDESTADDRREQ, EFAULT, EINVAL, EISCONN, ENOTCONN, EOPNOTSUPP, EPIPE,
    MSG_MORE, MSG_PEEK, MSG_WAITALL,
};
use tinygram_engine::{Duration, State};
use tinygram_tcp::SocketOptions;

use crate::call::{Call, Errno, Message, Outcome, errno};
use crate::descriptor::{Chosen, Descriptor, Kind, Watched};
use crate::world::World;

/// The only waiting acceptor's number.
const ACCEPTOR: u64 = 1;

type Done = Option<Result<Outcome, Errno>>;

fn nobody() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

impl World {
    /// Gives the descriptor a number that the kernel keeps free: at its end, packetdrill asks the
    /// kernel to close what the script left open.
    fn insert(&mut self, descriptor: Descriptor) -> c_int {
        let fd = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
        assert!(fd >= 0, "/dev/null can be opened");
        self.descriptors.insert(fd, descriptor);
        fd
    }

    pub(crate) fn knows(&self, fd: c_int) -> bool {
        self.descriptors.contains_key(&fd)
    }

    pub(crate) fn descriptor(&mut self, fd: c_int) -> Result<&mut Descriptor, Errno> {
        self.descriptors.get_mut(&fd).ok_or(Errno(EBADF))
    }

    pub(crate) fn is_nonblocking(&self, fd: c_int) -> bool {
        let known = self.descriptors.get(&fd);
        known.is_some_and(|descriptor| descriptor.nonblocking)
    }

    /// Returns the connection behind a descriptor.
    pub(crate) fn stream(&mut self, fd: c_int) -> Result<usize, Errno> {
        match self.descriptor(fd)?.kind {
            Kind::Stream { key, .. } => Ok(key),
            _ => Err(Errno(ENOTCONN)),
        }
    }

    pub(crate) fn socket(&mut self, domain: c_int, kind: c_int) -> Result<i64, Errno> {
        if kind & 0xf != libc::SOCK_STREAM {
            return Err(Errno(libc::EPROTONOSUPPORT));
        }
        let v6 = domain == libc::AF_INET6;
        let options = Box::new(self.settings.socket(v6));
        let chosen = Chosen::new(&options, &self.settings);
        Ok(self
            .insert(Descriptor {
                kind: Kind::Fresh {
                    options,
                    bound: None,
                },
                nonblocking: kind & libc::SOCK_NONBLOCK != 0,
                v6,
                chosen,
            })
            .into())
    }

    pub(crate) fn bind(&mut self, fd: c_int, address: SocketAddr) -> Result<i64, Errno> {
        if !address.ip().is_unspecified() {
            self.core.add_address(address.ip());
        }
        match &mut self.descriptor(fd)?.kind {
            Kind::Fresh { bound, .. } if bound.is_none() => *bound = Some(address),
            _ => return Err(Errno(EINVAL)),
        }
        Ok(0)
    }

    pub(crate) fn listen(&mut self, fd: c_int, backlog: c_int) -> Result<i64, Errno> {
        let descriptor = self.descriptor(fd)?;
        let v6 = descriptor.v6;
        let (options, local) = match &descriptor.kind {
            Kind::Fresh { options, bound } => (options.clone(), *bound),
            Kind::Listener(_) => return Ok(0),
            _ => return Err(Errno(EINVAL)),
        };
        let any: IpAddr = match v6 {
            true => Ipv6Addr::UNSPECIFIED.into(),
            false => Ipv4Addr::UNSPECIFIED.into(),
        };
        let local = local.unwrap_or((any, 0).into());
        // Linux accepts one more than the backlog.
        let backlog = backlog.max(0) as usize + 1;
        let (key, _) = self
            .core
            .listen(local, backlog, &options)
            .map_err(|error| errno(&error))?;
        self.descriptor(fd)?.kind = Kind::Listener(key);
        Ok(0)
    }

    /// Begins to connect; returns whether the caller must wait for something.
    pub(crate) fn connect(&mut self, fd: c_int, remote: SocketAddr) -> Result<bool, Errno> {
        match &self.descriptor(fd)?.kind {
            Kind::Fresh { options, bound } => {
                let (options, local) = (options.clone(), *bound);
                self.open(fd, local, remote, &options)?;
                Ok(true)
            }
            // Called again, it reports the outcome of the first call.
            Kind::Stream {
                key,
                connecting: true,
            } => {
                let key = *key;
                if matches!(self.core.state(key), State::SynSent | State::SynReceived) {
                    return match self.is_nonblocking(fd) {
                        true => Err(Errno(EALREADY)),
                        false => Ok(true),
                    };
                }
                Ok(true)
            }
            Kind::Stream { .. } => Err(Errno(EISCONN)),
            _ => Err(Errno(EINVAL)),
        }
    }

    fn open(
        &mut self,
        fd: c_int,
        local: Option<SocketAddr>,
        remote: SocketAddr,
        options: &SocketOptions,
    ) -> Result<(), Errno> {
        let local = local.filter(|local| !local.ip().is_unspecified());
        let key = self
            .core
            .connect(self.now, local, remote, options)
            .map_err(|error| errno(&error))?;
        self.descriptor(fd)?.kind = Kind::Stream {
            key,
            connecting: true,
        };
        self.apply_chosen(fd)
    }

    /// Returns the peer's address, and whether the socket is an IPv6 one.
    pub(crate) fn peer(&mut self, fd: c_int) -> (Option<SocketAddr>, bool) {
        let v6 = self.descriptors.get(&fd).is_some_and(|known| known.v6);
        let peer = self.stream(fd).ok().map(|key| self.core.ends(key).1);
        (peer, v6)
    }

    pub(crate) fn fcntl(&mut self, fd: c_int, command: c_int, to: c_ulong) -> Result<i64, Errno> {
        let descriptor = self.descriptor(fd)?;
        match command {
            libc::F_GETFL => {
                let nonblocking = if descriptor.nonblocking {
                    libc::O_NONBLOCK
                } else {
                    0
                };
                Ok((libc::O_RDWR | nonblocking).into())
            }
            libc::F_SETFL => {
                descriptor.nonblocking = to as c_int & libc::O_NONBLOCK != 0;
                Ok(0)
            }
            _ => Ok(0),
        }
    }

    /// Handles SIOCINQ, SIOCOUTQ, SIOCOUTQNSD and SIOCATMARK.
    pub(crate) fn ioctl(&mut self, fd: c_int, request: c_ulong) -> Result<c_int, Errno> {
        const SIOCOUTQNSD: c_ulong = 0x894b;
        const SIOCATMARK: c_ulong = 0x8905;
        if let Kind::Listener(_) = self.descriptor(fd)?.kind {
            return Err(Errno(EINVAL));
        }
        let key = self.stream(fd)?;
        let info = self.core.info(self.now, key);
        match request {
            libc::FIONREAD => {
                // The kernel subtracts the number that a FIN takes (tcp_ioctl); `readable` has none for it.
                Ok(info.readable as c_int)
            }
            libc::TIOCOUTQ => Ok((info.outstanding + info.unsent) as c_int),
            SIOCATMARK => Ok(self.core.is_at_mark(key).into()),
            SIOCOUTQNSD => Ok(info.unsent as c_int),
            _ => Err(Errno(libc::ENOTTY)),
        }
    }

    /// Closes the descriptor; returns the wait for a lingering close, if there is one.
    pub(crate) fn close(&mut self, fd: c_int) -> Result<Option<Call>, Errno> {
        let Some(descriptor) = self.descriptors.remove(&fd) else {
            return Err(Errno(EBADF));
        };
        unsafe { libc::close(fd) };
        for other in self.descriptors.values_mut() {
            if let Kind::Epoll(watched) = &mut other.kind {
                watched.remove(&fd);
            }
        }
        match descriptor.kind {
            Kind::Listener(key) => self.core.stop_listening(key),
            Kind::Stream { key, .. } => {
                let linger = descriptor.chosen.linger();
                self.core.set_linger(key, linger);
                // A close of a nonblocking socket does not wait.
                let waits = linger.is_some_and(|time| time > Duration::ZERO);
                let mut call = Call::Linger { key };
                if !waits || descriptor.nonblocking {
                    self.core.release(self.now, key);
                } else if self.attempt(&mut call).is_none() {
                    return Ok(Some(call));
                }
            }
            Kind::Fresh { .. } | Kind::Epoll(_) => {}
        }
        Ok(None)
    }

    pub(crate) fn shutdown(&mut self, fd: c_int, how: c_int) -> Result<i64, Errno> {
        if !matches!(how, libc::SHUT_RD | libc::SHUT_WR | libc::SHUT_RDWR) {
            return Err(Errno(EINVAL));
        }
        let key = self.stream(fd)?;
        let state = self.core.state(key);
        if matches!(state, State::Closed) {
            return Err(Errno(ENOTCONN));
        }
        if how != libc::SHUT_WR {
            self.core.shutdown_read(key);
        }
        if how != libc::SHUT_RD {
            self.core.shutdown(self.now, key);
        }
        Ok(0)
    }

    /// Makes the call if it need not sleep.
    pub(crate) fn attempt(&mut self, call: &mut Call) -> Done {
        let done = match call {
            Call::Accept { fd } => self.try_accept(*fd),
            Call::Connect { fd } => self.try_connect(*fd),
            Call::Read { fd, most, flags } => self.try_read(*fd, *most, *flags),
            Call::Write {
                fd,
                message,
                flags,
                done,
            } => self.try_write(*fd, message, *flags, done),
            Call::Linger { key } => match self.core.poll_close(self.now, *key, &nobody()) {
                Poll::Ready(_) => {
                    self.core.release(self.now, *key);
                    Some(Ok(Outcome::default()))
                }
                Poll::Pending => None,
            },
            Call::Poll { asked, until } => {
                let ready = self.poll(asked);
                let count = ready.iter().filter(|(_, events)| *events != 0).count();
                let over = count > 0 || self.now >= *until;
                over.then(|| {
                    Ok(Outcome {
                        ready,
                        ..Outcome::of(count as i64)
                    })
                })
            }
            Call::Epoll { epoll, most, until } => {
                let ready = match self.epoll(*epoll, *most) {
                    Ok(ready) => ready,
                    Err(errno) => return Some(Err(errno)),
                };
                let over = !ready.is_empty() || self.now >= *until;
                over.then(|| {
                    Ok(Outcome {
                        value: ready.len() as i64,
                        ready,
                        ..Outcome::default()
                    })
                })
            }
        };
        match done {
            // The socket was asked in vain for something that it cannot return.
            Some(Err(Errno(EAGAIN))) => None,
            done => done,
        }
    }

    fn try_accept(&mut self, fd: c_int) -> Done {
        let descriptor = match self.descriptor(fd) {
            Ok(descriptor) => descriptor,
            Err(errno) => return Some(Err(errno)),
        };
        let Kind::Listener(listener) = descriptor.kind else {
            return Some(Err(Errno(EINVAL)));
        };
        let (v6, chosen) = (descriptor.v6, descriptor.chosen.clone());
        let key = match self.core.poll_accept(listener, ACCEPTOR, &nobody()) {
            Poll::Ready(Ok(key)) => key,
            Poll::Ready(Err(error)) => return Some(Err(errno(&error))),
            Poll::Pending => return None,
        };
        let fd = self.insert(Descriptor {
            kind: Kind::Stream {
                key,
                connecting: false,
            },
            nonblocking: false,
            v6,
            chosen,
        });
        let _ = self.apply_chosen(fd);
        Some(Ok(Outcome::of(fd.into())))
    }

    fn try_connect(&mut self, fd: c_int) -> Done {
        let key = match self.stream(fd) {
            Ok(key) => key,
            Err(errno) => return Some(Err(errno)),
        };
        let connected = match self.core.poll_connected(key, &nobody()) {
            Poll::Ready(connected) => connected,
            Poll::Pending => return None,
        };
        if let Ok(Descriptor {
            kind: Kind::Stream { connecting, .. },
            ..
        }) = self.descriptor(fd)
        {
            *connecting = false;
        }
        Some(match connected {
            Ok(()) => Ok(Outcome::default()),
            Err(error) => Err(errno(&error)),
        })
    }

    fn try_read(&mut self, fd: c_int, most: usize, flags: c_int) -> Done {
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
            let (first, second) = self.core.peek(key, most);
            octets.extend_from_slice(first);
            octets.extend_from_slice(second);
            return Some(Ok(Outcome {
                value: octets.len() as i64,
                octets,
                ..Outcome::default()
            }));
        }
        let take = |first: &[u8], second: &[u8]| {
            octets.extend_from_slice(first);
            octets.extend_from_slice(second);
        };
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

    fn read_urgent(&mut self, key: usize, keep: bool) -> Result<Outcome, Errno> {
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
    fn inq(&self, key: usize) -> c_int {
        let readable = self.core.info(self.now, key).readable as c_int;
        let ended = self.core.readiness(key).peer_closed;
        if readable == 0 && ended { 1 } else { readable }
    }

    fn try_write(&mut self, fd: c_int, message: &Message, flags: c_int, done: &mut usize) -> Done {
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

    /// Returns what poll(2) reports for a descriptor, whatever events were asked for.
    fn events(&self, fd: c_int) -> u32 {
        use libc::{POLLERR, POLLHUP, POLLIN, POLLOUT, POLLPRI, POLLRDHUP, POLLRDNORM, POLLWRNORM};
        let mut events = 0;
        let mut add = |those: i16| events |= those as u16 as u32;
        match self.descriptors.get(&fd).map(|known| &known.kind) {
            Some(Kind::Listener(key)) => {
                if self.core.has_ready(*key) {
                    add(POLLIN | POLLRDNORM);
                }
            }
            Some(Kind::Stream { key, .. }) => {
                let ready = self.core.readiness(*key);
                if ready.readable {
                    add(POLLIN | POLLRDNORM);
                }
                if ready.writable {
                    add(POLLOUT | POLLWRNORM);
                }
                if ready.peer_closed {
                    add(POLLIN | POLLRDNORM | POLLRDHUP);
                }
                if ready.hung_up {
                    add(POLLHUP);
                }
                if ready.priority {
                    add(POLLPRI);
                }
                if ready.failed {
                    add(POLLERR);
                }
            }
            Some(Kind::Fresh { .. }) => add(POLLOUT | POLLWRNORM | POLLHUP),
            Some(Kind::Epoll(_)) | None => {}
        }
        events
    }

    fn poll(&self, asked: &[(c_int, i16)]) -> Vec<(u64, u32)> {
        let always = (libc::POLLERR | libc::POLLHUP) as u32;
        let said = |(fd, events): &(c_int, i16)| {
            if *fd < 0 {
                return (0, 0);
            }
            if !self.knows(*fd) {
                return (0, libc::POLLNVAL as u32);
            }
            (0, self.events(*fd) & (*events as u16 as u32 | always))
        };
        asked.iter().map(said).collect()
    }

    pub(crate) fn epoll_create(&mut self) -> Result<i64, Errno> {
        let chosen = Chosen::new(&self.settings.socket(false), &self.settings);
        Ok(self
            .insert(Descriptor {
                kind: Kind::Epoll(BTreeMap::new()),
                nonblocking: false,
                v6: false,
                chosen,
            })
            .into())
    }

    pub(crate) fn epoll_ctl(
        &mut self,
        epoll: c_int,
        operation: c_int,
        fd: c_int,
        event: Option<(u32, u64)>,
    ) -> Result<i64, Errno> {
        if !self.knows(fd) {
            return Err(Errno(EBADF));
        }
        let Kind::Epoll(watched) = &mut self.descriptor(epoll)?.kind else {
            return Err(Errno(EINVAL));
        };
        match (operation, event) {
            (libc::EPOLL_CTL_DEL, _) => {
                watched.remove(&fd).ok_or(Errno(libc::ENOENT))?;
            }
            (_, Some((events, data))) => {
                let entry = Watched {
                    events,
                    data,
                    told: 0,
                    received: 0,
                };
                watched.insert(fd, entry);
            }
            (_, None) => return Err(Errno(EFAULT)),
        }
        Ok(0)
    }

    /// Returns the octets that have ever arrived there.
    fn received(&self, fd: c_int) -> u64 {
        match self.descriptors.get(&fd).map(|known| &known.kind) {
            Some(Kind::Stream { key, .. }) => self.core.info(self.now, *key).received,
            _ => 0,
        }
    }

    fn epoll(&mut self, epoll: c_int, most: usize) -> Result<Vec<(u64, u32)>, Errno> {
        let always = (libc::EPOLLERR | libc::EPOLLHUP) as u32;
        let Some(Descriptor {
            kind: Kind::Epoll(watched),
            ..
        }) = self.descriptors.get(&epoll)
        else {
            return Err(Errno(EINVAL));
        };
        let mut watched = watched.clone();
        let mut ready = Vec::new();
        for (fd, one) in &mut watched {
            let now = self.events(*fd) & (one.events | always);
            let edge = one.events & libc::EPOLLET as u32 != 0;
            let received = self.received(*fd);
            let readable = match received > one.received {
                true => now & libc::EPOLLIN as u32,
                false => 0,
            };
            let news = if edge {
                now & !one.told | readable
            } else {
                now
            };
            if news != 0 {
                // What does not fit into the array is still reported by the next call.
                if ready.len() == most {
                    continue;
                }
                ready.push((one.data, now));
                if one.events & libc::EPOLLONESHOT as u32 != 0 {
                    one.events = 0;
                }
            }
            (one.told, one.received) = (now, received);
        }
        if let Kind::Epoll(known) = &mut self.descriptor(epoll)?.kind {
            *known = watched;
        }
        Ok(ready)
    }
}
