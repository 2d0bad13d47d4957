//! Predicts whether a pair of buffers deadlocks, how, and what throughput is left: by the paper's
//! inequalities, and by its rules played without time.
//!
//! "The sender cannot transmit enough data to trigger a window update, and the receiver refrains
//! from returning an acknowledgment" (section 3.1): then only the timer's ACKs move the connection.

use std::collections::VecDeque;

use tinygram_engine::connection::{Config, Connection, Wrote};
use tinygram_engine::receiver::ReceiverConfig;
use tinygram_engine::receiver::ack_policy::{AckPolicy, AckTimer, BytesConsumed};
use tinygram_engine::sender::send_policy::BlockedOn;
use tinygram_engine::{Duration, Instant, Outbox, Segment};

/// The amounts at which a receiver acknowledges without its timer, whichever is reached first. In
/// octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckThreshold {
    /// A share of its buffer, in percent and in octets, once that much has been read.
    pub share: Option<(u64, u64)>,
    /// A number of octets, which the rule states in segments.
    pub segments: Option<u64>,
}

/// An area of the plane of Figure 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Area {
    /// Inequality (1), dark grey: even the whole send buffer does not make the receiver
    /// acknowledge.
    Certain,
    /// Inequality (2), light grey: what is sent before the buffer has no room for a full segment
    /// may not make it acknowledge either. An outer bound: not every pair here deadlocks.
    Possible,
    /// Neither holds.
    Safe,
}

/// The paper's three classes (section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadlockClass {
    /// "Predictable from the window update rules" (3.1.1).
    WindowUpdate,
    /// "Caused by the data copying rules and Nagle's algorithm" (3.1.2): it begins at once.
    Copying,
    /// "Caused by the timer generated acknowledgment and Nagle's algorithm" (3.1.3): it begins once
    /// a timer's ACK comes when a part of a flight has arrived.
    Timer,
}

/// The state of a deadlocked connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deadlock {
    /// Its class.
    pub class: DeadlockClass,
    /// Octets sent and not acknowledged during the deadlock: the paper's b_sent.
    pub sent: u64,
    /// Octets in the send buffer then: the paper's S_byte.
    pub buffered: u64,
    /// The mean octets that get through per ACK of the timer.
    pub per_timer: f64,
    /// The throughput in Mbit/s (10^6).
    pub mbit_per_s: f64,
}

/// The prediction for a pair of buffers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// The amounts at which the receiver acknowledges.
    pub threshold: AckThreshold,
    /// The area in which the buffers lie.
    pub area: Area,
    /// The deadlock, if there is one.
    pub deadlock: Option<Deadlock>,
}

/// Returns the time between two ACKs of the timer, once only the timer moves the connection.
#[must_use]
pub fn timer_period(receiver: &ReceiverConfig) -> Duration {
    match (&receiver.policy, receiver.timer) {
        // Each time the timer fires, Linux doubles the next wait, up to TCP_DELACK_MAX.
        (AckPolicy::Linux | AckPolicy::LinuxQuickack, _) => Duration::from_millis(200),
        (_, AckTimer::Cyclic { period, .. }) => period,
        (_, AckTimer::PerConnection(length)) => length,
    }
}

impl AckThreshold {
    /// Returns the threshold of a receiver with these rules.
    #[must_use]
    pub fn of(receiver: &ReceiverConfig) -> Self {
        let mss = u64::from(receiver.mss);
        let after_read =
            |rule: BytesConsumed| (Some(rule.percent), rule.two_segments.then_some(2 * mss));
        let (percent, segments) = match &receiver.policy {
            AckPolicy::BytesConsumed => after_read(BytesConsumed::BSD),
            AckPolicy::SunOs => after_read(BytesConsumed::SUN_OS),
            AckPolicy::Window35 => after_read(BytesConsumed::WINDOW_35),
            // More than one segment's worth, on arrival.
            AckPolicy::Linux | AckPolicy::LinuxQuickack => (None, Some(mss + 1)),
            AckPolicy::EverySegment => (None, Some(1)),
            _ => (None, Some(2 * mss)),
        };
        let share = |percent: u64| (percent, (percent * receiver.buffer).div_ceil(100));
        Self {
            share: percent.map(share),
            segments,
        }
    }

