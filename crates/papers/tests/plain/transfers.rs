//! A second, plain implementation of what NAGLE does on an FDDI ring: sections 3, 5.4 and 7 of Mogul
//! & Minshall's paper, without the engine and without the simulator. It has no losses, because the
//! paper's LAN had none.
//!
//! Times are in nanoseconds and sizes in octets. Nothing is random but the lengths: costs are
//! nominal, so that a difference is one of rules.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

const SERVER: usize = 0;
const CLIENT: usize = 1;
const REQUEST: u64 = 100;
/// Headers of a frame: TCP and IP 40, FDDI 36.
const HEADERS: u64 = 76;
const PS_PER_OCTET: u64 = 80_000;
const PROPAGATION: u64 = 10_000;
const WINDOW: u64 = 65_535;
const LOW_WATER: u64 = 2048;
const ACK_TICK: u64 = 200_000_000;

/// The sizes of a set and what the client's work costs.
#[derive(Clone, Copy)]
pub(crate) struct Set {
    pub(crate) mss: u64,
    pub(crate) app_buffer: u64,
    pub(crate) socket_buffer: u64,
    pub(crate) mclbytes: u64,
    /// What a segment, in or out, costs the client.
    pub(crate) client_segment: u64,
    pub(crate) client_wakeup: u64,
    /// Whether a call goes on before the segments that it sent have left and before those that
    /// came meanwhile are taken in. BSD's does not: `tcp_output` gives them to the device.
    pub(crate) runs_ahead: bool,
    /// Whether a read goes on with what comes while it copies, as 4.4BSD's `soreceive` does.
    pub(crate) reads_on: bool,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    octets: u64,
    ack: u64,
    right_edge: u64,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Arrives(usize, Segment),
    /// The kernel of a host has done what it was busy with.
    KernelDone(usize),
    /// A thread's work is over, if it was not put off meanwhile.
    WorkDone(usize, u64),
    RingFree,
    Ready(usize, Segment),
    AckTick,
}

/// What a thread does with the processor until its work is over.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Work {
    /// The client's pause before a request.
    Think,
    /// The client's write of a request, and the server's reading of it.
    Request,
    /// Getting back on the processor.
    Wake,
    /// The step after a call has sent something: what came meanwhile goes first.
    Next,
    /// The copying of a piece into the send buffer.
    Piece(u64),
    /// The copying of octets out of the receive buffer.
    Take(u64),
}

/// One processor with one thread. Arriving segments interrupt the thread.
#[derive(Default)]
struct Host {
    waiting: VecDeque<Segment>,
    taking_in: Option<Segment>,
    kernel_until: u64,
    kernel_busy: bool,
    work: Option<Work>,
    left: u64,
    since: u64,
    turn: u64,
    /// Whether its thread works, and nothing interrupts it now.
    runs: bool,
    asleep: bool,
    segment_cost: u64,
}

pub(crate) struct Transfers {
    set: Set,
    events: BinaryHeap<Reverse<(u64, u64, usize)>>,
    kept: Vec<Event>,
    now: u64,
    hosts: [Host; 2],
    ring: [VecDeque<Segment>; 2],
    ring_busy: bool,
    holder: usize,
    // The server's sender: RFC 793's variables as distances from the start.
    una: u64,
    nxt: u64,
    written: u64,
    cwnd: u64,
    edge: u64,
    largest_window: u64,
    more: bool,
    to_write: u64,
    write_left: u64,
    copied: u64,
    space_at_round: u64,
    requests_taken: bool,
    // The client's receiver.
    received: u64,
    read: u64,
    offered: u64,
    ack_due: bool,
    // The request in progress.
    asked_at: u64,
    ends_at: u64,
    took: Option<u64>,
}

impl Transfers {
    pub(crate) fn new(set: Set, tick_at: u64) -> Self {
        let host = |segment_cost| Host {
            segment_cost,
            asleep: true,
            ..Host::default()
        };
        let mut new = Self {
            set,
            events: BinaryHeap::new(),
            kept: Vec::new(),
            now: 0,
            hosts: [host(40_000), host(set.client_segment)],
            ring: Default::default(),
            ring_busy: false,
            holder: CLIENT,
            una: 0,
            nxt: 0,
            written: 0,
            // Table 4's fit: three segments after the handshake.
            cwnd: 3 * set.mss,
            edge: WINDOW,
            largest_window: WINDOW,
            more: false,
            to_write: 0,
            write_left: 0,
            copied: 0,
            space_at_round: 0,
            requests_taken: false,
            received: 0,
            read: 0,
            offered: WINDOW,
            ack_due: false,
            asked_at: 0,
            ends_at: 0,
            took: None,
        };
        new.at(tick_at, Event::AckTick);
        new
    }

