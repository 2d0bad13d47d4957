//! A world: two hosts, the medium between them, and the time.

use tinygram_engine::connection::Config;
use tinygram_engine::{Connection, Duration, Instant};

use crate::costs::HostCosts;
use crate::dice::{Dice, Purpose};
use crate::host::{Host, Socket, Wish};
use crate::medium::{
    Impaired, ImpairmentRules, Medium, MediumFrame, PointToPoint, Side, UnderWay, Wire,
};
use crate::observer::{Nobody, Observer};
use crate::program::Program;

/// How a connection is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// It is open when the run begins.
    Established,
    /// The programs open it with `Connect` and `Accept`.
    Handshake,
}

/// The parts of a world.
#[derive(Clone, Debug)]
pub struct WorldConfig {
    /// The medium.
    pub medium: Medium,
    /// The impairments of frames beyond the medium.
    pub impairment: ImpairmentRules,
    /// The costs of work, by host.
    pub costs: [HostCosts; 2],
    /// The seed of all random numbers.
    pub seed: u64,
}

impl WorldConfig {
    /// Returns two hosts joined by a wire of their own, on which nothing happens to a frame.
    #[must_use]
    pub fn over(wire: Wire, costs: [HostCosts; 2], seed: u64) -> Self {
        Self {
            medium: Medium::PointToPoint(PointToPoint::new(wire)),
            impairment: ImpairmentRules::NONE,
            costs,
            seed,
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// A program stopped it.
    Stopped,
    /// Nothing is left to happen.
    Quiet,
    /// The given time was over.
    TimeUp,
}

/// The least time that can pass.
const INSTANT: Duration = Duration::from_nanos(1);

/// Two hosts joined by a medium.
#[derive(Clone, Debug)]
pub struct World<P, O = Nobody> {
    now: Instant,
    hosts: [Host<P>; 2],
    /// When each host's processor starts or ends something, as last looked up.
    next_job: [Instant; 2],
    medium: Medium,
    /// When something happens on the medium, as last looked up.
    medium_next: Instant,
    under_way: UnderWay,
    observer: O,
    events: u64,
}

impl<P: Program> World<P> {
    /// Returns a world without an observer. `programs` are the threads of each host.
    #[must_use]
    pub fn new(config: WorldConfig, programs: [Vec<P>; 2]) -> Self {
        Self::watched(config, programs, Nobody)
    }
}

impl<P: Program, O: Observer> World<P, O> {
    /// Returns a world with an observer.
    #[must_use]
    pub fn watched(config: WorldConfig, programs: [Vec<P>; 2], observer: O) -> Self {
        let WorldConfig {
            medium,
            impairment,
            costs,
            seed,
        } = config;
        let [of_client, of_server] = programs;
        let dice = |purpose| Dice::new(seed, purpose);
        let impaired = !impairment.is_none();
        let impairment = impaired.then(|| Impaired::new(impairment, dice(Purpose::Impairment)));
        Self {
            now: Instant::ZERO,
            hosts: [
                Host::new(costs[0], dice(Purpose::Host0), of_client),
                Host::new(costs[1], dice(Purpose::Host1), of_server),
            ],
            next_job: [Instant::ZERO; 2],
            medium_next: medium.next_event(),
            medium,
            under_way: UnderWay::new(impairment),
            observer,
            events: 0,
        }
    }

    /// Adds a connection between the hosts, with the rules of each end; returns its socket's
    /// number.
    pub fn connect(&mut self, opening: Opening, ends: [Config; 2]) -> u32 {
        let windows = Side::BOTH.map(|side| offered(&ends[side.other().index()]));
        for ((host, config), window) in self.hosts.iter_mut().zip(ends).zip(windows) {
            let connection = match opening {
                Opening::Established => Connection::established(&config, window),
                Opening::Handshake => Connection::new(&config),
            };
            host.kernel.sockets.push(Socket::new(config, connection));
        }
        self.hosts[0].sockets().len() as u32 - 1
    }

    /// Returns the present time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns a host.
    #[must_use]
    pub fn host(&self, side: Side) -> &Host<P> {
        &self.hosts[side.index()]
    }

    /// Returns the number of frames that never arrived.
    #[must_use]
    pub fn frames_lost(&self) -> u64 {
        self.under_way.lost
    }

    /// Returns the number of events that were handled.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Returns the observer.
    #[must_use]
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// Returns the observer after the run.
    #[must_use]
    pub fn into_observer(self) -> O {
        self.observer
    }

    /// Runs until a program stops it, nothing is left to happen, or the time reaches `until`.
    pub fn run(&mut self, until: Instant) -> Ended {
        let end = until + INSTANT;
        self.look_up_jobs();
        loop {
            // At the same instant the client goes before the server.
            let [client, server] = self.next_job;
            let (side, now, others) = if client <= server {
                (Side::Client, client, server + INSTANT)
            } else {
                (Side::Server, server, client)
            };
            if now.min(self.medium_next) >= end {
                return self.end(until);
            }
            // The medium goes before both hosts: what it brings was there before.
            if self.medium_next <= now {
                self.run_medium();
            } else {
                let alone_until = others.min(self.medium_next).min(end);
                match self.run_host(side, now, alone_until) {
                    Wish::Nothing => {}
                    Wish::Renew(socket) => self.renew(socket),
                    Wish::Stop => return Ended::Stopped,
                }
            }
            self.mind_arrivals();
        }
    }

    /// Returns how the run ended: nothing is left to happen, or nothing up to `until`.
    #[cold]
    fn end(&mut self, until: Instant) -> Ended {
        let [client, server] = self.next_job;
        if client.min(server).min(self.medium_next) == Instant::FAR_FUTURE {
            return Ended::Quiet;
        }
        self.now = until;
        Ended::TimeUp
    }

    #[inline(never)]
    fn run_medium(&mut self) {
        self.now = self.medium_next;
        self.events += 1;
        self.medium.run(self.now, &mut self.under_way);
        self.medium_next = self.medium.next_event();
    }

    /// Returns when the host's processor starts or ends something, by itself or for an arrival.
    #[inline]
    fn next_of(&mut self, side: Side) -> Instant {
        let arrival = self.under_way.next_arrival(side);
        self.hosts[side.index()].next_job(arrival)
    }

    fn look_up_jobs(&mut self) {
        self.next_job = Side::BOTH.map(|side| self.next_of(side));
    }

    /// Updates the hosts' next jobs, because a frame may arrive before them. Nothing else that the
    /// medium or the other host does changes them.
    #[inline]
    fn mind_arrivals(&mut self) {
        for side in Side::BOTH {
            if self.under_way.next_arrival(side) < self.next_job[side.index()] {
                self.next_job[side.index()] = self.next_of(side);
            }
        }
    }

    /// Runs the host from `now` on, one job after the other, while nothing else in the world
    /// happens: before `alone_until`, or earlier if what it sends makes something happen earlier.
    /// Returns what it demands of the world.
    ///
    /// Not inlined: if a host's address were known, the compiler would recompute each field's
    /// address.
    #[inline(never)]
    fn run_host(&mut self, side: Side, mut now: Instant, mut alone_until: Instant) -> Wish {
        loop {
            self.now = now;
            self.events += 1;
            let wish = self.run_job(side, now);
            if !self.hosts[side.index()].kernel.leaving.is_empty() {
                self.flush(side);
                let arrival = self.under_way.next_arrival(side.other());
                alone_until = alone_until.min(self.medium_next).min(arrival);
            }
            let host = &self.hosts[side.index()];
            self.observer
                .ran(host.kernel.processor.free_at, side, host.sockets());
            now = self.next_of(side);
            if wish != Wish::Nothing || now >= alone_until {
                self.next_job[side.index()] = now;
                return wish;
            }
        }
    }

    /// Runs the most urgent job: arrived frames go before anything else.
    #[inline]
    fn run_job(&mut self, side: Side, now: Instant) -> Wish {
        let host = &mut self.hosts[side.index()];
        if self.under_way.next_arrival(side) > now || !host.lets_frames_in() {
            return host.go_on(now);
        }
        if let Some(frame) = self.under_way.first(side) {
            self.observer.received(now, side, frame);
            host.take_in(now, frame);
            self.under_way.taken(side);
        }
        Wish::Nothing
    }

    /// Hands what the engine produced to the device, one segment after the other.
    #[inline(never)]
    fn flush(&mut self, side: Side) {
        let kernel = &mut self.hosts[side.index()].kernel;
        let processor = &mut kernel.processor;
        let cost = processor.costs.output;
        let mut segments = &kernel.outbox.segments[..];
        for from in &kernel.leaving {
            let (own, others) = segments.split_at(from.segments);
            for segment in own {
                let frame = MediumFrame {
                    segment: *segment,
                    socket: from.socket,
                    generation: from.generation,
                    at: processor.occupy(cost.of(segment.len)),
                };
                let frame = self.under_way.wait(side, frame);
                self.observer.sent(side, frame);
            }
            segments = others;
        }
        kernel.outbox.segments.clear();
        kernel.leaving.clear();
        self.medium.enqueue(side, &mut self.under_way);
        self.medium_next = self.medium.next_event();
    }

    fn renew(&mut self, socket: u32) {
        let index = socket as usize;
        let windows = Side::BOTH
            .map(|side| offered(&self.hosts[side.other().index()].sockets()[index].config));
        for (host, window) in self.hosts.iter_mut().zip(windows) {
            host.kernel.sockets[index].renew(window);
            host.kernel.asked = true;
        }
        self.look_up_jobs();
    }
}

/// Returns the window that an end offers before anything has arrived.
fn offered(config: &Config) -> u64 {
    config.receiver.buffer.min(config.receiver.window_cap)
}
