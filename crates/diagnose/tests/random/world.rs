//! Two of the engine's connections with a program each, the path between them, and a tap on it.
//!
//! The world records what no capture shows: when a program wrote, when the sender's rule held a
//! segment and why, which ACKs a timer sent, and who waited.

use tinygram_engine::connection::{Config, Reason, Wrote};
use tinygram_engine::sender::send_policy::Why;
use tinygram_engine::{Connection, Events, Flags, Instant, Offset, Outbox, Segment};

use super::agenda::{Agenda, Event, Packet};
use super::app::{Act, App};
use super::dice::Dice;
use super::window::Shown;

/// The path between the hosts.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    /// The delay from client to server and from server to client, in nanoseconds.
    pub(crate) way_ns: [u64; 2],
    pub(crate) jitter_ns: u64,
    /// The rate in bits per second, by sender; 0 means that sending takes no time.
    pub(crate) rate: [u64; 2],
    pub(crate) loss: f64,
    /// The place of the tap: 0 at the client, 1 at the server.
    pub(crate) tap: f64,
    /// How long a host takes to run a program that can continue, and how often it takes longer.
    pub(crate) wake_ns: [u64; 2],
    pub(crate) busy: f64,
    /// Whether this end's echoes ignore pure ACKs.
    pub(crate) stale_echo: [bool; 2],
}

/// A segment as the tap saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) time_ns: u64,
    pub(crate) from: usize,
    pub(crate) segment: Segment,
    pub(crate) packet: usize,
}

/// What released a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// An ACK without data, sent by a timer of its sender.
    DelayedAck,
    /// Any other ACK, with data or without.
    Ack {
        with_data: bool,
    },
    Timer,
    Program,
}

/// A segment that was ready and could not leave.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) from: usize,
    pub(crate) packet: usize,
    /// Its first octet in the stream, and the octet after its last.
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) len: u32,
    pub(crate) since_ns: u64,
    pub(crate) left_ns: u64,
    /// The rule's reason; `None` if a window or a buffer held it.
    pub(crate) why: Option<Why>,
    pub(crate) cause: Cause,
    /// Whether anything was lost or sent again meanwhile.
    pub(crate) disturbed: bool,
    /// Octets in flight meanwhile, and the peer's window.
    pub(crate) flight: u64,
    pub(crate) wnd: u64,
    pub(crate) mss: u32,
    pub(crate) full_buffer: bool,
    /// Whether, as far as the wire shows, the congestion window may have been exactly as large as
    /// the flight.
    pub(crate) window_unknown: bool,
}

pub(crate) struct Run {
    pub(crate) seen: Vec<Seen>,
    pub(crate) kept: Vec<Kept>,
    pub(crate) apps: [App; 2],
    /// For each end, the offsets at which its program's writes ended, with the times.
    pub(crate) writes: [Vec<(u64, u64)>; 2],
    pub(crate) arrivals: Vec<u64>,
    pub(crate) calls: [Vec<Call>; 2],
}

/// A call that writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) at_ns: u64,
    pub(crate) len: u64,
    /// Whether the program has read something since the previous call.
    pub(crate) read_between: bool,
}

struct World {
    path: Path,
    dice: Dice,
    ends: [Connection; 2],
    run: Run,
    agenda: Agenda,
    /// When each link is next free, and when the last frame passed the tap and arrived.
    free: [u64; 2],
    passed: [u64; 2],
    last: [u64; 2],
    held: [Option<(Offset, Why, u64)>; 2],
    limited: [Option<u64>; 2],
    /// Since when a program has slept for space, and what woke it.
    asleep: [Option<u64>; 2],
    woken: [Option<(u64, Cause)>; 2],
    greatest: [Offset; 2],
    shown: [Shown; 2],
    disturbed: [bool; 2],
    stamp: [u32; 2],
    waiting: [bool; 2],
    has_read: [bool; 2],
    out: Outbox,
}

