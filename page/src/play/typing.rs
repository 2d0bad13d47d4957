//! Single characters, as somebody typed them, on their way to a host that echoes them (Mogul & Minshall,
//! sections 4 and 5.6).

use serde::Deserialize;
use serde_json::{Value, json};
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::AckTimer;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::{Config, Duration, Instant};
use tinygram_sim::costs::HostCosts;
use tinygram_sim::medium::{Side, Wire};
use tinygram_sim::program::{Call, CallOutcome, Program};
use tinygram_sim::workload::telnet::Telnet;
use tinygram_sim::{Opening, World, WorldConfig};

use super::watch::Watch;
use super::within;

/// The times of the keys, in milliseconds and in order, the policy of both hosts, and the round trip.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Typing {
    keys_ms: Vec<u32>,
    policy: String,
    rtt_ms: u64,
}

const MOST_KEYS: usize = 2000;
const LATEST_MS: u32 = 600_000;
const MSS: u16 = 1460;
const BITS_PER_SECOND: u64 = 10_000_000;
/// Ethernet's octets around the data, and its least frame.
const FRAME: (u64, u64) = (78, 84);
/// BSD's longest delay of an acknowledgment (section 1).
const ACK_TIMER: Duration = Duration::from_millis(200);
/// How long the last echo may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A thread of either host.
#[derive(Clone, Debug)]
enum Actor {
    Typist { due: Vec<Instant>, typed: usize },
    Telnet(Telnet),
}

impl Program for Actor {
    fn next(&mut self, now: Instant, last: CallOutcome) -> Call {
        let (due, typed) = match self {
            Self::Telnet(program) => return program.next(now, last),
            Self::Typist { due, typed } => (due, typed),
        };
        let Some(next) = due.get(*typed) else {
            return Call::Exit;
        };
        if *next > now {
            return Call::Sleep(next.since(now));
        }
        *typed += 1;
        Call::Write {
            socket: 0,
            len: 1,
            more: false,
        }
    }
}

impl Typing {
    /// Returns what left, and when each key's echo came.
    pub(super) fn answer(&self) -> Result<Value, String> {
        within("keys", self.keys_ms.len(), 1..=MOST_KEYS)?;
        let last_key = *self.keys_ms.iter().max().unwrap_or(&0);
        within("the last key", last_key, 0..=LATEST_MS)?;
        within("rtt_ms", self.rtt_ms, 0..=2000)?;
        let policy = SendPolicy::named(&self.policy);
        let policy = policy.ok_or_else(|| format!("there is no policy {}", self.policy))?;
        let due = self
            .keys_ms
            .iter()
            .map(|ms| Instant::ZERO + Duration::from_millis((*ms).into()));
        let typist = Actor::Typist {
            due: due.collect(),
            typed: 0,
        };
        let screen = Actor::Telnet(Telnet::Screen {
            socket: 0,
            missing: self.keys_ms.len() as u64,
        });
        let echo = Actor::Telnet(Telnet::Echo { socket: 0 });
        let programs = [vec![typist, screen], vec![echo]];
        let mut world = World::watched(self.wiring(), programs, Watch::default());
        world.connect(Opening::Established, [end(policy.clone()), end(policy)]);
        world.run(Instant::ZERO + Duration::from_millis(last_key.into()) + PATIENCE);
        let watch = world.observer();
        let mut shown = watch.shown(Instant::ZERO, world.now());
        shown["counts"] = json!(watch.counts(Side::Client, MSS, Instant::ZERO, world.now()));
        shown["ends"] = json!(["typist", "host"]);
        Ok(shown)
    }

    fn wiring(&self) -> WorldConfig {
        let one_way = Duration::from_micros(self.rtt_ms * 500);
        let wire = Wire::new(BITS_PER_SECOND, FRAME.0, FRAME.1, one_way);
        WorldConfig::over(wire, [HostCosts::NONE; 2], 1)
    }
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
