//! A world whose programs are known: what is seen of it is what a recorder of the kernel's events would see.

#![allow(dead_code, reason = "each test uses a part of it")]

use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::{AckPolicy, Jiffies, Linux, LinuxKnobs};
use tinygram_engine::{Config, Duration, Instant};
use tinygram_sim::costs::{ComesIn, HostCosts, SegmentCost};
use tinygram_sim::dice::{Dice, Purpose};
use tinygram_sim::medium::{ImpairmentRules, Medium, MediumFrame, PointToPoint, Side, Wire};
use tinygram_sim::observer::Observer;
use tinygram_sim::program::{Call, CallOutcome, Program};
use tinygram_sim::{Opening, World, WorldConfig};
use tinygram_whatif::rules::Rules;
use tinygram_whatif::seen::{End, Read, Sent, Write};

/// A service: what both programs do, and the path between them.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    /// The writes of a request and of an answer.
    pub(crate) writes: [Vec<u64>; 2],
    /// How long the client and the server think before their first write, about.
    pub(crate) think: [Duration; 2],
    /// Between two writes of a message.
    pub(crate) gap: Duration,
    pub(crate) rtt: Duration,
    pub(crate) turns: u32,
}

/// What happened.
pub(crate) struct Truth {
    pub(crate) ends: [End; 2],
    /// The client's own times, in milliseconds, sorted.
    pub(crate) turns_ms: Vec<f64>,
    /// Data segments of both ends for a turn.
    pub(crate) segments: f64,
    /// Each frame with its sender.
    pub(crate) frames: Vec<(Side, MediumFrame)>,
}

impl Truth {
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        self.turns_ms[(share * (self.turns_ms.len() - 1) as f64).round() as usize]
    }
}

/// Returns the lengths of an end's turns as a trial's meter takes them, in milliseconds, sorted: from its first write after a
/// read to its next read.
pub(crate) fn metered(end: &End) -> Vec<f64> {
    let writes = end.writes.iter().map(|write| (write.at_ns, true));
    let reads = end.reads.iter().map(|read| (read.at_ns, false));
    let mut calls: Vec<(u64, bool)> = writes.chain(reads).collect();
    calls.sort_unstable();
    let mut wrote_ns = None;
    let mut lengths_ms = Vec::new();
    for (at_ns, is_write) in calls {
        if is_write {
            wrote_ns = wrote_ns.or(Some(at_ns));
        } else if let Some(wrote_ns) = wrote_ns.take() {
            lengths_ms.push((at_ns - wrote_ns) as f64 / 1e6);
        }
    }
    lengths_ms.sort_by(f64::total_cmp);
    lengths_ms
}

pub(crate) const TICK: Duration = Duration::from_millis(4);

impl Service {
    /// Lets the service run under these rules.
    pub(crate) fn run(&self, rules: &[Rules; 2], seed: u64) -> Truth {
        self.run_with(rules, seed, |_| ())
    }

    /// The same, of ends whose configurations are changed before.
    pub(crate) fn run_with(
        &self,
        rules: &[Rules; 2],
        seed: u64,
        change: impl Fn(&mut Config),
    ) -> Truth {
        let programs = [0, 1].map(|end| vec![Talker::new(self, end, rules[end].nodelay, seed)]);
        let wire = Wire::new(10_000_000_000, 66, 0, Duration::from_micros(1));
        let config = WorldConfig {
            medium: Medium::PointToPoint(PointToPoint::new(wire)),
            impairment: ImpairmentRules {
                delay: Duration::from_nanos(self.rtt.as_nanos() / 2),
                ..ImpairmentRules::NONE
            },
            costs: [COSTS; 2],
            seed,
        };
        let mut world = World::watched(config, programs, Frames::default());
        let phase = Duration::from_nanos(seed * 1_234_567 % TICK.as_nanos());
        world.connect(
            Opening::Established,
            [0, 1].map(|end| {
                let mut config = self.config(&rules[end], phase);
                change(&mut config);
                config
            }),
        );
        world.run(Instant::ZERO + Duration::from_secs(10_000));
        let frames = &world.observer().0;
        let ends = [Side::Client, Side::Server].map(|side| {
            let mut end = world
                .host(side)
                .programs()
                .next()
                .expect("one")
                .seen
                .clone();
            end.sent = sent(frames, side);
            end
        });
        let client = world.host(Side::Client).programs().next().expect("one");
        let mut turns_ms = client.turns_ms.clone();
        let segments = frames
            .iter()
            .filter(|(_, frame)| frame.segment.len > 0)
            .count();
        let segments = segments as f64 / turns_ms.len() as f64;
        turns_ms.sort_by(f64::total_cmp);
        Truth {
            ends,
            turns_ms,
            segments,
            frames: frames.clone(),
        }
    }