/// Plays a connection from its SYN to its end, or for the given time.
pub(crate) fn play(
    configs: &[Config; 2],
    scripts: [Vec<Act>; 2],
    path: Path,
    dice: Dice,
    begin_ns: u64,
    limit_ns: u64,
) -> Run {
    let [client, server] = scripts;
    let mut world = World {
        path,
        dice,
        ends: [Connection::new(&configs[0]), Connection::new(&configs[1])],
        run: Run {
            seen: Vec::new(),
            kept: Vec::new(),
            apps: [App::new(client), App::new(server)],
            writes: [Vec::new(), Vec::new()],
            arrivals: Vec::new(),
            calls: [Vec::new(), Vec::new()],
        },
        has_read: [false; 2],
        agenda: Agenda::default(),
        free: [0; 2],
        passed: [0; 2],
        last: [0; 2],
        held: [None; 2],
        limited: [None; 2],
        asleep: [None; 2],
        woken: [None; 2],
        greatest: [Offset::FIRST; 2],
        shown: [Shown {
            opening: true,
            ..Shown::default()
        }; 2],
        disturbed: [false; 2],
        stamp: [0; 2],
        waiting: [false; 2],
        out: Outbox::new(),
    };
    world.ends[1].listen();
    let now = Instant::from_nanos(begin_ns);
    world.ends[0].connect(now, &mut world.out);
    world.after(0, begin_ns, Cause::Program, false);
    world.go(begin_ns + limit_ns);
    world.run
}

impl World {
    fn go(&mut self, until: u64) {
        for _ in 0..MOST_EVENTS {
            let event = self.agenda.next_at();
            let timers = [0, 1].map(|end| {
                self.ends[end]
                    .next_wakeup()
                    .map_or(u64::MAX, Instant::as_nanos)
            });
            let timer = timers[0].min(timers[1]);
            let now = event.min(timer);
            if now >= until {
                return;
            }
            if timer < event {
                let end = usize::from(timers[1] < timers[0]);
                let reason = self.ends[end].next_wakeup_reason().map(|r| r.1);
                self.ends[end].on_wakeup(Instant::from_nanos(now), &mut self.out);
                self.after(end, now, Cause::Timer, reason == Some(Reason::DelayedAck));
                continue;
            }
            let Some(event) = self.agenda.pop() else {
                return;
            };
            match event {
                Event::Arrives(packet) => self.arrives(now, &packet),
                Event::Runs(end) => {
                    self.waiting[end] = false;
                    self.program(end, now);
                }
            }
        }
    }

    fn arrives(&mut self, now: u64, packet: &Packet) {
        let end = packet.to;
        let segment = &packet.segment;
        self.run.arrivals[packet.id] = now;
        if let Some(stamps) = segment.options.timestamps
            && (segment.len > 0 || segment.flags.has(Flags::SYN))
        {
            self.stamp[end] = stamps.value;
        }
        let cause = match (packet.by_timer, segment.len) {
            (true, 0) => Cause::DelayedAck,
            (_, len) => Cause::Ack { with_data: len > 0 },
        };
        let before = self.ends[end].sender().vars().una;
        self.ends[end].on_segment(Instant::from_nanos(now), segment, &mut self.out);
        let una = self.ends[end].sender().vars().una;
        if una > before {
            self.shown[end].acknowledged(now, una.get());
        }
        self.after(end, now, cause, false);
    }

    /// Sends the output of a call, notes what was held, and wakes the program.
    fn after(&mut self, end: usize, now: u64, cause: Cause, by_timer: bool) {
        let news = self.out.take_events();
        let segments: Vec<_> = self.out.segments.drain(..).collect();
        for segment in segments {
            self.send(end, now, segment, cause, by_timer);
        }
        let sender = self.ends[end].sender();
        let (hold, vars) = (sender.hold(), sender.vars());
        self.held[end] = hold.map(|h| match self.held[end] {
            Some((start, why, since)) if start == h.start => (start, why, since),
            _ => (h.start, h.why, now),
        });
        let unsent = vars.written > vars.max;
        self.limited[end] = match (unsent && hold.is_none(), self.limited[end]) {
            (true, None) => Some(now),
            (true, since) => since,
            (false, _) => None,
        };
        if news.has(Events::WRITABLE)
            && let Some(since) = self.asleep[end].take()
        {
            self.woken[end] = Some((since, cause));
        }
        if !news.is_empty()
            && (news.has(Events::READABLE)
                || news.has(Events::WRITABLE)
                || news.has(Events::CONNECTED)
                || news.has(Events::PEER_CLOSED))
        {
            self.wake(end, now);
        }
    }

