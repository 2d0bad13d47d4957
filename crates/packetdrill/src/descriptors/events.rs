//! Which descriptors are ready: poll and epoll.

use std::collections::BTreeMap;
use std::ffi::c_int;

use libc::{EBADF, EFAULT, EINVAL};

use crate::call::Errno;
use crate::descriptor::{Chosen, Descriptor, Kind, Watched};
use crate::world::World;

impl World {
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

    pub(super) fn poll(&self, asked: &[(c_int, i16)]) -> Vec<(u64, u32)> {
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

    pub(super) fn epoll(&mut self, epoll: c_int, most: usize) -> Result<Vec<(u64, u32)>, Errno> {
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
