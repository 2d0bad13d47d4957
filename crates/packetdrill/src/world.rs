//! The stack with its virtual clock, and the calls that sleep in it.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ffi::{c_int, c_longlong};
use std::net::IpAddr;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use tinygram_engine::{Duration, Instant};
use tinygram_tcp::{Abilities, Batch, Core};
use tinygram_wire::packet::Verify;

use crate::call::{Call, Errno, Outcome};
use crate::descriptor::Descriptor;
use crate::dialect;
use crate::settings::{Settings, WrongFlag};

/// The world behind a lock: packetdrill calls from two threads, its own and one for blocking calls.
#[derive(Debug)]
pub(crate) struct Drill {
    world: Mutex<World>,
    changed: Condvar,
    /// The thread that runs the script. Time passes while it sleeps.
    script: ThreadId,
}

/// The stack, its clock and its descriptors.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) core: Core,
    pub(crate) now: Instant,
    pub(crate) settings: Settings,
    pub(crate) descriptors: BTreeMap<c_int, Descriptor>,
    /// Packets that left, with the time in microseconds.
    sent: VecDeque<(c_longlong, Vec<u8>)>,
    batch: Batch,
    /// Sleeping calls, by number.
    asleep: BTreeMap<u64, Call>,
    /// The outcomes of calls that slept.
    done: HashMap<u64, Result<Outcome, Errno>>,
    next_ticket: u64,
    /// Threads that were woken and have not read the time yet. No time passes before they have.
    returning: HashSet<ThreadId>,
    /// How often in a row the clock was read without any other call.
    looks: u32,
}

/// A caller that reads the clock this often in a row waits for it to move.
const LOOKS: u32 = 8;
/// If nothing happens for this long, nothing will: it is longer than the idle time before keepalive
/// probes.
const LONG: Duration = Duration::from_secs(4 * 3600);

