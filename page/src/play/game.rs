//! "Be the sender": a program writes its messages piece by piece at fixed times, and a rule, or the reader,
//! decides when they leave.

use serde::Deserialize;
use serde_json::{Value, json};
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::AckTimer;
use tinygram_engine::sender::send_policy::{Because, SendPolicy, Verdict, Why, from_fn};
use tinygram_engine::{Config, Duration, Instant};
use tinygram_sim::costs::HostCosts;
use tinygram_sim::medium::{Side, Wire};
use tinygram_sim::program::{Call, CallOutcome, Program};
use tinygram_sim::{Ended, Opening, World, WorldConfig};

use super::watch::Watch;
use super::within;

/// The messages, and who sends them.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Game {
    messages: Vec<Message>,
    sender: Sender,
}

/// The writes of a message: when each is made, in microseconds, and its octets.
#[derive(Clone, Debug, Deserialize)]
struct Message(Vec<(u64, u32)>);

/// Who decides about what is shorter than a segment.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Sender {
    /// A rule of the engine's.
    Rule(String),
    /// Somebody who sends all that waits at these times, in microseconds.
    Presses(Vec<u64>),
    /// Somebody who knows which write is a message's last.
    Foresight,
}

const MSS: u16 = 1460;
const BITS_PER_SECOND: u64 = 100_000_000;
/// Ethernet's octets around the data, and its least frame.
const FRAME: (u64, u64) = (78, 84);
const ONE_WAY: Duration = Duration::from_millis(2);
/// Linux's shortest delay of an acknowledgment.
const ACK_TIMER: Duration = Duration::from_millis(40);
/// The octets of the answer to each message.
const ANSWER: u64 = 100;
const MOST_WRITES: usize = 1000;
/// Nobody presses so often.
const MOST_PRESSES: usize = 10_000;
const LATEST: u64 = 600_000_000;
/// The time after which a run is given up.
const LATE: Duration = Duration::from_secs(3600);

impl Game {
    /// Returns the segments, and when each message was written and delivered.
    pub(super) fn answer(&self) -> Result<Value, String> {
        let writes = self.messages.iter().flat_map(|it| &it.0);
        within("writes", writes.clone().count(), 1..=MOST_WRITES)?;
        for (at, octets) in writes {
            within("a write's time", *at, 0..=LATEST)?;
            within("a write's octets", *octets, 1..=65_536)?;
        }
        if self.messages.iter().any(|it| it.0.is_empty()) {
            return Err("a message has no write".into());
        }
        let sizes: Vec<u64> = self.messages.iter().map(Message::octets).collect();
        // Somebody who sends a message late does not stop the program that the page shows.
        let waits = !matches!(self.sender, Sender::Presses(_));
        let writer = Actor::Writer(Writer::of(&self.messages, waits));
        let reader = Actor::Reader(Reader {
            sizes: sizes.clone(),
            answered: 0,
            missing: sizes[0],
        });
        let mut world = World::watched(wiring(), [vec![writer], vec![reader]], Watch::default());
        let rules = end(self.policy()?);
        world.connect(Opening::Established, [rules, end(SendPolicy::Off)]);
        if world.run(Instant::ZERO + LATE) != Ended::Stopped {
            return Err("a message was never delivered".into());
        }
        let watch = world.observer();
        let counts = watch.counts(Side::Client, MSS, Instant::ZERO, world.now());
        let fewest: u64 = sizes.iter().map(|octets| octets.div_ceil(MSS.into())).sum();
        let delivered = watch.read_up_to(Side::Server, &sizes);
        let messages = self
            .messages
            .iter()
            .zip(delivered)
            .map(|(message, delivered)| {
                json!({
                    "written_us": message.last(),
                    "delivered_us": delivered.as_nanos() / 1000,
                    "earliest_us": message.last() + earliest(message).as_nanos() / 1000,
                })
            });
        Ok(json!({ "counts": counts, "fewest": fewest, "messages": messages.collect::<Vec<_>>() }))
    }

