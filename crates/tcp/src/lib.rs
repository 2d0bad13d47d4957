//! Many of the engine's connections, with octets and ports, and without a device, a clock or a thread: packets, calls and times
//! come in, packets and wake-ups go out.
//!
//! As with the engine there are three families of calls: a packet arrives ([`Core::on_packet`], and
//! [`Core::on_batch_end`] once no more are at hand), time passes ([`Core::on_time`]), or the
//! application calls (`opening.rs`, `calls.rs`, `urgent.rs`, `readiness.rs`, `settings.rs`, `closing.rs`). After any of them,
//! [`Core::fill`] returns the packets to send, and [`Core::take_wakers`] the tasks to wake.
//!
//! # Keys
//!
//! A [`ConnectionKey`] names a connection, a [`ListenerKey`] a listener. The caller owns a connection's key from the call that
//! returns it ([`Core::connect`], [`Core::poll_accept`]) until [`Core::release`], and a listener's
//! from [`Core::listen`] until [`Core::stop_listening`]. No key is given twice.
//!
//! # Panics
//!
//! A call with a key that was given back is a bug in the caller, and panics. So is one with another stack's key, which is not
//! always noticed.

mod addresses;
mod arrival;
mod calls;
mod chronicle;
mod closing;
mod cookies;
mod counters;
mod icmp;
mod icmp_error;
mod info;
mod keys;
mod link;
mod listener;
mod memory;
mod opening;
mod options;
mod readiness;
mod ring;
mod secrets;
mod settings;
mod socket;
mod timers;
mod transmit;
mod urgent;

use std::collections::HashMap;
use std::net::IpAddr;
use std::task::Waker;

use slab::Slab;
use tinygram_engine::{Connection, Events, Instant, Outbox, State};
use tinygram_wire::encode::{Path, Version};
use tinygram_wire::endpoint::Endpoint;
use tinygram_wire::reassembly::Reassembler;
use tinygram_wire::sequence::Sequence;

use arrival::Gathered;
use keys::Generations;
use listener::Listener;
use memory::Memory;
use secrets::Secrets;
use socket::{Fate, Owner, Socket};
use timers::Timers;
use transmit::Queue;

pub use addresses::{Unfit, check_address};
pub use counters::Counters;
pub use info::Info;
pub use keys::{ConnectionKey, ListenerKey};
pub use link::{Abilities, Offload};
pub use memory::USUAL_MEMORY;
pub use options::{Route, SocketOptions, StackRules};
pub use readiness::Readiness;
pub use transmit::Batch;

/// All connections of a stack.
#[derive(Debug)]
pub struct Core {
    abilities: Abilities,
    addresses: Vec<IpAddr>,
    device_gone: bool,
    device_full: bool,
    sockets: Slab<Socket>,
    memory: Memory,
    pairs: HashMap<Pair, usize, foldhash::fast::RandomState>,
    listeners: Slab<Listener>,
    generations: Generations,
    timers: Timers,
    secrets: Secrets,
    /// The engine's results in the present call; empty between calls.
    outbox: Outbox,
    queue: Queue,
    wakers: Vec<Waker>,
    /// Segments that arrived back to back and count as one.
    gathered: Option<Gathered>,
    /// Sockets with a held runt, to be checked after their writers have run.
    watched: Vec<usize>,
    /// The number of sockets without an owner.
    unowned: usize,
    path_mtus: icmp_error::PathMtus,
    /// `None` drops fragments.
    fragments: Option<Reassembler>,
    /// The ICMP errors that may be sent.
    allowance: icmp::Allowance,
    counters: Counters,
}

/// The two endpoints of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Pair {
    local: Endpoint,
    remote: Endpoint,
}

/// The most sockets without an owner: connections in TIME-WAIT, or closed by their applications and
/// not finished. Beyond it the newest is dropped at once (Linux: `tcp_max_tw_buckets`,
/// `tcp_max_orphans`).
const MOST_UNOWNED: usize = 16_384;