impl Drill {
    /// Returns a world with settings from packetdrill's `--so_flags`.
    ///
    /// # Errors
    ///
    /// The error in the flags.
    pub(crate) fn new(flags: &str) -> Result<Self, WrongFlag> {
        let settings = Settings::new(flags)?;
        let abilities = Abilities {
            mtu: settings.mtu(),
            offload: false,
            headroom: 0,
        };
        // packetdrill's defaults; further addresses are learned from packets sent to them.
        let addresses: [IpAddr; 2] = [
            [192, 168, 0, 1].into(),
            [0xfd3d, 0xfa7b, 0xd17d, 0, 0, 0, 0, 1].into(),
        ];
        Ok(Self {
            world: Mutex::new(World {
                core: Core::with_keys(abilities, &addresses, [[1; 16], [2; 16]]),
                now: Instant::ZERO,
                settings,
                descriptors: BTreeMap::new(),
                sent: VecDeque::new(),
                batch: Batch::default(),
                asleep: BTreeMap::new(),
                done: HashMap::new(),
                next_ticket: 0,
                returning: HashSet::new(),
                looks: 0,
            }),
            changed: Condvar::new(),
            script: thread::current().id(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the world once all woken threads have returned and read the time.
    fn settled(&self) -> MutexGuard<'_, World> {
        let mut world = self.lock();
        while !world.returning.is_empty() || !world.done.is_empty() {
            world = self
                .changed
                .wait(world)
                .unwrap_or_else(PoisonError::into_inner);
        }
        world
    }

    /// Makes a call that does not sleep.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut World) -> T) -> T {
        let mut world = self.lock();
        world.begin();
        let result = work(&mut world);
        world.progress();
        self.changed.notify_all();
        result
    }

    /// Makes a call that may sleep, unless the descriptor or the flags forbid it.
    pub(crate) fn call(&self, fd: c_int, flags: c_int, mut call: Call) -> Result<Outcome, Errno> {
        let mut world = self.lock();
        world.begin();
        let at_once = world.attempt(&mut call);
        world.progress();
        self.changed.notify_all();
        if let Some(outcome) = at_once {
            return outcome;
        }
        if world.is_nonblocking(fd) || flags & libc::MSG_DONTWAIT != 0 {
            return call.would_block();
        }
        self.sleep_in(world, call)
    }

    /// Makes a call that waits for events, at most for the timeout in milliseconds.
    pub(crate) fn wait_for(
        &self,
        timeout: c_int,
        call: impl FnOnce(Instant) -> Call,
    ) -> Result<Outcome, Errno> {
        let mut world = self.lock();
        world.begin();
        let until = match u64::try_from(timeout) {
            Ok(millis) => world.now + Duration::from_millis(millis),
            Err(_) => Instant::FAR_FUTURE,
        };
        let mut call = call(until);
        match world.attempt(&mut call) {
            Some(outcome) => outcome,
            None => self.sleep_in(world, call),
        }
    }

    fn sleep_in(&self, mut world: MutexGuard<'_, World>, call: Call) -> Result<Outcome, Errno> {
        let ticket = world.next_ticket;
        world.next_ticket += 1;
        world.asleep.insert(ticket, call);
        if thread::current().id() == self.script {
            // The script itself sleeps: time passes until the call is done.
            while !world.done.contains_key(&ticket) {
                world.next_event();
            }
        }
        loop {
            if let Some(outcome) = world.done.remove(&ticket) {
                if thread::current().id() != self.script {
                    world.returning.insert(thread::current().id());
                }
                return outcome;
            }
            world = self
                .changed
                .wait(world)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns the next packet that leaves, with the time in microseconds. Time passes until there
    /// is one.
    pub(crate) fn next_packet(&self) -> (c_longlong, Vec<u8>) {
        let mut world = self.settled();
        world.looks = 0;
        loop {
            if let Some(packet) = world.sent.pop_front() {
                return packet;
            }
            world.next_event();
            self.changed.notify_all();
            if !world.returning.is_empty() || !world.done.is_empty() {
                drop(world);
                thread::yield_now();
                world = self.settled();
            }
        }
    }

    /// Lets time pass.
    pub(crate) fn sleep(&self, micros: u64) {
        let until = {
            let mut world = self.settled();
            world.begin();
            world.now + Duration::from_micros(micros)
        };
        loop {
            let mut world = self.settled();
            let alarm = world.next_alarm().min(until);
            world.advance(alarm);
            self.changed.notify_all();
            // Threads that are woken at this instant read the time now.
            while !world.done.is_empty() || !world.returning.is_empty() {
                world = self
                    .changed
                    .wait(world)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            if world.now >= until {
                return;
            }
        }
    }

    /// Returns the time in microseconds. A caller that asks again and again makes it pass.
    pub(crate) fn look_at_the_clock(&self) -> u64 {
        let me = thread::current().id();
        if self.lock().returning.remove(&me) {
            self.changed.notify_all();
            return self.lock().now.as_nanos() / 1000;
        }
        let mut world = self.settled();
        world.looks += 1;
        if world.looks > LOOKS {
            let next = world.now + Duration::from_micros(1);
            world.advance(next);
            self.changed.notify_all();
        }
        world.now.as_nanos() / 1000
    }
}

impl World {
    /// Begins a call of the script.
    fn begin(&mut self) {
        self.looks = 0;
        if self.settings.refresh() {
            self.apply_settings();
        }
    }

    /// Handles a packet.
    pub(crate) fn on_packet(&mut self, packet: &[u8]) {
        if let Some(address) = destination(packet) {
            self.core.add_address(address);
        }
        self.core.on_packet(self.now, packet, Verify::Checksum);
        self.core.on_batch_end(self.now);
    }

    /// Returns when something happens by itself.
    fn next_alarm(&self) -> Instant {
        let calls = self.asleep.values().map(Call::until);
        calls.fold(self.core.next_alarm(), Instant::min)
    }

    /// Lets time pass until something happens.
    fn next_event(&mut self) {
        let alarm = self.next_alarm();
        if alarm == Instant::FAR_FUTURE || alarm.since(self.now) > LONG {
            eprintln!("tinygram: nothing more happens: no packet leaves and nobody is woken");
            std::process::exit(1);
        }
        self.advance(alarm);
    }

    /// Sets the time to `until`, unless that is past.
    fn advance(&mut self, until: Instant) {
        self.core.on_idle(self.now);
        self.progress();
        loop {
            let alarm = self.next_alarm();
            if alarm > until {
                break;
            }
            self.now = self.now.max(alarm);
            self.core.on_time(self.now);
            self.progress();
            if !self.done.is_empty() {
                // A thread wakes up; the rest comes after that.
                return;
            }
        }
        self.now = self.now.max(until);
    }

    /// Sends what the stack has to send, and lets sleeping calls check again.
    pub(crate) fn progress(&mut self) {
        loop {
            self.flush();
            let mut woke = false;
            for ticket in self.asleep.keys().copied().collect::<Vec<_>>() {
                let mut call = self.asleep.remove(&ticket).expect("it sleeps");
                match self.attempt(&mut call) {
                    Some(outcome) => {
                        woke = true;
                        self.done.insert(ticket, outcome);
                    }
                    None => {
                        self.asleep.insert(ticket, call);
                    }
                }
            }
            self.flush();
            if !woke {
                break;
            }
        }
        let mut wakers = Vec::new();
        self.core.take_wakers(&mut wakers);
        self.tell_states();
    }

    fn flush(&mut self) {
        let micros = (self.now.as_nanos() / 1000) as c_longlong;
        let mut batch = std::mem::take(&mut self.batch);
        while self.core.has_packets() {
            self.core.fill(&mut batch);
            let freebsd = self.settings.freebsd();
            let full = self.settings.device_full();
            batch.drain(0, |octets, _| {
                if full {
                    return;
                }
                let mut packet = octets.to_vec();
                if freebsd {
                    dialect::order_options(&mut packet);
                }
                self.sent.push_back((micros, packet));
            });
        }
        self.batch = batch;
    }
}

fn destination(packet: &[u8]) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 => Some(<[u8; 4]>::try_from(packet.get(16..20)?).ok()?.into()),
        6 => Some(<[u8; 16]>::try_from(packet.get(24..40)?).ok()?.into()),
        _ => None,
    }
}