    fn policy(&self) -> Result<SendPolicy, String> {
        let presses = match &self.sender {
            Sender::Rule(name) => {
                return SendPolicy::named(name).ok_or_else(|| format!("there is no policy {name}"));
            }
            Sender::Presses(presses) => presses.clone(),
            // A microsecond later, for at one instant a timer goes before the thread that writes.
            Sender::Foresight => self.messages.iter().map(|it| it.last() + 1).collect(),
        };
        within("presses", presses.len(), 0..=MOST_PRESSES)?;
        let mut presses: Vec<Instant> = presses.into_iter().map(at).collect();
        presses.sort();
        Ok(SendPolicy::custom(from_fn(move |_, vars| {
            let next = presses.partition_point(|press| *press < vars.now);
            match presses.get(next) {
                Some(press) if *press == vars.now => Verdict::Send(Because::Blocked),
                Some(press) => Verdict::hold_until(Why::WriterRuns, *press),
                None => Verdict::hold(Why::WriterRuns),
            }
        })))
    }
}

impl Message {
    fn octets(&self) -> u64 {
        self.0.iter().map(|(_, octets)| u64::from(*octets)).sum()
    }

    fn last(&self) -> u64 {
        self.0.last().map_or(0, |(at, _)| *at)
    }
}

/// Returns how long a message's last segment takes, if it leaves with the last write.
fn earliest(message: &Message) -> Duration {
    let rest = message.octets() % u64::from(MSS);
    let last = if rest == 0 { u64::from(MSS) } else { rest };
    wire().occupies(last as u32) + ONE_WAY
}

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

fn wire() -> Wire {
    Wire::new(BITS_PER_SECOND, FRAME.0, FRAME.1, ONE_WAY)
}

fn wiring() -> WorldConfig {
    WorldConfig::over(wire(), [HostCosts::NONE; 2], 1)
}

fn end(policy: SendPolicy) -> Config {
    let mut config = (Profile::TRU64_4.config)(&Sizes {
        mss: MSS,
        send_buffer: 65_536,
        receive_buffer: 65_535,
    });
    config.sender.policy = policy;
    config.receiver.timer = AckTimer::PerConnection(ACK_TIMER);
    config
}

/// A thread of either host.
#[derive(Clone, Debug)]
enum Actor {
    Writer(Writer),
    Reader(Reader),
}

/// Writes each message at its times. It waits for the answer before it writes the next one, or for all answers at the end.
#[derive(Clone, Debug)]
struct Writer {
    /// When each write is made, its octets, and the octets of answers that are waited for after it.
    writes: Vec<(Instant, u32, u64)>,
    made: usize,
    /// Octets of an answer that have not come.
    missing: u64,
}

/// Answers each message once all of it is there.
#[derive(Clone, Debug)]
struct Reader {
    sizes: Vec<u64>,
    answered: usize,
    missing: u64,
}

impl Program for Actor {
    fn next(&mut self, now: Instant, last: CallOutcome) -> Call {
        match self {
            Self::Writer(writer) => writer.next(now, last),
            Self::Reader(reader) => reader.next(last),
        }
    }
}

impl Writer {
    fn of(messages: &[Message], waits: bool) -> Self {
        let mut writes = Vec::new();
        for Message(of_message) in messages {
            for (number, (micros, octets)) in of_message.iter().enumerate() {
                let answered = u64::from(waits && number + 1 == of_message.len());
                writes.push((at(*micros), *octets, answered * ANSWER));
            }
        }
        if let Some((_, _, answers)) = writes.last_mut().filter(|_| !waits) {
            *answers = messages.len() as u64 * ANSWER;
        }
        Self {
            writes,
            made: 0,
            missing: 0,
        }
    }

    fn next(&mut self, now: Instant, last: CallOutcome) -> Call {
        if let CallOutcome::Read(octets) = last {
            self.missing -= octets;
        }
        if self.missing > 0 {
            return Call::Read {
                socket: 0,
                max: self.missing,
            };
        }
        let Some((due, octets, answers)) = self.writes.get(self.made) else {
            return Call::Stop;
        };
        if *due > now {
            return Call::Sleep(due.since(now));
        }
        self.made += 1;
        self.missing = *answers;
        Call::Write {
            socket: 0,
            len: (*octets).into(),
            more: false,
        }
    }
}

impl Reader {
    fn next(&mut self, last: CallOutcome) -> Call {
        match last {
            CallOutcome::Read(0) | CallOutcome::Gone => return Call::Exit,
            CallOutcome::Read(octets) => self.missing -= octets,
            CallOutcome::Wrote(_) => {
                self.answered += 1;
                match self.sizes.get(self.answered) {
                    Some(size) => self.missing = *size,
                    None => return Call::Exit,
                }
            }
            _ => {}
        }
        match self.missing {
            0 => Call::Write {
                socket: 0,
                len: ANSWER,
                more: false,
            },
            max => Call::Read { socket: 0, max },
        }
    }
}
