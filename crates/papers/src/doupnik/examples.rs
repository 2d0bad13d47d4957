//! The draft's examples (sections 1.4 to 2.3), simulated under each form of the rules.

use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::AckPolicy;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::{Config, Duration, Instant};
use tinygram_sim::costs::HostCosts;
use tinygram_sim::medium::{MediumFrame, Side, Wire};
use tinygram_sim::observer::SentFrames;
use tinygram_sim::program::Program;
use tinygram_sim::workload::exchange::Exchange;
use tinygram_sim::workload::periodic::{Periodic, Writer};
use tinygram_sim::{Opening, World, WorldConfig};

use crate::experiment::{Class, Effort, Layout, Origin, Outcome, Parameter, Row};
use crate::standard::Standard;
use crate::value::{PaperValue, Tolerance};

/// Ethernet's MSS, in octets.
pub const MSS: u32 = 1460;
/// A window larger than any of these conversations needs, in octets.
pub const WIDE: u64 = 65_535;
/// The forms of the rules that the draft compares.
pub const FORMS: [&str; 5] = [
    "strict-nagle",
    "liberal-nagle",
    "doupnik",
    "doupnik-liberal",
    "off",
];

/// Returns an end of this stack with this send policy, which offers `window` octets.
fn end(stack: &str, policy: &str, window: u64) -> Config {
    let profile = Profile::named(stack).expect(stack);
    let sizes = Sizes {
        mss: MSS as u16,
        send_buffer: WIDE,
        receive_buffer: window,
    };
    let mut config = (profile.config)(&sizes);
    config.sender.policy = SendPolicy::named(policy).expect(policy);
    config
}

/// Runs two programs over a fast link until they are done.
fn play<P: Program>(programs: [P; 2], ends: [Config; 2], rtt: Duration) -> World<P, SentFrames> {
    let propagation = Duration::from_nanos(rtt.as_nanos() / 2);
    let wire = Wire::new(100_000_000, 78, 84, propagation);
    let config = WorldConfig::over(wire, [HostCosts::NONE; 2], 1);
    let mut world = World::watched(
        config,
        programs.map(|program| vec![program]),
        SentFrames::default(),
    );
    world.connect(Opening::Established, ends);
    world.run(Instant::ZERO + Duration::from_secs(10_000));
    world
}

/// A request that the server answers once it is complete.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The octets of each write.
    pub writes: &'a [u64],
    /// The client's stack; UnixWare passes a write down whole, FreeBSD in pieces of 2048 octets.
    pub stack: &'a str,
    /// The window that the server advertises, in octets.
    pub window: u64,
    /// The congestion window, in octets.
    pub cwnd: u64,
}

/// The segments of a request.
#[derive(Clone, Debug)]
pub struct Made {
    /// The octets of each of the client's segments.
    pub segments: Vec<u32>,
    /// The number of segments that were held.
    pub held: u64,
    /// Whether it waited for the server's 200 ms.
    pub stalled: bool,
}

impl<'a> Request<'a> {
    /// Returns a request from a stack that passes writes down whole, without limits.
    #[must_use]
    pub fn of(writes: &'a [u64]) -> Self {
        Self {
            writes,
            stack: "unixware_7",
            window: WIDE,
            cwnd: WIDE,
        }
    }

    /// Sends the request under a send policy.
    ///
    /// # Panics
    ///
    /// If the stack or the policy has no such name.
    #[must_use]
    pub fn made(self, policy: &str) -> Made {
        let world = self.world(policy, |_| ());
        let sent = world.observer().sent.iter();
        let of_client = sent.filter(|(from, _)| *from == Side::Client);
        let lens = of_client.map(|(_, frame)| frame.segment.len);
        let counters = world.host(Side::Client).sockets()[0].counters();
        Made {
            segments: lens.filter(|len| *len > 0).collect(),
            held: counters.holds.iter().sum(),
            stalled: world.now() > Instant::ZERO + Duration::from_millis(100),
        }
    }

