//! Socket options: getsockopt and setsockopt.

use std::ffi::c_int;

use libc::{EINVAL, ENOPROTOOPT, IPPROTO_IP, IPPROTO_IPV6, IPPROTO_TCP, SOL_SOCKET};
use tinygram_engine::extensions::{Keepalive, SynRetries};
use tinygram_engine::{Duration, State};
use tinygram_tcp::{ConnectionKey, SocketOptions};

use crate::call::{Errno, errno};
use crate::descriptor::{Kind, TCP_INQ};
use crate::info;
use crate::world::World;

const TCP_CC_INFO: c_int = 26;
const SO_MEMINFO: c_int = 55;
const TCP_NOTSENT_LOWAT: c_int = 25;

impl World {
    /// Handles getsockopt(2).
    pub(crate) fn option(
        &mut self,
        fd: c_int,
        level: c_int,
        name: c_int,
    ) -> Result<Vec<u8>, Errno> {
        let descriptor = self.descriptor(fd)?;
        let chosen = descriptor.chosen.clone();
        let key = match descriptor.kind {
            Kind::Stream { key, .. } => Some(key),
            _ => None,
        };
        let unconnected = match descriptor.kind {
            Kind::Fresh { .. } => Some(State::Closed),
            Kind::Listener(_) => Some(State::Listen),
            _ => None,
        };
        let bytes = |value: c_int| Ok(value.to_ne_bytes().to_vec());
        match (level, name) {
            (SOL_SOCKET, libc::SO_ERROR) => {
                let error = key.and_then(|key| self.core.take_error(key));
                bytes(error.map_or(0, |error| errno(&error).0))
            }
            (SOL_SOCKET, libc::SO_LINGER) => {
                let on = c_int::from(chosen.linger.is_some());
                let secs = chosen
                    .linger
                    .map_or(0, |time| time.as_nanos() / 1_000_000_000);
                let mut octets = on.to_ne_bytes().to_vec();
                octets.extend((secs as c_int).to_ne_bytes());
                Ok(octets)
            }
            // The kernel doubles the requested size.
            (SOL_SOCKET, libc::SO_SNDBUF) => {
                let grown = key.map(|key| self.core.info(self.now, key).send_buffer);
                bytes(grown.unwrap_or(chosen.send_buffer) as c_int)
            }
            (SOL_SOCKET, libc::SO_RCVBUF) if self.settings.freebsd() => {
                let state = key.map(|key| self.core.state(key));
                let stands = state.is_some_and(|state| state != State::SynSent);
                bytes(match stands {
                    true => chosen.receive_buffer,
                    false => self.settings.receive_space(),
                } as c_int)
            }
            (SOL_SOCKET, libc::SO_RCVBUF) => bytes(chosen.receive_buffer as c_int),
            (IPPROTO_TCP, libc::TCP_INFO) => match (key, unconnected) {
                (Some(key), _) => Ok(info::octets(&self.core.info(self.now, key))),
                (None, Some(state)) => Ok(info::of_nobody(state)),
                (None, None) => Err(Errno(EINVAL)),
            },
            // packetdrill asks for it with every TCP_INFO; nothing of it is known.
            (IPPROTO_TCP, TCP_CC_INFO) => Ok(vec![0; 20]),
            (SOL_SOCKET, SO_MEMINFO) => Ok(vec![0; 36]),
            (IPPROTO_TCP, libc::TCP_MAXSEG) => {
                let asked = chosen.number(level, name);
                let mss = match key {
                    Some(key) => self.core.info(self.now, key).mss as c_int,
                    None => asked.unwrap_or(536),
                };
                bytes(mss)
            }
            _ => {
                let usual = self.settings.keepalive();
                let secs = |time: Duration| (time.as_nanos() / 1_000_000_000) as c_int;
                bytes(chosen.number(level, name).unwrap_or(match (level, name) {
                    (IPPROTO_TCP, libc::TCP_KEEPIDLE) => secs(usual.idle),
                    (IPPROTO_TCP, libc::TCP_KEEPINTVL) => secs(usual.interval),
                    (IPPROTO_TCP, libc::TCP_KEEPCNT) => usual.probes as c_int,
                    _ => default(level, name),
                }))
            }
        }
    }

