//! Two connections, the threads that use them, and a network between them that loses, repeats,
//! reorders and delays segments by its own random numbers.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tinygram_engine::connection::{Config, Connection, Reason, Wrote};
use tinygram_engine::sender::TimerReason;
use tinygram_engine::sender::send_policy::{BlockedOn, Vars, Why};
use tinygram_engine::{Duration, Instant, Offset, Outbox, Segment, State};

use crate::end::{Awaits, End, Thread, note_range};
use crate::invariants;

/// A run of more steps than this counts as endless.
const MAX_STEPS: u64 = 100_000;
/// More wake-ups than this at one instant are a busy loop: the engine has nine timers.
const WAKEUPS_AT_ONE_INSTANT: u32 = 9;

thread_local! {
    /// Whether this thread's worlds print what happens: set for the smallest case that fails.
    pub(crate) static TELLING: Cell<bool> = const { Cell::new(false) };
}

/// What the network does to a segment. Shares are per mille.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Network {
    pub(crate) delay: Duration,
    pub(crate) loss: u64,
    pub(crate) duplication: u64,
    /// Share of segments that take up to four times as long as they should.
    pub(crate) reordering: u64,
}

/// What a thread does next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Write {
        len: u64,
        more: bool,
    },
    /// Reads until `total` octets have come, or the end of the stream.
    Read {
        total: u64,
        max: u64,
        pause: Duration,
    },
    /// Sleeps on something other than this connection.
    Sleep(Duration),
    Close,
}

/// How the two ends open the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Opening {
    Active,
    Simultaneous,
}

pub(crate) struct World {
    now: Instant,
    ends: [End; 2],
    network: Network,
    dice: SplitMix64,
    flying: BinaryHeap<Reverse<(Instant, u64, usize)>>,
    segments: BTreeMap<u64, Segment>,
    /// Timers that fired, other than those of delayed ACKs and TIME-WAIT.
    pub(crate) fired: Vec<(Instant, usize, Reason)>,
    /// The longest time without an arrival while only the engines' timers were pending.
    pub(crate) longest_silence: Duration,
    /// The longest time without a departure while something was left to do and nobody slept.
    pub(crate) longest_wait: Duration,
    /// The longest such time as a multiple of what one timeout would have been: the greater RTO of
    /// both, doubled once for each timeout since something new was acknowledged.
    pub(crate) most_timeouts_waited: f64,
    /// When a segment last left, or a thread last woke up by itself.
    last_departure: Instant,
    /// Segments sent by both.
    pub(crate) sent: u64,
    /// Data segments all of whose octets had arrived before.
    pub(crate) needless: u64,
    /// Copies that the network has carried; a copy's number breaks ties.
    carried: u64,
    /// Returns whether a sender with nothing outstanding may hold for this reason.
    pub(crate) may_hold_idle: fn(Why, &Vars) -> bool,
}

impl World {
    /// Returns both ends, with the ops of their threads.
    pub(crate) fn new(
        configs: [Config; 2],
        programs: [Vec<Vec<Op>>; 2],
        network: Network,
        seed: u64,
    ) -> Self {
        let mut programs = programs.into_iter();
        let ends = configs.map(|config| End {
            connection: Connection::new(&config),
            receive_buffer_most: (config.receiver.buffer)
                .max(config.extensions.receive_buffer_most.unwrap_or(0)),
            outbox: Outbox::new(),
            threads: programs
                .next()
                .expect("two programs")
                .into_iter()
                .map(|ops| Thread {
                    ops: ops.into(),
                    state: Awaits::Nothing,
                    wrote: false,
                })
                .collect(),
            written: 0,
            read: 0,
            edge: Offset::SYN,
            arrived: Vec::new(),
            timeouts: 0,
            acknowledged: Offset::SYN,
        });
        Self {
            now: Instant::ZERO + Duration::from_millis(1),
            ends,
            network,
            dice: SplitMix64::seed_from_u64(seed),
            flying: BinaryHeap::new(),
            segments: BTreeMap::new(),
            fired: Vec::new(),
            longest_silence: Duration::ZERO,
            longest_wait: Duration::ZERO,
            most_timeouts_waited: 0.0,
            last_departure: Instant::ZERO + Duration::from_millis(1),
            sent: 0,
            needless: 0,
            carried: 0,
            may_hold_idle: |_, _| true,
        }
    }