    fn wake(&mut self, end: usize, now: u64) {
        if self.waiting[end] {
            return;
        }
        let mut wake_ns = self.path.wake_ns[end];
        wake_ns = wake_ns / 2 + self.dice.between(0, wake_ns);
        if self.dice.happens(self.path.busy) {
            wake_ns += self.dice.scale(100_000, 5_000_000);
        }
        let at = (now + wake_ns).max(self.run.apps[end].busy_until);
        self.agenda.push(at, Event::Runs(end));
        self.waiting[end] = true;
    }

    fn send(&mut self, end: usize, now: u64, segment: Segment, cause: Cause, by_timer: bool) {
        let id = self.run.arrivals.len();
        self.run.arrivals.push(u64::MAX);
        let data = segment.data();
        if segment.len > 0 {
            if data.end > self.greatest[end] {
                self.note_departure(end, now, &segment, cause, id);
                let una = self.ends[end].sender().vars().una.get();
                let from = self.greatest[end].get().max(data.start.get());
                self.shown[end].sends(now, una, from, data.end.get());
                self.greatest[end] = data.end;
            } else {
                self.disturbed[end] = true;
                (self.shown[end].most, self.shown[end].waited) = (0, 0);
            }
        }
        let mut segment = segment;
        if self.path.stale_echo[end]
            && let Some(stamps) = &mut segment.options.timestamps
            && stamps.echo != 0
        {
            stamps.echo = self.stamp[end];
        }
        self.carry(end, now, segment, by_timer, id);
    }

    fn carry(&mut self, end: usize, now: u64, segment: Segment, by_timer: bool, id: usize) {
        let rate = self.path.rate[end];
        let bits = 8 * (u64::from(segment.len) + 66);
        let takes = (bits * 1_000_000_000).checked_div(rate).unwrap_or(500);
        let departs = self.free[end].max(now);
        self.free[end] = departs + takes;
        let jitter = match self.path.jitter_ns {
            0 => 0,
            most => self.dice.between(0, most),
        };
        let way = self.path.way_ns[end] + jitter;
        let arrives = (departs + takes + way).max(self.last[end]);
        let share = if end == 0 {
            self.path.tap
        } else {
            1.0 - self.path.tap
        };
        let tapped = match share {
            0.0 => now + 1_000,
            1.0 => arrives,
            share => departs + takes + (way as f64 * share) as u64,
        };
        // Frames of one direction pass the tap in order.
        let tapped = tapped.max(self.passed[end]);
        self.passed[end] = tapped;
        let lost = self.dice.happens(self.path.loss);
        if !lost || self.dice.happens(1.0 - share) {
            self.run.seen.push(Seen {
                time_ns: tapped,
                from: end,
                segment,
                packet: id,
            });
        }
        if lost {
            self.disturbed = [true; 2];
            return;
        }
        self.last[end] = arrives;
        let packet = Packet {
            to: 1 - end,
            segment,
            by_timer,
            id,
        };
        self.agenda.push(arrives, Event::Arrives(packet));
    }