    /// Handles setsockopt(2).
    pub(crate) fn set_option(
        &mut self,
        fd: c_int,
        level: c_int,
        name: c_int,
        octets: &[u8],
    ) -> Result<i64, Errno> {
        let number = |at: usize| {
            let octets = octets.get(4 * at..4 * at + 4)?;
            Some(c_int::from_ne_bytes(octets.try_into().ok()?))
        };
        if !supported(level, name) {
            return Err(Errno(ENOPROTOOPT));
        }
        if (level, name) == (IPPROTO_TCP, libc::TCP_CONGESTION) {
            return self.set_congestion(fd, octets);
        }
        // IP options may be single octets.
        let value = match octets {
            [octet] if level == IPPROTO_IP => c_int::from(*octet),
            _ => number(0).ok_or(Errno(EINVAL))?,
        };
        let settings = self.settings.clone();
        let freebsd = settings.freebsd();
        let descriptor = self.descriptor(fd)?;
        match (level, name) {
            (SOL_SOCKET, libc::SO_LINGER) => {
                let secs = number(1).ok_or(Errno(EINVAL))?.max(0) as u64;
                descriptor.chosen.linger = (value != 0).then(|| Duration::from_secs(secs));
            }
            // The kernel's bounds (`MAX_TCP_SYNCNT`).
            (IPPROTO_TCP, libc::TCP_SYNCNT) if !(1..=127).contains(&value) => {
                return Err(Errno(EINVAL));
            }
            (SOL_SOCKET, libc::SO_SNDBUF) => {
                descriptor.chosen.send_buffer = doubled(value, LEAST_SEND_BUFFER);
            }
            (SOL_SOCKET, libc::SO_RCVBUF) => {
                descriptor.chosen.receive_buffer = doubled(value, LEAST_RECEIVE_BUFFER);
            }
            (IPPROTO_TCP, libc::TCP_MAXSEG) if value != 0 && !(88..=32767).contains(&value) => {
                return Err(Errno(EINVAL));
            }
            _ => descriptor.chosen.set_number(level, name, value),
        }
        let chosen = (
            descriptor.chosen.send_buffer,
            settings.for_data(descriptor.chosen.receive_buffer, descriptor.v6),
        );
        let begins_with = move |options: &mut SocketOptions| {
            (options.send_buffer, options.receive_buffer) = chosen;
            match (level, name) {
                (IPPROTO_TCP, libc::TCP_MAXSEG) => {
                    let asked = u16::try_from(value).ok().filter(|mss| *mss > 0);
                    options.mss = asked;
                }
                (IPPROTO_TCP, libc::TCP_DEFER_ACCEPT) => {
                    let secs = Some(value.max(0) as u64).filter(|secs| *secs > 0);
                    options.defer_accept = secs.map(Duration::from_secs);
                }
                _ => {}
            }
            let Some(extensions) = &mut options.extensions else {
                return;
            };
            match (level, name) {
                // SOCK_RCVBUF_LOCK: the buffer does not grow, and the window scale is chosen for
                // its size.
                (SOL_SOCKET, libc::SO_RCVBUF) if !freebsd => extensions.receive_buffer_most = None,
                // SOCK_SNDBUF_LOCK.
                (SOL_SOCKET, libc::SO_SNDBUF) => extensions.send_buffer_most = None,
                (IPPROTO_TCP, libc::TCP_SYNCNT) => {
                    extensions.syn_retries = Some(SynRetries::both(value as u32));
                }
                _ => {}
            }
        };
        match &mut descriptor.kind {
            Kind::Listener(listener) => {
                let listener = *listener;
                begins_with(self.core.listener_options(listener));
            }
            Kind::Fresh { options, .. } => begins_with(options),
            _ => {}
        }
        let descriptor = self.descriptor(fd)?;
        if let Kind::Stream { key, .. } = descriptor.kind {
            self.apply(fd, key, level, name, value)?;
        }
        Ok(0)
    }