    fn config(&self, rules: &Rules, phase: Duration) -> Config {
        let mut config = (Profile::LINUX_6.config)(&Sizes {
            mss: 1460,
            send_buffer: 1 << 20,
            receive_buffer: 1 << 20,
        });
        config.receiver.policy = AckPolicy::custom(Linux::with(LinuxKnobs {
            delack_max: rules.delack_max,
            pingpong_threshold: rules.pingpong,
            clock: Some(Jiffies {
                tick: TICK,
                phase,
                round_trip: self.rtt,
            }),
        }));
        config
    }
}

fn sent(frames: &[(Side, MediumFrame)], side: Side) -> Vec<Sent> {
    let own = frames
        .iter()
        .filter(|(from, frame)| *from == side && frame.segment.len > 0);
    own.map(|(_, frame)| Sent {
        at_ns: frame.at.as_nanos(),
        length: frame.segment.len.into(),
        // The SYN has the first number.
        end: frame.segment.seq.get() - 1 + u64::from(frame.segment.len),
    })
    .collect()
}

/// A program that writes its message once it has the other's.
#[derive(Clone, Debug)]
struct Talker {
    writes: Vec<u64>,
    expects: u64,
    think: Duration,
    gap: Duration,
    left: u32,
    asks: bool,
    nodelay: bool,
    /// The next write of the message; beyond the last one it reads.
    next: usize,
    paused: bool,
    missing: u64,
    began: Instant,
    dice: Dice,
    read: u64,
    written: u64,
    seen: End,
    turns_ms: Vec<f64>,
}

impl Talker {
    fn new(service: &Service, end: usize, nodelay: bool, seed: u64) -> Self {
        let asks = end == 0;
        Self {
            writes: service.writes[end].clone(),
            expects: service.writes[1 - end].iter().sum(),
            think: service.think[end],
            gap: service.gap,
            left: if asks { service.turns } else { u32::MAX },
            asks,
            nodelay,
            next: if asks { 0 } else { usize::MAX },
            paused: false,
            missing: if asks {
                0
            } else {
                service.writes[0].iter().sum()
            },
            began: Instant::ZERO,
            dice: Dice::new(seed ^ (end as u64 * 77), Purpose::Lengths),
            read: 0,
            written: 0,
            seen: End::default(),
            turns_ms: Vec::new(),
        }
    }

    fn took(&mut self, now: Instant, octets: u64) {
        self.read += octets;
        self.seen.reads.push(Read {
            at_ns: now.as_nanos(),
            length: octets,
            end: self.read,
            late_ack_ns: None,
        });
        self.missing -= octets.min(self.missing);
        if self.missing == 0 {
            if self.asks {
                self.turns_ms.push(now.since(self.began).as_millis_f64());
            }
            self.left -= 1;
            self.next = 0;
            self.paused = false;
        }
    }

    fn wrote(&mut self, now: Instant, octets: u64) {
        self.written += octets;
        self.seen.writes.push(Write {
            at_ns: now.as_nanos(),
            length: octets,
            end: self.written,
            read_until: self.read,
            more: false,
        });
        self.next += 1;
        self.paused = false;
        if self.next == self.writes.len() {
            self.missing = self.expects;
        }
    }
}

impl Program for Talker {
    fn next(&mut self, now: Instant, last: CallOutcome) -> Call {
        match last {
            CallOutcome::Gone | CallOutcome::Read(0) => return Call::Exit,
            CallOutcome::Read(octets) => self.took(now, octets),
            CallOutcome::Wrote(octets) => self.wrote(now, octets),
            _ => {}
        }
        if self.left == 0 {
            return Call::Stop;
        }
        if std::mem::take(&mut self.nodelay) {
            return Call::NoDelay(0, true);
        }
        let Some(len) = self.writes.get(self.next).copied() else {
            return Call::Read {
                socket: 0,
                max: u64::MAX,
            };
        };
        if !std::mem::replace(&mut self.paused, true) {
            let pause = match self.next {
                0 => self.dice.jitter(self.think, 90),
                _ => self.dice.jitter(self.gap, 50),
            };
            if pause > Duration::ZERO {
                return Call::Compute(pause);
            }
        }
        if self.next == 0 {
            self.began = now;
        }
        Call::Write {
            socket: 0,
            len,
            more: false,
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Frames(Vec<(Side, MediumFrame)>);

impl Observer for Frames {
    fn sent(&mut self, from: Side, frame: &MediumFrame) {
        self.0.push((from, *frame));
    }
}

/// About those of a veth pair.
const COSTS: HostCosts = HostCosts {
    output: SegmentCost::flat(Duration::from_nanos(1500)),
    wakeup: Duration::from_micros(15),
    read: Duration::from_micros(1),
    write: Duration::from_micros(3),
    comes_in: ComesIn::Nothing,
    jitter_percent: 30,
    ..HostCosts::NONE
};