    fn note_departure(&mut self, end: usize, now: u64, segment: &Segment, cause: Cause, id: usize) {
        let vars = self.ends[end].sender().vars();
        let data = segment.data();
        let held = self.held[end].filter(|(start, ..)| *start >= data.start && *start < data.end);
        let woken = self.woken[end].take();
        let slept = woken.is_some() && held.is_none() && self.limited[end].is_none();
        let (why, since_ns, cause) = match (held, self.limited[end], woken) {
            (Some((_, why, since)), ..) => (Some(why), since, cause),
            (None, Some(since), _) => (None, since, cause),
            (None, None, Some((since, cause))) => (None, since, cause),
            (None, None, None) => {
                self.disturbed[end] = false;
                return;
            }
        };
        self.held[end] = None;
        self.limited[end] = None;
        let shown = self.shown[end];
        self.run.kept.push(Kept {
            from: end,
            packet: id,
            start: data.start.get() - Offset::FIRST.get(),
            end: data.end.get() - Offset::FIRST.get(),
            len: segment.len,
            since_ns,
            left_ns: now,
            why,
            cause,
            disturbed: self.disturbed[end],
            flight: vars.outstanding(),
            wnd: vars.wnd,
            mss: vars.mss,
            full_buffer: slept || vars.buffered() >= vars.capacity,
            window_unknown: shown.is_unknown(now, segment.len, vars.mss),
        });
        let shown = &mut self.shown[end];
        shown.waited = shown.waited.max(shown.flight);
        self.disturbed[end] = false;
    }

    /// Runs a program until it sleeps.
    fn program(&mut self, end: usize, now: u64) {
        let time = Instant::from_nanos(now);
        if now < self.run.apps[end].busy_until || !self.ends[end].state().synchronised() {
            return;
        }
        loop {
            let app = &mut self.run.apps[end];
            let Some(act) = app.acts.get(app.at).cloned() else {
                return;
            };
            match act {
                Act::Think(ns) => {
                    app.at += 1;
                    app.busy_until = now + ns;
                    self.agenda.push(now + ns, Event::Runs(end));
                    self.waiting[end] = true;
                    return;
                }
                Act::Read(octets) => {
                    if app.wanted <= app.read {
                        app.begins_read(octets, now);
                    }
                    let left = app.wanted - app.read;
                    let got = self.ends[end].read(time, left, &mut self.out);
                    self.after(end, now, Cause::Program, false);
                    let app = &mut self.run.apps[end];
                    app.read += got;
                    if app.read < app.wanted {
                        return;
                    }
                    app.at += 1;
                    self.has_read[end] = true;
                }
                Act::Write { len, more } => {
                    if !self.writes(end, now, len, more) {
                        return;
                    }
                }
                Act::Cork(on) => {
                    app.at += 1;
                    self.ends[end].set_cork(time, on, &mut self.out);
                    self.after(end, now, Cause::Program, false);
                }
                Act::Close => {
                    app.at += 1;
                    self.ends[end].close(time, &mut self.out);
                    self.after(end, now, Cause::Program, false);
                }
            }
        }
    }

    /// Returns false if the writer sleeps or may not write any more.
    fn writes(&mut self, end: usize, now: u64, len: u64, more: bool) -> bool {
        let time = Instant::from_nanos(now);
        match std::mem::replace(&mut self.run.apps[end].writing, true) {
            false => {
                let read_between = std::mem::take(&mut self.has_read[end]);
                self.run.calls[end].push(Call {
                    at_ns: now,
                    len,
                    read_between,
                });
                self.ends[end].write_begin(time, len);
            }
            true => self.ends[end].write_resume(time),
        }
        loop {
            let wrote = self.ends[end].write_step(time, more, &mut self.out);
            self.after(end, now, Cause::Program, false);
            match wrote {
                Wrote::Piece(_) => {}
                Wrote::Sleeps => {
                    self.asleep[end] = Some(now);
                    return false;
                }
                Wrote::Refused => {
                    self.run.apps[end].acts.clear();
                    return false;
                }
                Wrote::Last(_) => break,
            }
        }
        let app = &mut self.run.apps[end];
        app.writing = false;
        app.at += 1;
        let written = self.ends[end].sender().vars().written.get() - Offset::FIRST.get();
        self.run.writes[end].push((written, now));
        true
    }
}

/// A longer run shows nothing new.
const MOST_EVENTS: usize = 60_000;