    /// Returns the segments with their senders; `server` may change the server's rules.
    fn exchanged(self, policy: &str, server: impl FnOnce(&mut Config)) -> Vec<(Side, MediumFrame)> {
        self.world(policy, server).observer().sent.clone()
    }

    fn world(self, policy: &str, change: impl FnOnce(&mut Config)) -> World<Exchange, SentFrames> {
        let client = Exchange::asks(0, self.writes.to_vec(), 100, 1);
        let server = Exchange::answers(0, vec![100], self.writes.iter().sum());
        let mut of_client = end(self.stack, policy, WIDE);
        of_client.sender.initial_cwnd = self.cwnd;
        let mut of_server = end("unixware_7", "off", self.window);
        change(&mut of_server);
        play(
            [client, server],
            [of_client, of_server],
            Duration::from_micros(100),
        )
    }

    /// Returns whether it waits for the server's timer under a send policy.
    #[must_use]
    pub fn stalls(self, policy: &str) -> bool {
        self.made(policy).stalled
    }
}

/// Returns the data segments of a client that writes one octet `writes` times, one every `period`.
///
/// # Panics
///
/// If the policy has no such name.
#[must_use]
pub fn octet_by_octet(policy: &str, writes: u32, period: Duration, rtt: Duration) -> u64 {
    let writer = Writer {
        socket: 0,
        len: 1,
        left: writes,
        period,
        due: Instant::ZERO,
    };
    let programs = [Periodic::Writer(writer), Periodic::Reader { socket: 0 }];
    let ends = [
        end("unixware_7", policy, WIDE),
        end("unixware_7", "off", WIDE),
    ];
    let world = play(programs, ends, rtt);
    let client = world.host(Side::Client);
    client.sockets()[0].counters().data_segments
}

/// The write of section 1.4: 3.5 MSS, in octets.
pub const WRITE: u64 = 5110;

