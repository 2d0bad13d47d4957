//! The calls on descriptors.

mod events;
mod transfers;

use std::ffi::{c_int, c_ulong};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::task::{Context, Poll, Waker};

use libc::{EAGAIN, EALREADY, EBADF, EINVAL, EISCONN, ENOTCONN};
use tinygram_engine::{Duration, State};
use tinygram_tcp::{ConnectionKey, SocketOptions};

use crate::call::{Call, Errno, Outcome, errno};
use crate::descriptor::{Chosen, Descriptor, Kind};
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
        // SAFETY: a path that ends with a null, and flags that need no mode.
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
    pub(crate) fn stream(&mut self, fd: c_int) -> Result<ConnectionKey, Errno> {
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
        // SAFETY: `insert` opened it, and nobody else closes it.
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
}