    /// Runs until nothing is left to happen.
    pub(crate) fn run(&mut self, opening: Opening) {
        match opening {
            Opening::Active => self.ends[1].connection.listen(),
            Opening::Simultaneous => self.connect(1),
        }
        self.connect(0);
        let mut last_arrival = self.now;
        for _ in 0..MAX_STEPS {
            for index in 0..2 {
                self.run_threads(index);
            }
            let arrival = self.flying.peek().map(|Reverse((at, ..))| *at);
            let sleepers = self.ends.iter().flat_map(|end| &end.threads);
            let slept = sleepers.filter_map(|thread| match thread.state {
                Awaits::Time(at) => Some(at),
                _ => None,
            });
            let slept = slept.min();
            let timers = self.ends.iter().map(|end| end.connection.next_wakeup());
            let timer = timers.flatten().min();
            let Some(next) = [arrival, slept, timer].into_iter().flatten().min() else {
                return;
            };
            if slept == Some(next) {
                last_arrival = next;
                self.last_departure = next;
            }
            self.now = next;
            if arrival == Some(next) {
                let done = self.ends.iter().all(End::threads_done);
                if !done {
                    let silence = next.since(last_arrival);
                    self.longest_silence = self.longest_silence.max(silence);
                }
                last_arrival = next;
                self.arrive();
            } else if timer == Some(next) {
                self.wake_up();
            }
        }
        panic!(
            "no end in sight after {MAX_STEPS} steps and {} segments",
            self.sent
        );
    }

    /// Returns the current time.
    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    /// Asserts that both are closed and each has read all that the other wrote.
    pub(crate) fn assert_delivered(&self) {
        for (end, peer) in [(0, 1), (1, 0)] {
            let (end, peer) = (&self.ends[end], &self.ends[peer]);
            assert_eq!(end.connection.state(), State::Closed);
            assert_eq!(end.read, peer.written, "read, of what was written");
            assert!(end.threads_done(), "a thread still sleeps");
        }
    }

    fn tell(&self, index: usize, what: &str) {
        if TELLING.get() {
            let state = self.ends[index].connection.state();
            eprintln!("{} {} {state:?}: {what}", self.now, ["A", "B"][index]);
        }
    }

    fn connect(&mut self, index: usize) {
        let end = &mut self.ends[index];
        end.connection.connect(self.now, &mut end.outbox);
        self.settle(index);
    }

    fn arrive(&mut self) {
        let Reverse((_, number, index)) = self.flying.pop().expect("something flies");
        let segment = self.segments.remove(&number).expect("it flew");
        self.tell(index, &format!("< {segment}"));
        let end = &mut self.ends[index];
        let (start, data) = (segment.data().start.get(), u64::from(segment.len));
        let again = |&(from, to): &(u64, u64)| from <= start && start + data <= to;
        self.needless += u64::from(data > 0 && end.arrived.iter().any(again));
        note_range(&mut end.arrived, (start, start + data));
        end.connection
            .on_segment(self.now, &segment, &mut end.outbox);
        end.nothing_invented();
        self.settle(index);
    }

    fn wake_up(&mut self) {
        for index in 0..2 {
            for attempt in 0.. {
                let connection = &mut self.ends[index].connection;
                let due = connection.next_wakeup_reason();
                let Some((at, reason)) = due.filter(|(at, _)| *at <= self.now) else {
                    break;
                };
                assert!(
                    attempt < WAKEUPS_AT_ONE_INSTANT,
                    "{reason:?} at {at} wants to be woken for ever"
                );
                self.tell(index, &format!("{reason:?}"));
                if !matches!(reason, Reason::DelayedAck | Reason::TimeWait) {
                    self.fired.push((self.now, index, reason));
                }
                let end = &mut self.ends[index];
                let times_out = matches!(
                    reason,
                    Reason::Sender(TimerReason::Retransmit | TimerReason::Persist)
                );
                end.timeouts += u32::from(times_out);
                end.connection.on_wakeup(self.now, &mut end.outbox);
                self.settle(index);
            }
        }
    }

    /// Runs after every call: sends what is to be sent, wakes the waiting threads, and checks.
    fn settle(&mut self, index: usize) {
        let end = &mut self.ends[index];
        let segments: Vec<_> = end.outbox.segments.drain(..).collect();
        for segment in segments {
            self.ends[index].check_sent(&segment);
            self.transmit(1 - index, segment);
        }
        let end = &mut self.ends[index];
        end.wake(end.outbox.events);
        end.outbox.take_events();
        let una = end.connection.sender().vars().una;
        if una > end.acknowledged {
            (end.acknowledged, end.timeouts) = (una, 0);
        }
        invariants::check(&end.connection, end.receive_buffer_most);
        let (vars, hold) = (
            end.connection.sender().vars(),
            end.connection.sender().hold(),
        );
        // With a closed window the policy is not what holds.
        let window = vars.wnd.min(vars.cwnd);
        if let Some(hold) = hold
            && vars.idle()
            && window > 0
        {
            let (why, start) = (hold.why, hold.start);
            assert!(
                (self.may_hold_idle)(why, &vars),
                "{why:?} holds what starts at {start} with nothing outstanding, {vars:?}"
            );
        }
    }

    /// Notes how long nothing has left, and how many timeouts that is.
    fn note_departure(&mut self) {
        let waited = self.now.since(self.last_departure);
        self.last_departure = self.now;
        if self.ends.iter().all(End::threads_done) {
            return;
        }
        self.longest_wait = self.longest_wait.max(waited);
        let timeout = self.ends.iter().map(End::timeout).max();
        let timeout = timeout.expect("two ends").as_nanos() as f64;
        let timeouts = waited.as_nanos() as f64 / timeout;
        self.most_timeouts_waited = self.most_timeouts_waited.max(timeouts);
    }

