//! Whether a pair of buffers deadlocks, how, and what still gets through: the paper's inequalities,
//! and its rules played without time.
//!
//! "The sender cannot transmit enough data to trigger a window update, and the receiver refrains from
//! returning an acknowledgment" (section 3.1): then only the timer's ACKs move the connection.

use std::collections::VecDeque;

use tinygram_engine::connection::{Config, Connection, Wrote};
use tinygram_engine::receiver::ReceiverConfig;
use tinygram_engine::receiver::ack_policy::{AckPolicy, AckTimer, BytesConsumed};
use tinygram_engine::sender::send_policy::BlockedOn;
use tinygram_engine::{Duration, Instant, Outbox, Segment};

/// What makes a receiver acknowledge by itself, whichever comes first. In octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// This share of its buffer, in percent and octets, once it has been read.
    pub share: Option<(u64, u64)>,
    /// So many octets, which the rule has in segments.
    pub segments: Option<u64>,
}

/// Where a pair of buffers lies in the plane of Figure 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Area {
    /// Inequality (1), dark grey: all of the send buffer does not make the receiver speak.
    Certain,
    /// Inequality (2), light grey: what leaves room for no full segment may not either. An outer
    /// bound: not every pair here deadlocks.
    Possible,
    /// Neither holds.
    Safe,
}

/// The paper's three classes (section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// "Predictable from the window update rules" (3.1.1).
    WindowUpdate,
    /// "Caused by the data copying rules and Nagle's algorithm" (3.1.2): at once.
    Copying,
    /// "Caused by the timer generated acknowledgment and Nagle's algorithm" (3.1.3): once a timer's
    /// ACK comes while a part of a flight has arrived.
    Timer,
}

/// How a connection stands still.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deadlock {
    /// Its class.
    pub class: Class,
    /// Octets sent and not acknowledged while it stands still: the paper's b_sent.
    pub sent: u64,
    /// Octets in the send buffer then: the paper's S_byte.
    pub buffered: u64,
    /// Octets that get through for each ACK of the timer, on average.
    pub per_timer: f64,
    /// The same in Mbit/s (10^6).
    pub mbit_per_s: f64,
}

/// What is to be expected of a pair of buffers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// What makes the receiver acknowledge.
    pub threshold: Threshold,
    /// Where the buffers lie.
    pub area: Area,
    /// How they deadlock, if they do.
    pub deadlock: Option<Deadlock>,
}

/// Between two ACKs of the timer, once it alone moves the connection.
#[must_use]
pub fn timer_period(receiver: &ReceiverConfig) -> Duration {
    match (&receiver.policy, receiver.timer) {
        // Each time it fires, Linux waits twice as long the next time, up to TCP_DELACK_MAX.
        (AckPolicy::Linux | AckPolicy::LinuxQuickack, _) => Duration::from_millis(200),
        (_, AckTimer::Cyclic { period, .. }) => period,
        (_, AckTimer::PerConnection(length)) => length,
    }
}

impl Threshold {
    /// That of a receiver with these rules.
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

    /// Returns the smaller of the two.
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
    /// By inequalities (1), `S < 35 % R and S < 2 MSS`, and (2), the same with an MSS more on the
    /// right, for any receiver's threshold.
    #[must_use]
    pub fn of(send_buffer: u64, mss: u64, threshold: &Threshold) -> Self {
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

/// Returns what is to be expected of a transfer without end by calls of `call` octets (at least 1), if both
/// ends follow `rules` and congestion control is in nobody's way.
#[must_use]
pub fn predict(rules: &Config, call: u64) -> Prediction {
    let threshold = Threshold::of(&rules.receiver);
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
        Area::Certain => Class::WindowUpdate,
        _ => Class::Copying,
    };
    let stands = at_once.map(|still| (class, still));
    let stands = stands.or_else(|| {
        play.struck_by_the_timer()
            .map(|still| (Class::Timer, still))
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

/// A sender and a receiver, who reads at once what arrives, played without anything that takes time
/// but the receiver's timer.
#[derive(Clone)]
struct Play {
    sender: Connection,
    receiver: Connection,
    outbox: Outbox,
    now: Instant,
    /// Octets of each write, and the most that a read takes.
    call: u64,
    writing: bool,
    /// What has left and not arrived.
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

/// Rounds after which a connection does what it will always do.
const SETTLING: usize = 24;
/// Rounds that show it; flights repeat after fewer.
const LASTING: usize = 12;
/// Rounds in which the timer is let strike at every instant.
const STRUCK: usize = 4;
/// Instants of a round, and segments of a flight, at which it is.
const TRIED: usize = 16;
/// What kernels copy at a time, or less; in octets.
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

    /// Plays on; returns how it stands still if from some round on it always does.
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

    /// The writer sleeps: what is in flight arrives and is acknowledged, by the receiver or by its
    /// timer. Returns how it stood still if by the timer.
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

    /// So many segments arrive and are read. Returns whether the receiver acknowledged by itself.
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

    /// Nothing moves until the receiver's timer has fired.
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

    /// Inequality (4): whether there is an instant at which a timer's ACK of a part of the flight makes
    /// it stand still from then on. Of many instants and many segments, some are tried.
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

    /// Writes until the writer sleeps for space; `instant` sees every state on the way.
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

    /// ACKs reach the sender. Returns whether there were any.
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