    /// Returns the smaller amount.
    #[must_use]
    pub fn octets(&self) -> u64 {
        let share = self.share.map(|(_, octets)| octets);
        [share, self.segments]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(0)
    }
}

impl Area {
    /// Returns the area by inequalities (1), `S < 35 % R and S < 2 MSS`, and (2), the same with one
    /// MSS more on the right, generalised to any receiver's threshold.
    #[must_use]
    pub fn of(send_buffer: u64, mss: u64, threshold: &AckThreshold) -> Self {
        let enough = threshold.octets();
        if send_buffer < enough {
            Self::Certain
        } else if send_buffer < enough + mss {
            Self::Possible
        } else {
            Self::Safe
        }
    }
}

/// Predicts an endless transfer by calls of `call` octets (at least 1), if both ends follow `rules`
/// and congestion control does not limit it.
#[must_use]
pub fn predict(rules: &Config, call: u64) -> Prediction {
    let threshold = AckThreshold::of(&rules.receiver);
    let mss = u64::from(rules.sender.mss);
    let area = Area::of(rules.sender.buffer, mss, &threshold);
    if area == Area::Safe {
        return Prediction {
            threshold,
            area,
            deadlock: None,
        };
    }
    let play = Play::new(rules, call.max(1));
    let at_once = play.clone().rounds();
    let class = match area {
        Area::Certain => DeadlockClass::WindowUpdate,
        _ => DeadlockClass::Copying,
    };
    let stands = at_once.map(|still| (class, still));
    let stands = stands.or_else(|| {
        play.struck_by_the_timer()
            .map(|still| (DeadlockClass::Timer, still))
    });
    let deadlock = stands.map(|(class, still)| Deadlock {
        class,
        sent: still.sent,
        buffered: still.buffered,
        per_timer: still.per_timer,
        mbit_per_s: still.mbit_per_s,
    });
    Prediction {
        threshold,
        area,
        deadlock,
    }
}

/// A sender and a receiver that reads at once what arrives. Only the receiver's timer takes time.
#[derive(Clone)]
struct Play {
    sender: Connection,
    receiver: Connection,
    outbox: Outbox,
    now: Instant,
    /// The octets of each write, and the most that a read takes.
    call: u64,
    writing: bool,
    /// Segments that have left and not arrived.
    flight: VecDeque<Segment>,
}

/// A connection that only the timer moves.
#[derive(Clone, Copy)]
struct StandsStill {
    sent: u64,
    buffered: u64,
    per_timer: f64,
    mbit_per_s: f64,
}

/// The number of rounds after which a connection behaves as it always will.
const SETTLING: usize = 24;
/// The number of rounds that show this; flights repeat after fewer.
const LASTING: usize = 12;
/// The number of rounds in which the timer is tried at every instant.
const STRUCK: usize = 4;
/// The most instants of a round, and segments of a flight, at which it is tried.
const TRIED: usize = 16;
/// The most that kernels usually copy at a time, in octets.
const USUAL_PIECE: u64 = 4096;

impl Play {
    fn new(rules: &Config, call: u64) -> Self {
        let window = rules.receiver.buffer.min(rules.receiver.window_cap);
        Self {
            sender: Connection::established(rules, window),
            receiver: Connection::established(rules, window),
            outbox: Outbox::new(),
            now: Instant::ZERO,
            call,
            writing: false,
            flight: VecDeque::new(),
        }
    }

    /// Plays on; returns the deadlock if from some round on every round needs the timer.
    fn rounds(mut self) -> Option<StandsStill> {
        for _ in 0..SETTLING {
            self.fill(&mut |_| {});
            self.round();
        }
        let begin = self.now;
        let mut first = None;
        let mut sent = 0;
        for _ in 0..LASTING {
            self.fill(&mut |_| {});
            let still = self.round()?;
            sent += still.sent;
            first = first.or(Some(still));
        }
        let waited = self.now.since(begin);
        first.map(|first| StandsStill {
            per_timer: sent as f64 / LASTING as f64,
            mbit_per_s: sent as f64 * 8e3 / waited.as_nanos().max(1) as f64,
            ..first
        })
    }