/// An example, and what the draft says about it under each of [`FORMS`].
struct Example {
    section: &'static str,
    what: &'static str,
    shows: fn(&str) -> String,
    said: [&'static str; 5],
}

const WAITS: &str = "waits";
const GOES: &str = "goes";

const EXAMPLES: [Example; 9] = [
    Example {
        section: "1.4, first case",
        what: "the tail of a write of 3.5 MSS",
        shows: |policy| tail(Request::of(&[WRITE]), policy),
        said: [WAITS, GOES, GOES, GOES, GOES],
    },
    Example {
        section: "1.4, second case",
        what: "the same if congestion avoidance allows 2 MSS at first",
        shows: |policy| {
            let cwnd = 2 * u64::from(MSS);
            tail(
                Request {
                    cwnd,
                    ..Request::of(&[WRITE])
                },
                policy,
            )
        },
        said: [WAITS, GOES, GOES, GOES, GOES],
    },
    Example {
        section: "1.4",
        what: "ACKs that release the tail (\"up to three\")",
        shows: |policy| acks_before_the_tail(policy).to_string(),
        said: ["3", "0", "0", "0", "0"],
    },
    Example {
        section: "1.5",
        what: "the same write if the window has room for all but the tail",
        shows: |policy| {
            let window = 3 * u64::from(MSS);
            tail(
                Request {
                    window,
                    ..Request::of(&[WRITE])
                },
                policy,
            )
        },
        said: [WAITS, WAITS, GOES, GOES, GOES],
    },
    Example {
        section: "1.5 and 2.1, rule 3",
        what: "small segments within the data",
        shows: |policy| {
            let request = Request {
                window: 5000,
                ..Request::of(&[20_000])
            };
            let segments = request.made(policy).segments;
            let inside = &segments[..segments.len() - 1];
            yes(inside.iter().any(|len| *len < MSS))
        },
        said: ["no", "yes", "no", "yes", "no"],
    },
    Example {
        section: "2.2",
        what: "one octet per write, with ACKs at once: segments for 500 octets",
        shows: |policy| {
            let (period, rtt) = (Duration::from_millis(1), Duration::from_micros(100));
            few_or_all(octet_by_octet(policy, 500, period, rtt), 500)
        },
        said: ["fewer", "fewer", "500", "500", "500"],
    },
    Example {
        section: "2.3",
        what: "write(small), write(small), read()",
        shows: |policy| tail(Request::of(&[100, 100]), policy),
        said: [WAITS, WAITS, GOES, GOES, GOES],
    },
    Example {
        section: "2.3",
        what: "a typist, four keys a second: segments for 50 keys",
        shows: |policy| {
            let (period, rtt) = (Duration::from_millis(250), Duration::from_millis(1));
            few_or_all(octet_by_octet(policy, 50, period, rtt), 50)
        },
        said: ["50"; 5],
    },
    Example {
        section: "2.3",
        what: "the tail of every write longer than one segment",
        shows: |policy| {
            let lengths = (1500..30_000).step_by(977);
            let held = lengths.map(|len| Request::of(&[len]).made(policy).held > 0);
            let held: Vec<bool> = held.collect();
            match (held.iter().all(|it| *it), held.iter().any(|it| *it)) {
                (true, _) => WAITS.into(),
                (_, false) => GOES.into(),
                _ => "either".into(),
            }
        },
        said: [WAITS, GOES, GOES, GOES, GOES],
    },
];

fn tail(request: Request<'_>, policy: &str) -> String {
    if request.stalls(policy) { WAITS } else { GOES }.into()
}

fn yes(it: bool) -> String {
    if it { "yes" } else { "no" }.into()
}

fn few_or_all(segments: u64, all: u64) -> String {
    match segments == all {
        true => all.to_string(),
        false => "fewer".into(),
    }
}

/// Returns how many ACKs the tail of [`WRITE`] waits for, from a server that acknowledges each
/// segment.
fn acks_before_the_tail(policy: &str) -> usize {
    let request = Request::of(&[WRITE]);
    let sent = request.exchanged(policy, |server| {
        server.receiver.policy = AckPolicy::named("every-segment").expect("registered");
    });
    let of_server =
        |frame: &(Side, MediumFrame)| frame.0 == Side::Server && frame.1.segment.len == 0;
    let tail = sent.iter().position(|(side, frame)| {
        *side == Side::Client && frame.segment.len > 0 && frame.segment.len < MSS
    });
    let before = &sent[..tail.unwrap_or(sent.len())];
    before.iter().filter(|it| of_server(it)).count()
}

/// Returns the examples as an experiment.
pub(super) fn run(_: &Effort) -> Outcome {
    let rows = EXAMPLES.iter().flat_map(|example| {
        FORMS
            .into_iter()
            .zip(example.said)
            .map(|(policy, said)| Row {
                cell: vec![
                    ("section", PaperValue::Text(example.section.into())),
                    ("example", PaperValue::Text(example.what.into())),
                    ("policy", PaperValue::Text(policy.into())),
                ],
                standard: Some(Standard::derived(PaperValue::Text(said.into()))),
                reproduced: PaperValue::Text((example.shows)(policy)),
                tolerance: Tolerance::Exact,
                class: Class::Rules,
            })
    });
    Outcome {
        rules: vec![
            "Strict Nagle tests each segment. Liberal Nagle tests all allowed data together \
             (sections 1.3 to 1.5).",
            "The new policy sends full segments and a short segment that ends the application's \
             data (rules 1 and 2). Its liberal form also sends a short segment that follows full \
             segments (rule 3, section 2.1).",
        ],
        parameters: vec![
            Parameter {
                name: "MSS",
                value: format!("{MSS} B"),
                origin: Origin::Assumed("Ethernet's; the draft counts in MSS"),
            },
            Parameter {
                name: "link",
                value: "100 Mbit/s, 0.1 ms there and back".into(),
                origin: Origin::Assumed("far below a delayed ACK's 200 ms"),
            },
        ],
        rows: rows.collect(),
        layout: Layout::Grid {
            down: &["section", "example"],
            across: &["policy"],
        },
        ..Outcome::default()
    }
}