    /// Returns how long a transfer of `octets` takes after those before it.
    pub(crate) fn transfer(&mut self, octets: u64) -> u64 {
        self.ends_at = self.read + octets;
        self.to_write = octets;
        self.took = None;
        self.works(CLIENT, Work::Think, 100_000);
        loop {
            if let Some(took) = self.took {
                return took;
            }
            let Reverse((at, _, which)) = self.events.pop().expect("the clock ticks");
            self.now = at;
            self.happens(self.kept[which]);
        }
    }

    fn at(&mut self, at: u64, event: Event) {
        let order = self.kept.len();
        self.kept.push(event);
        self.events.push(Reverse((at, order as u64, order)));
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Arrives(host, segment) => {
                self.hosts[host].waiting.push_back(segment);
                self.kernel_goes_on(host);
            }
            Event::KernelDone(host) => {
                if self.hosts[host].kernel_until > self.now {
                    return;
                }
                if let Some(segment) = self.hosts[host].taking_in.take() {
                    self.on_segment(host, segment);
                }
                // What it sends in answer keeps it busy.
                if self.hosts[host].kernel_until <= self.now {
                    self.hosts[host].kernel_busy = false;
                    self.kernel_goes_on(host);
                }
            }
            Event::WorkDone(host, turn) => {
                if self.hosts[host].turn == turn {
                    self.work_over(host);
                }
            }
            Event::Ready(host, segment) => {
                self.ring[host].push_back(segment);
                self.ring_goes_on();
            }
            Event::RingFree => {
                self.ring_busy = false;
                self.ring_goes_on();
            }
            Event::AckTick => {
                self.at(self.now + ACK_TICK, Event::AckTick);
                if self.ack_due {
                    self.client_sends(0);
                }
            }
        }
    }

    // The processors.

    fn kernel_works(&mut self, host: usize, cost: u64) {
        let it = &mut self.hosts[host];
        if !it.kernel_busy {
            it.kernel_busy = true;
            it.kernel_until = self.now;
            if std::mem::take(&mut it.runs) {
                it.left -= self.now - it.since;
                it.turn += 1;
            }
        }
        it.kernel_until += cost;
        let until = it.kernel_until;
        self.at(until, Event::KernelDone(host));
    }

    fn kernel_goes_on(&mut self, host: usize) {
        if self.hosts[host].kernel_busy {
            return;
        }
        if let Some(segment) = self.hosts[host].waiting.pop_front() {
            self.hosts[host].taking_in = Some(segment);
            self.kernel_works(host, self.hosts[host].segment_cost);
        } else if self.hosts[host].work.is_some() {
            self.resumes(host);
        }
    }

    fn resumes(&mut self, host: usize) {
        let it = &mut self.hosts[host];
        it.turn += 1;
        it.runs = true;
        it.since = self.now;
        let (at, turn) = (self.now + it.left, it.turn);
        self.at(at, Event::WorkDone(host, turn));
    }

    fn works(&mut self, host: usize, work: Work, cost: u64) {
        let it = &mut self.hosts[host];
        (it.work, it.left, it.asleep) = (Some(work), cost, false);
        if !it.kernel_busy {
            self.resumes(host);
        }
    }

    fn wakes(&mut self, host: usize) {
        if self.hosts[host].asleep {
            // The call in which it slept costs 20 us.
            let cost = [60_000, self.set.client_wakeup][host] + 20_000;
            self.works(host, Work::Wake, cost);
        }
    }

    // The ring: a station keeps the token until its queue is empty.

    fn leaves(&mut self, host: usize, octets: u64) {
        // The client's acknowledgment and window count; the server's do not.
        let segment = Segment {
            octets,
            ack: self.received,
            right_edge: self.offered,
        };
        self.kernel_works(host, self.hosts[host].segment_cost);
        self.at(self.hosts[host].kernel_until, Event::Ready(host, segment));
    }

    fn ring_goes_on(&mut self) {
        if self.ring_busy {
            return;
        }
        if self.ring[self.holder].is_empty() {
            self.holder = 1 - self.holder;
        }
        if let Some(segment) = self.ring[self.holder].pop_front() {
            self.ring_busy = true;
            let free_at = self.now + (segment.octets + HEADERS) * PS_PER_OCTET / 1000;
            self.at(free_at, Event::RingFree);
            self.at(
                free_at + PROPAGATION,
                Event::Arrives(1 - self.holder, segment),
            );
        }
    }

    // The server's sender.

    /// Figure 3, with MORE (section 5.4).
    fn output(&mut self) {
        let idle = self.una == self.nxt;
        loop {
            let limit = (self.una + self.cwnd).min(self.edge).min(self.written);
            let len = limit.saturating_sub(self.nxt);
            if len < self.set.mss {
                let last = self.nxt + len == self.written;
                // MORE gives way where the writer would sleep for ever.
                let deadlocks =
                    self.hosts[SERVER].asleep && self.lacks_space() && self.una == self.nxt;
                let held = !last || (self.more && !deadlocks) || !idle;
                if len == 0 || (held && len < self.largest_window / 2) {
                    return;
                }
            }
            let octets = len.min(self.set.mss);
            self.nxt += octets;
            self.leaves(SERVER, octets);
        }
    }

    fn lacks_space(&self) -> bool {
        let space = self.space();
        space < self.write_left && space < LOW_WATER.min(self.set.socket_buffer)
    }

    fn space(&self) -> u64 {
        self.set
            .socket_buffer
            .saturating_sub(self.written - self.una)
    }

    /// `sosend`: the next piece of the writes, or sleep.
    fn goes_on_writing(&mut self, mut entry: u64) {
        if self.write_left == 0 {
            if self.to_write == 0 {
                self.hosts[SERVER].asleep = true;
                return;
            }
            self.write_left = self.to_write.min(self.set.app_buffer);
            self.to_write -= self.write_left;
            self.copied = 0;
            entry += 20_000;
        } else if self.copied >= self.space_at_round {
            self.copied = 0;
        }
        if self.copied == 0 {
            if self.lacks_space() {
                self.hosts[SERVER].asleep = true;
                return;
            }
            self.space_at_round = self.space();
        }
        let piece = self.write_left.min(self.set.mclbytes);
        self.works(SERVER, Work::Piece(piece), entry + 15_000 + 10 * piece);
    }

    // The client's receiver.

    /// Every segment acknowledges, and its window's edge never goes back.
    fn client_sends(&mut self, octets: u64) {
        self.ack_due = false;
        self.offered = self.offered.max(self.read + WINDOW);
        self.leaves(CLIENT, octets);
    }

    /// `soreceive`: takes what is there, or sleeps.
    fn reads(&mut self, cost: u64) {
        let there = self.received - self.read;
        if there == 0 {
            self.hosts[CLIENT].asleep = true;
        } else {
            self.works(CLIENT, Work::Take(there), cost + 10 * there);
        }
    }

    // What segments and the ends of work do.

    fn on_segment(&mut self, host: usize, segment: Segment) {
        if host == CLIENT {
            self.received += segment.octets;
            self.ack_due = true;
            self.wakes(CLIENT);
            return;
        }
        if segment.ack > self.una {
            self.una = segment.ack;
            self.cwnd = (self.cwnd + self.set.mss).min(65_536);
        }
        self.largest_window = self.largest_window.max(segment.right_edge - segment.ack);
        self.edge = self.edge.max(segment.right_edge);
        let sleeps_for_space = self.hosts[SERVER].asleep && self.write_left > 0;
        if segment.octets > 0 {
            self.requests_taken = false;
            self.wakes(SERVER);
        } else {
            self.output();
            if sleeps_for_space && !self.lacks_space() {
                self.copied = 0;
                self.wakes(SERVER);
            }
        }
    }

    /// Ends a call that may have sent something.
    fn goes_on(&mut self, host: usize) {
        match self.set.runs_ahead {
            true => self.next(host),
            false => self.works(host, Work::Next, 0),
        }
    }

    fn next(&mut self, host: usize) {
        match host {
            CLIENT if self.read == self.ends_at => {
                self.took = Some(self.now - self.asked_at);
            }
            CLIENT => self.reads(20_000),
            _ => self.goes_on_writing(0),
        }
    }

    fn work_over(&mut self, host: usize) {
        self.hosts[host].runs = false;
        let Some(work) = self.hosts[host].work.take() else {
            return;
        };
        match (host, work) {
            (CLIENT, Work::Think) => {
                self.asked_at = self.now;
                self.works(CLIENT, Work::Request, 20_000 + 15_000 + 10 * REQUEST);
            }
            (CLIENT, Work::Request) => {
                self.client_sends(REQUEST);
                self.goes_on(CLIENT);
            }
            (CLIENT, Work::Wake) => self.reads(0),
            (_, Work::Next) => self.next(host),
            (CLIENT, Work::Take(octets)) => {
                self.read += octets;
                let more = self.received - self.read;
                if self.set.reads_on && more > 0 {
                    return self.works(CLIENT, Work::Take(more), 10 * more);
                }
                if self.read + WINDOW >= self.offered + 2 * self.set.mss {
                    self.client_sends(0);
                }
                self.goes_on(CLIENT);
            }
            // The request is read (10 ns an octet) and served (200 us).
            (SERVER, Work::Wake) if !self.requests_taken => {
                self.requests_taken = true;
                self.works(SERVER, Work::Request, 10 * REQUEST + 200_000);
            }
            (SERVER, Work::Piece(octets)) => {
                self.written += octets;
                self.write_left -= octets;
                self.copied += octets;
                self.more = self.write_left > 0;
                self.output();
                self.goes_on(SERVER);
            }
            (SERVER, _) => self.goes_on_writing(0),
            _ => {}
        }
    }
}