    /// Applies to a connection what was set before there was one.
    pub(crate) fn apply_chosen(&mut self, fd: c_int) -> Result<(), Errno> {
        let numbers = self.descriptor(fd)?.chosen.numbers.clone();
        let key = self.stream(fd)?;
        if let Some(octets) = self.settings.notsent_low_water() {
            self.core.set_notsent_low_water(key, Some(octets));
        }
        for (level, name, value) in numbers {
            self.apply(fd, key, level, name, value)?;
        }
        Ok(())
    }

    /// Sets an option on a connection.
    fn apply(
        &mut self,
        fd: c_int,
        key: ConnectionKey,
        level: c_int,
        name: c_int,
        value: c_int,
    ) -> Result<(), Errno> {
        let now = self.now;
        let on = value != 0;
        match (level, name) {
            (SOL_SOCKET, libc::SO_SNDBUF) => {
                self.core
                    .set_send_buffer(key, doubled(value, LEAST_SEND_BUFFER));
            }
            (SOL_SOCKET, libc::SO_RCVBUF) => {
                let octets = doubled(value, LEAST_RECEIVE_BUFFER);
                let v6 = self.descriptor(fd)?.v6;
                self.core
                    .set_receive_buffer(key, self.settings.for_data(octets, v6));
            }
            (IPPROTO_IP, libc::IP_TOS) | (IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                self.core.set_class(key, value as u8);
            }
            (IPPROTO_IP, libc::IP_TTL) | (IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS) => {
                let ttl = u8::try_from(value).ok().filter(|ttl| *ttl > 0);
                self.core.set_ttl(key, ttl.unwrap_or(64));
            }
            (IPPROTO_TCP, TCP_NOTSENT_LOWAT) => {
                let octets = u64::from(value.cast_unsigned());
                let octets = Some(octets).filter(|octets| *octets > 0);
                let usual = self.settings.notsent_low_water();
                self.core.set_notsent_low_water(key, octets.or(usual));
            }
            (SOL_SOCKET, libc::SO_OOBINLINE) => self.core.set_urgent_inline(key, on),
            (SOL_SOCKET, libc::SO_RCVLOWAT) => {
                // The kernel takes 0 for 1, and what is negative for the largest number.
                let octets = u64::try_from(value).unwrap_or(u64::MAX);
                self.core.set_receive_low_water(key, octets);
            }
            (IPPROTO_TCP, libc::TCP_SYNCNT) => {
                let retries = SynRetries::both(value as u32);
                self.core.set_syn_retries(key, Some(retries));
            }
            (IPPROTO_TCP, libc::TCP_NODELAY) => self.core.set_nodelay(now, key, on),
            (IPPROTO_TCP, libc::TCP_CORK) => self.core.set_cork(now, key, on),
            (IPPROTO_TCP, libc::TCP_QUICKACK) => self.core.set_quick_ack(now, key, on),
            (IPPROTO_TCP, libc::TCP_USER_TIMEOUT) => {
                let limit = Some(value.max(0) as u64).filter(|millis| *millis > 0);
                self.core
                    .set_user_timeout(key, limit.map(Duration::from_millis));
            }
            (SOL_SOCKET, libc::SO_KEEPALIVE)
            | (IPPROTO_TCP, libc::TCP_KEEPIDLE | libc::TCP_KEEPINTVL | libc::TCP_KEEPCNT) => {
                let keepalive = self.keepalive(fd)?;
                self.core.set_keepalive(now, key, keepalive);
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the effect of SO_KEEPALIVE and its three numbers.
    fn keepalive(&mut self, fd: c_int) -> Result<Option<Keepalive>, Errno> {
        let usual = self.settings.keepalive();
        let chosen = &self.descriptor(fd)?.chosen;
        let on = chosen
            .number(SOL_SOCKET, libc::SO_KEEPALIVE)
            .is_some_and(|on| on != 0);
        let number = |name| {
            chosen
                .number(IPPROTO_TCP, name)
                .map(|value| value.max(1) as u64)
        };
        Ok(on.then(|| Keepalive {
            idle: number(libc::TCP_KEEPIDLE).map_or(usual.idle, Duration::from_secs),
            interval: number(libc::TCP_KEEPINTVL).map_or(usual.interval, Duration::from_secs),
            probes: number(libc::TCP_KEEPCNT).map_or(usual.probes, |probes| probes as u32),
        }))
    }

    fn set_congestion(&mut self, fd: c_int, octets: &[u8]) -> Result<i64, Errno> {
        use tinygram_engine::sender::congestion::Congestion;
        let name = octets.split(|octet| *octet == 0).next().unwrap_or_default();
        let congestion = match name {
            b"reno" => Congestion::Reno,
            b"cubic" => Congestion::CubicLinux,
            _ => return Err(Errno(libc::ENOENT)),
        };
        match &mut self.descriptor(fd)?.kind {
            Kind::Fresh { options, .. } => options.congestion = Some(congestion),
            Kind::Stream { key, .. } => {
                let key = *key;
                self.core.set_congestion(key, congestion);
            }
            _ => {}
        }
        Ok(0)
    }

    /// Applies changed settings that take effect at once.
    pub(crate) fn apply_settings(&mut self) {
        for state in std::mem::take(&mut self.settings.drops) {
            self.core.drop_connections(|of| info::name(of) == state);
        }
        let full = self.settings.device_full();
        self.core.set_device_full(self.now, full);
    }

    /// Writes the states of all connections for the script's `sockstat`, which the runner replaces.
    pub(crate) fn tell_states(&mut self) {
        self.settings.tell_states(&self.core);
    }
}

/// The least send buffer, in octets, as the kernel counts them (`SOCK_MIN_SNDBUF`,
/// `SOCK_MIN_RCVBUF`, on Linux 6.18 for x86-64).
const LEAST_SEND_BUFFER: u64 = 4608;
/// See [`LEAST_SEND_BUFFER`].
const LEAST_RECEIVE_BUFFER: u64 = 2304;

/// Returns the buffer size for a requested value, which the kernel doubles.
fn doubled(value: c_int, least: u64) -> u64 {
    (2 * value.max(0) as u64).max(least)
}

/// Returns an option's value if it was not set.
fn default(level: c_int, name: c_int) -> c_int {
    match (level, name) {
        (SOL_SOCKET, libc::SO_RCVLOWAT) => 1,
        (IPPROTO_IP, libc::IP_TTL) | (IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS) => 64,
        (IPPROTO_TCP, libc::TCP_SYNCNT) => 6,
        _ => 0,
    }
}

/// Returns whether the option is known. Others are refused as the kernel refuses them.
fn supported(level: c_int, name: c_int) -> bool {
    const TCP: [c_int; 16] = [
        libc::TCP_NODELAY,
        libc::TCP_MAXSEG,
        libc::TCP_CORK,
        libc::TCP_KEEPIDLE,
        libc::TCP_KEEPINTVL,
        libc::TCP_KEEPCNT,
        libc::TCP_SYNCNT,
        libc::TCP_LINGER2,
        libc::TCP_DEFER_ACCEPT,
        libc::TCP_WINDOW_CLAMP,
        libc::TCP_QUICKACK,
        libc::TCP_CONGESTION,
        libc::TCP_USER_TIMEOUT,
        TCP_NOTSENT_LOWAT,
        TCP_INQ,
        libc::TCP_INFO,
    ];
    match level {
        IPPROTO_TCP => TCP.contains(&name),
        _ => true,
    }
}