    /// Plays a round in which the writer sleeps: what is in flight arrives, and the receiver or its
    /// timer acknowledges it. Returns the state if the timer did.
    fn round(&mut self) -> Option<StandsStill> {
        let sender = self.sender.sender();
        let (sent, buffered) = (sender.vars().outstanding(), sender.buffered());
        if self.arrive(self.flight.len()) || sent == 0 {
            return None;
        }
        self.wait();
        Some(StandsStill {
            sent,
            buffered,
            per_timer: 0.0,
            mbit_per_s: 0.0,
        })
    }

    /// Lets this many segments arrive and be read. Returns whether the receiver acknowledged
    /// without its timer.
    fn arrive(&mut self, segments: usize) -> bool {
        let mut acks = Outbox::new();
        for segment in self.flight.drain(..segments) {
            self.receiver.on_segment(self.now, &segment, &mut acks);
            while self.receiver.receiver().readable() > 0 {
                let octets = self.receiver.receiver().readable().min(self.call);
                self.receiver.read(self.now, octets, &mut acks);
            }
            self.receiver
                .app_blocks(self.now, BlockedOn::Read, false, &mut acks);
        }
        self.acknowledge(&acks)
    }

    /// Waits until the receiver's timer has fired.
    fn wait(&mut self) {
        let mut acks = Outbox::new();
        while let Some(at) = self.receiver.next_wakeup()
            && acks.segments.is_empty()
        {
            self.now = at.max(self.now);
            self.receiver.on_wakeup(self.now, &mut acks);
        }
        self.acknowledge(&acks);
    }

    /// Predicts by inequality (4): returns the deadlock if there is an instant at which a timer's ACK of a part
    /// of the flight causes one that lasts. If there are many instants or segments, only some are
    /// tried.
    fn struck_by_the_timer(mut self) -> Option<StandsStill> {
        let pieces = self.sender.sender().capacity() / self.call.min(USUAL_PIECE);
        let every = pieces as usize / TRIED + 1;
        let mut instants = Vec::new();
        for _ in 0..STRUCK {
            let mut seen = 0;
            self.fill(&mut |play| {
                if seen % every == 0 {
                    instants.push(play.clone());
                }
                seen += 1;
            });
            instants.push(self.clone());
            self.round();
            instants.push(self.clone());
        }
        instants.iter().find_map(|play| {
            let apart = play.flight.len() / TRIED + 1;
            let mut arrived = (1..=play.flight.len()).rev().step_by(apart);
            arrived.find_map(|segments| {
                let mut struck = play.clone();
                struck.arrive(segments);
                struck.wait();
                struck.rounds()
            })
        })
    }

    /// Writes until the writer sleeps for space; calls `instant` with every state on the way.
    fn fill(&mut self, instant: &mut dyn FnMut(&Self)) {
        loop {
            if !self.writing {
                self.sender.write_begin(self.now, self.call);
                self.writing = true;
            }
            let wrote = self.sender.write_step(self.now, false, &mut self.outbox);
            self.gather();
            match wrote {
                Wrote::Piece(_) => {}
                Wrote::Last(_) => self.writing = false,
                Wrote::Sleeps | Wrote::Refused => break,
            }
            instant(self);
        }
        self.sender
            .app_blocks(self.now, BlockedOn::Write, true, &mut self.outbox);
        self.gather();
    }

    /// Passes ACKs to the sender. Returns whether there were any.
    fn acknowledge(&mut self, acks: &Outbox) -> bool {
        for ack in &acks.segments {
            self.sender.on_segment(self.now, ack, &mut self.outbox);
            self.gather();
            self.sender.write_resume(self.now);
        }
        !acks.segments.is_empty()
    }

    fn gather(&mut self) {
        self.flight.extend(self.outbox.segments.drain(..));
    }
}