    fn transmit(&mut self, to: usize, segment: Segment) {
        self.note_departure();
        self.sent += 1;
        let lost = per_mille(&mut self.dice, self.network.loss);
        let fate = if lost { "lost" } else { "" };
        self.tell(1 - to, &format!("> {segment} {fate}"));
        if lost {
            return;
        }
        let copies = 1 + u64::from(per_mille(&mut self.dice, self.network.duplication));
        for _ in 0..copies {
            let times = if per_mille(&mut self.dice, self.network.reordering) {
                1 + self.dice.next_u64() % 4
            } else {
                1
            };
            self.carried += 1;
            let number = self.carried;
            let at = self.now + self.network.delay.times(times);
            self.flying.push(Reverse((at, number, to)));
            self.segments.insert(number, segment);
        }
    }

    fn run_threads(&mut self, index: usize) {
        // Before the connection is set up there is nothing to write to, and closing would end it.
        let state = self.ends[index].connection.state();
        if matches!(state, State::Listen | State::SynSent) {
            return;
        }
        let count = self.ends[index].threads.len();
        // Until no thread can continue.
        while (0..count).any(|thread| self.run_thread(index, thread)) {}
    }

    /// Runs one op of a thread, or a step of it; returns whether anything was done.
    fn run_thread(&mut self, index: usize, thread: usize) -> bool {
        let now = self.now;
        let end = &mut self.ends[index];
        let state = end.threads[thread].state;
        match state {
            Awaits::Nothing => {}
            Awaits::Time(at) if at <= now => end.threads[thread].state = Awaits::Nothing,
            Awaits::Processor { more } => {
                end.threads[thread].state = Awaits::Nothing;
                end.connection.write_resume(now);
                self.write_on(index, thread, more);
                self.settle(index);
                return true;
            }
            Awaits::Time(_) | Awaits::Data | Awaits::Space { .. } => return false,
        }
        let Some(op) = end.threads[thread].ops.pop_front() else {
            return false;
        };
        self.tell(index, &format!("{op:?}"));
        let end = &mut self.ends[index];
        match op {
            Op::Write { len, more } => {
                end.connection.write_begin(now, len);
                self.write_on(index, thread, more);
            }
            Op::Read { total, max, pause } => self.read(index, thread, total, max, pause),
            Op::Sleep(length) => {
                self.block(index, thread, BlockedOn::Elsewhere);
                self.ends[index].threads[thread].state = Awaits::Time(now + length);
            }
            Op::Close => end.connection.close(now, &mut end.outbox),
        }
        self.settle(index);
        true
    }

    fn write_on(&mut self, index: usize, thread: usize, more: bool) {
        loop {
            let end = &mut self.ends[index];
            let foreseen = end.connection.next_piece();
            let wrote = end.connection.write_step(self.now, more, &mut end.outbox);
            let copied = match wrote {
                Wrote::Piece(octets) | Wrote::Last(octets) => Some(octets),
                Wrote::Sleeps | Wrote::Refused => None,
            };
            assert_eq!(copied, foreseen, "what next_piece decided");
            end.threads[thread].wrote = true;
            match wrote {
                Wrote::Piece(octets) => end.written += octets,
                Wrote::Last(octets) => {
                    end.written += octets;
                    return;
                }
                Wrote::Sleeps => {
                    self.block(index, thread, BlockedOn::Write);
                    self.ends[index].threads[thread].state = Awaits::Space { more };
                    return;
                }
                Wrote::Refused => panic!("a write refused in {:?}", end.connection.state()),
            }
            self.settle(index);
        }
    }

    fn read(&mut self, index: usize, thread: usize, total: u64, max: u64, pause: Duration) {
        let end = &mut self.ends[index];
        let max = max.min(total);
        let octets = end.connection.read(self.now, max, &mut end.outbox);
        end.read += octets;
        let gone = octets == 0 && end.connection.state() == State::Closed;
        let over = gone || end.connection.receiver().at_end();
        let left = total - octets;
        if left > 0 && !over {
            let again = Op::Read {
                total: left,
                max,
                pause,
            };
            end.threads[thread].ops.push_front(again);
            if octets == 0 {
                self.block(index, thread, BlockedOn::Read);
                self.ends[index].threads[thread].state = Awaits::Data;
            } else if pause > Duration::ZERO {
                end.threads[thread].ops.push_front(Op::Sleep(pause));
            }
        }
    }

    fn block(&mut self, index: usize, thread: usize, on: BlockedOn) {
        let end = &mut self.ends[index];
        let wrote = std::mem::take(&mut end.threads[thread].wrote);
        end.connection
            .app_blocks(self.now, on, wrote, &mut end.outbox);
    }
}

/// Returns true for so many of a thousand; the same seed gives the same run.
fn per_mille(dice: &mut SplitMix64, share: u64) -> bool {
    dice.next_u64() % 1000 < share
}