impl Core {
    /// Returns a stack with these addresses on a device with these abilities.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn new(abilities: Abilities, addresses: &[IpAddr]) -> Result<Self, getrandom::Error> {
        Ok(Self::with_secrets(abilities, addresses, Secrets::random()?))
    }

    /// Returns a stack with known keys, so that a run can be repeated exactly.
    #[must_use]
    pub fn with_keys(abilities: Abilities, addresses: &[IpAddr], keys: [[u8; 16]; 2]) -> Self {
        Self::with_secrets(abilities, addresses, Secrets::from_keys(keys))
    }

    fn with_secrets(abilities: Abilities, addresses: &[IpAddr], secrets: Secrets) -> Self {
        Self {
            abilities,
            addresses: addresses.to_vec(),
            device_gone: false,
            device_full: false,
            sockets: Slab::new(),
            memory: Memory::default(),
            pairs: HashMap::default(),
            listeners: Slab::new(),
            generations: Generations::default(),
            timers: Timers::default(),
            secrets,
            outbox: Outbox::new(),
            queue: Queue::default(),
            wakers: Vec::new(),
            gathered: None,
            watched: Vec::new(),
            unowned: 0,
            path_mtus: icmp_error::PathMtus::default(),
            fragments: Some(Reassembler::default()),
            allowance: icmp::Allowance::default(),
            counters: Counters::default(),
        }
    }

    /// Returns the counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the stack's addresses.
    #[must_use]
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// Returns the number of connections in every state, TIME-WAIT included.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.sockets.len()
    }

    /// Sets whether fragments of IP packets are put together (RFC 791, section 3.2; RFC 8200,
    /// section 4.5), as they are at first, or dropped.
    pub fn set_reassembly(&mut self, on: bool) {
        self.fragments = on.then(Reassembler::default);
    }

    /// Returns how many octets of memory fragments take: at most 4 MiB.
    #[must_use]
    pub fn held_in_fragments(&self) -> usize {
        self.fragments.as_ref().map_or(0, Reassembler::held)
    }

    /// Returns the number of alarms that are set, outdated ones included: a few per connection.
    #[must_use]
    pub fn alarms(&self) -> usize {
        self.timers.len()
    }

    /// Moves the tasks to wake into `wakers`. Wake them once the core is no longer locked.
    pub fn take_wakers(&mut self, wakers: &mut Vec<Waker>) {
        wakers.append(&mut self.wakers);
    }

    /// Returns whether packets wait to be sent or tasks to be woken.
    #[must_use]
    #[inline]
    pub fn has_news(&self) -> bool {
        self.has_packets() || !self.wakers.is_empty()
    }

    /// Returns when to call [`Core::on_time`]; that may be earlier than necessary.
    #[must_use]
    #[inline]
    pub fn next_alarm(&self) -> Instant {
        let fragments = self.fragments.as_ref().and_then(Reassembler::next_expiry);
        let first = self.timers.first();
        fragments.map_or(first, |expiry| first.min(expiry))
    }

    /// Does what is due at `now`.
    pub fn on_time(&mut self, now: Instant) {
        self.relieve(now);
        self.give_up_fragments(now);
        while let Some((at, key)) = self.timers.due(now) {
            let Some(socket) = self.sockets.get_mut(key) else {
                continue;
            };
            // An earlier alarm has dealt with it.
            if socket.armed != at {
                continue;
            }
            socket.armed = Instant::FAR_FUTURE;
            let deadline = socket.connection.next_wakeup();
            if deadline.is_some_and(|at| at <= now) {
                socket.connection.on_wakeup(now, &mut self.outbox);
            }
            if socket.alarm <= now {
                self.on_alarm(key);
            }
            self.settle(key);
        }
    }

    /// Tells the policies that gather until the writer blocks that the tasks which wrote have
    /// yielded since.
    pub fn on_idle(&mut self, now: Instant) {
        for at in 0..self.watched.len() {
            let key = self.watched[at];
            if let Some(socket) = self.sockets.get_mut(key)
                && std::mem::take(&mut socket.watched)
            {
                self.blocks(
                    now,
                    key,
                    tinygram_engine::sender::send_policy::BlockedOn::Elsewhere,
                );
            }
        }
        self.watched.clear();
    }

    /// Ends every connection because the device is gone. No new connection begins.
    pub fn on_device_gone(&mut self) {
        self.addresses.clear();
        self.device_gone = true;
        for (_, listener) in &mut self.listeners {
            listener.wake_acceptors(&mut self.wakers);
        }
        for (_, socket) in &mut self.sockets {
            socket.ends(Fate::Aborted);
            socket.connection.abort(&mut self.outbox);
            socket.wake_reader(&mut self.wakers);
            socket.wake_writer(&mut self.wakers);
        }
        self.outbox = Outbox::new();
    }

    /// Says whether the device refuses packets: see [`Connection::set_device_full`]. The caller
    /// drops what leaves meanwhile.
    pub fn set_device_full(&mut self, now: Instant, full: bool) {
        if std::mem::replace(&mut self.device_full, full) == full {
            return;
        }
        let keys: Vec<_> = self.sockets.iter().map(|(key, _)| key).collect();
        for key in keys {
            let connection = &mut self.sockets[key].connection;
            connection.set_device_full(now, full, &mut self.outbox);
            self.settle(key);
        }
    }

    /// Returns whether [`Core::on_idle`] has anything to check.
    #[must_use]
    pub fn watches(&self) -> bool {
        !self.watched.is_empty()
    }

    /// Returns a new socket on a path, registered under its pair of endpoints.
    fn open(
        &mut self,
        now: Instant,
        pair: Pair,
        options: &SocketOptions,
        owner: Owner,
    ) -> Result<usize, tinygram_wire::encode::FamiliesDiffer> {
        let mut path = Path::new(pair.local, pair.remote)?;
        options.mark(&mut path);
        let known = self.path_mtus.towards(now, pair.remote.address());
        let config = options.config(self.abilities.mss(path.version()));
        let numbers = self.secrets.numbers(now, &pair.local, &pair.remote);
        let mut connection = Connection::new(&config);
        connection.set_timestamp_offset(numbers.timestamp_offset);
        connection.set_device_full(now, self.device_full, &mut self.outbox);
        let always = options.route.mtu.map(|mtu| (mtu, Instant::FAR_FUTURE));
        for (mtu, until) in always.into_iter().chain(known) {
            let mss = mtu.saturating_sub(headers_len(path.version()));
            connection.limit_path_mss(mss, until);
        }
        let mut socket = Socket::new(
            connection,
            self.generations.next(),
            path,
            Sequence::new(numbers.initial_sequence),
            owner,
        );
        socket.urgent_inline = !options.rules().urgent_out_of_line;
        if self.is_memory_scarce() {
            socket.limit();
        }
        let key = self.sockets.insert(socket);
        self.pairs.insert(pair, key);
        Ok(key)
    }

    /// Carries out what the engine returned for this socket in [`Core::outbox`]. Every call ends
    /// here.
    #[inline]
    fn settle(&mut self, key: usize) {
        let socket = &mut self.sockets[key];
        // The pointer counts from each segment, so that those with one do not join.
        let join = self.abilities.offload && socket.urgent_end.is_none();
        if socket.urgent_end.is_some() {
            socket.forget_sent_urgent();
        }
        for segment in self.outbox.segments.drain(..) {
            let alone = self.queue.push(key, segment, join);
            socket.queued += u32::from(alone);
        }
        socket.forget_acknowledged(&mut self.memory.pieces);
        socket.chronicle();
        let deadline = socket.connection.next_wakeup();
        let mut deadline = deadline.unwrap_or(Instant::FAR_FUTURE);
        if socket.alarm != Instant::FAR_FUTURE {
            deadline = deadline.min(socket.alarm);
            if socket.linger.is_some() && socket.is_flushed() {
                socket.wake_writer(&mut self.wakers);
            }
        }
        if self.timers.arm(key, deadline, &mut socket.armed) {
            let sockets = &self.sockets;
            let matters = |at, key| sockets.get(key).is_some_and(|socket| socket.armed == at);
            self.timers.tidy(sockets.len(), matters);
        }
        let news = self.outbox.take_events();
        if !news.is_empty() {
            self.tell(key, news);
        }
        if socket_is_unowned(&self.sockets[key]) {
            self.bury(key);
        }
    }

    /// Tells the owner of the socket what happened to its connection.
    fn tell(&mut self, key: usize, news: Events) {
        let socket = &mut self.sockets[key];
        let any = |wanted: &[Events]| wanted.iter().any(|one| news.has(*one));
        // Once both FINs are sent, the application loses nothing (RFC 9293, section 3.10.7.4: in
        // CLOSING, LAST-ACK and TIME-WAIT it is not told of a RST).
        let connection = &socket.connection;
        let finished = connection.sender().is_finishing() && connection.receiver().fin_received();
        let failed = any(&[Events::RESET, Events::TIMED_OUT]) && !finished;
        if failed {
            socket.ends(match (news.has(Events::RESET), socket.was_connected) {
                (true, true) => Fate::Reset,
                (true, false) => Fate::Refused,
                (false, _) => socket.soft_error.unwrap_or(Fate::TimedOut),
            });
        }
        if news.has(Events::CONNECTED) {
            socket.was_connected = true;
            socket.chronicle.data_at = socket.connection.sender().vars().now;
        }
        let ended = any(&[Events::CLOSED, Events::RESET, Events::TIMED_OUT]);
        if ended
            || any(&[Events::PEER_CLOSED, Events::CONNECTED])
            || news.has(Events::READABLE) && socket.has_enough_for_the_reader()
        {
            socket.wake_reader(&mut self.wakers);
        }
        if ended || any(&[Events::WRITABLE, Events::CONNECTED]) {
            socket.wake_writer(&mut self.wakers);
        }
        if ended {
            socket.forget_what_cannot_leave(&mut self.memory.pieces);
        }
        if matches!(socket.owner, Owner::HalfOpen { .. }) {
            if news.has(Events::CONNECTED) {
                self.on_handshake_done(key);
            } else if any(&[Events::READABLE, Events::PEER_CLOSED]) {
                self.hand_over(key);
            }
        }
    }

    /// Removes the socket from its owner.
    fn disown(&mut self, key: usize) {
        let socket = &mut self.sockets[key];
        if let Owner::HalfOpen { listener, serial } = socket.owner {
            self.listeners[listener].closed(serial, key);
        }
        socket.owner = Owner::Nobody;
        self.unowned += 1;
    }

    fn reset_connection(&mut self, key: usize) {
        self.sockets[key].connection.abort(&mut self.outbox);
        self.settle(key);
    }

    /// Removes the socket, if it is no longer needed.
    fn bury(&mut self, key: usize) {
        let socket = &mut self.sockets[key];
        socket.forget_what_cannot_leave(&mut self.memory.pieces);
        let closed = matches!(socket.connection.state(), State::Closed | State::Listen);
        let unowned = socket_is_unowned(socket);
        if socket.connection.state() == State::TimeWait && unowned {
            socket.send.release(&mut self.memory.pieces);
            socket.receive.release(&mut self.memory.pieces);
        }
        if !closed || !unowned || socket.queued > 0 {
            return;
        }
        if socket.owner != Owner::Nobody {
            self.disown(key);
        }
        self.unowned -= 1;
        let mut socket = self.sockets.remove(key);
        socket.send.release(&mut self.memory.pieces);
        socket.receive.release(&mut self.memory.pieces);
        self.pairs.remove(&socket.pair());
    }
}

impl Abilities {
    /// Returns the largest segment that the device can send unfragmented (RFC 9293, section 3.7.1).
    fn mss(&self, version: Version) -> u16 {
        self.mtu.saturating_sub(headers_len(version)).max(1)
    }
}

/// Returns how many octets an IP and a TCP header take without options.
const fn headers_len(version: Version) -> u16 {
    const TCP_HEADER: usize = 20;
    (version.header_len() + TCP_HEADER) as u16
}

/// Returns whether no application owns the socket or will get it from a listener.
#[inline]
fn socket_is_unowned(socket: &Socket) -> bool {
    matches!(socket.owner, Owner::Nobody | Owner::HalfOpen { .. })
}
