//! Two hosts, what lies between them, and the time.

use tinygram_engine::connection::Config;
use tinygram_engine::{Connection, Instant};

use crate::costs::HostCosts;
use crate::dice::{Dice, Purpose};
use crate::host::{Host, Socket, Wish};
use crate::medium::{Carried, Frame, Impairment, ImpairmentRules, Medium, Side};
use crate::observer::{Nobody, Observer};
use crate::program::Program;

/// How a connection comes to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// It is open when the run begins.
    Established,
    /// The programs open it with `Connect` and `Accept`.
    Handshake,
}

/// What a world is made of.
#[derive(Clone, Debug)]
pub struct WorldConfig {
    /// The medium.
    pub medium: Medium,
    /// What befalls frames beyond it.
    pub impairment: ImpairmentRules,
    /// What work costs, by host.
    pub costs: [HostCosts; 2],
    /// The seed of all chance.
    pub seed: u64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// A program stopped it.
    Stopped,
    /// Nothing is left to happen.
    Quiet,
    /// The time given was up.
    TimeUp,
}

/// Two hosts joined by a medium.
#[derive(Clone, Debug)]
pub struct World<P, O = Nobody> {
    now: Instant,
    hosts: [Host<P>; 2],
    medium: Medium,
    /// When something happens on the medium, as last looked up.
    medium_next: Instant,
    carried: Carried,
    observer: O,
    events: u64,
}

impl<P: Program> World<P> {
    /// A world that nobody watches. `programs` are the threads of each host.
    #[must_use]
    pub fn new(config: WorldConfig, programs: [Vec<P>; 2]) -> Self {
        Self::watched(config, programs, Nobody)
    }
}

impl<P: Program, O: Observer> World<P, O> {
    /// A world with an observer.
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
        let impairment = impaired.then(|| Impairment::new(impairment, dice(Purpose::Impairment)));
        Self {
            now: Instant::ZERO,
            hosts: [
                Host::new(costs[0], dice(Purpose::Host0), of_client),
                Host::new(costs[1], dice(Purpose::Host1), of_server),
            ],
            medium_next: medium.next_event(),
            medium,
            carried: Carried::new(impairment),
            observer,
            events: 0,
        }
    }

    /// Adds a connection between the hosts, with the rules of each end; gives its socket's number.
    pub fn connect(&mut self, opening: Opening, ends: [Config; 2]) -> u32 {
        let windows = Side::BOTH.map(|side| offered(&ends[side.other().index()]));
        for ((host, config), window) in self.hosts.iter_mut().zip(ends).zip(windows) {
            let connection = match opening {
                Opening::Established => Connection::established(&config, window),
                Opening::Handshake => Connection::new(&config),
            };
            host.sockets.push(Socket::new(config, connection));
        }
        self.hosts[0].sockets.len() as u32 - 1
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.now
    }

    /// A host.
    #[must_use]
    pub fn host(&self, side: Side) -> &Host<P> {
        &self.hosts[side.index()]
    }

    /// Frames that never arrived.
    #[must_use]
    pub fn frames_lost(&self) -> u64 {
        self.carried.lost
    }

    /// How many events were handled.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The observer.
    #[must_use]
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// The observer, when the run is over.
    #[must_use]
    pub fn into_observer(self) -> O {
        self.observer
    }

    /// Runs until a program stops it, nothing is left to happen, or the time is `until`.
    pub fn run(&mut self, until: Instant) -> Ended {
        // When each host wants its processor for itself; changed by nothing but its own jobs.
        let mut own = Side::BOTH.map(|side| self.hosts[side.index()].next_own());
        loop {
            let medium = self.medium_next;
            let [client, server] = Side::BOTH.map(|side| self.next_of(side, own[side.index()]));
            let first = client.min(server).min(medium);
            if first == Instant::FAR_FUTURE {
                return Ended::Quiet;
            }
            if first > until {
                self.now = until;
                return Ended::TimeUp;
            }
            self.now = first;
            self.events += 1;
            // At one instant the medium goes first: what it brings was there before.
            if medium == first {
                self.medium.run(first, &mut self.carried);
                self.medium_next = self.medium.next_event();
                continue;
            }
            let side = if client == first {
                Side::Client
            } else {
                Side::Server
            };
            let wish = self.run_host(side);
            if wish == Wish::Stop {
                return Ended::Stopped;
            }
            own[side.index()] = self.hosts[side.index()].next_own();
            if wish != Wish::Nothing {
                let other = side.other().index();
                own[other] = self.hosts[other].next_own();
            }
        }
    }

    /// When the host's processor has something to begin or to end, be it of its `own` or an arrival.
    #[inline]
    fn next_of(&self, side: Side, own: Instant) -> Instant {
        let host = &self.hosts[side.index()];
        let arrival = self.carried.next_arrival(side);
        let wanted = own.min(arrival.max(host.frames_wait_until()));
        if wanted == Instant::FAR_FUTURE {
            wanted
        } else {
            wanted.max(host.free_at)
        }
    }

    /// The processor can be had and there is something to do: what came in goes before anything else.
    #[inline]
    fn run_host(&mut self, side: Side) -> Wish {
        let now = self.now;
        let host = &mut self.hosts[side.index()];
        let mut wish = Wish::Nothing;
        let arrival = self.carried.next_arrival(side);
        if arrival > now || host.frames_wait_until() > now || host.lets_end_first(now) {
            wish = host.go_on(now);
        } else if let Some(frame) = self.carried.first(side) {
            self.observer.received(now, side, frame);
            host.take_in(now, frame);
            self.carried.taken(side);
        }
        self.flush(side);
        let host = &self.hosts[side.index()];
        self.observer.ran(host.free_at, side, &host.sockets);
        if let Wish::Renew(socket) = wish {
            self.renew(socket);
        }
        wish
    }

    /// Hands what the engine produced to the device, one segment after the other.
    #[inline]
    fn flush(&mut self, side: Side) {
        if !self.hosts[side.index()].leaving.is_empty() {
            self.flush_frames(side);
        }
    }

    fn flush_frames(&mut self, side: Side) {
        let host = &mut self.hosts[side.index()];
        let cost = host.costs.output;
        let mut segments = std::mem::take(&mut host.outbox.segments);
        let mut leaving = std::mem::take(&mut host.leaving);
        let mut drained = segments.drain(..);
        for from in leaving.drain(..) {
            for segment in drained.by_ref().take(from.segments) {
                let frame = Frame {
                    segment,
                    socket: from.socket,
                    generation: from.generation,
                    at: host.occupy(cost.of(segment.len)),
                };
                self.observer.sent(side, &frame);
                self.medium.enqueue(side, frame, &mut self.carried);
            }
        }
        drop(drained);
        // Their room is kept.
        host.outbox.segments = segments;
        host.leaving = leaving;
        self.medium_next = self.medium.next_event();
    }

    fn renew(&mut self, socket: u32) {
        let index = socket as usize;
        let windows =
            Side::BOTH.map(|side| offered(&self.hosts[side.other().index()].sockets[index].config));
        for (host, window) in self.hosts.iter_mut().zip(windows) {
            host.sockets[index].renew(window);
            host.asked = true;
        }
    }
}

/// The window that an end offers when nothing has arrived.
fn offered(config: &Config) -> u64 {
    config.receiver.buffer.min(config.receiver.window_cap)
}
