//! Section 3's examples: Figures 1 and 2, a transfer that is not delayed and one that is, and the torn
//! buffers of section 3.1.

use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::AckTimer;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::{Duration, Instant};
use tinygram_naglemark::{Lengths, MediumKind};
use tinygram_sim::costs::HostCosts;
use tinygram_sim::medium::{MediumFrame, Side, Wire};
use tinygram_sim::observer::SentFrames;
use tinygram_sim::workload::exchange::Exchange;
use tinygram_sim::{Ended, Opening, World, WorldConfig};

use super::stalled::Setting;
use crate::experiment::{Class, Effort, Origin, Outcome, Parameter, Row, Trace};
use crate::standard::Standard;
use crate::value::{PaperValue, Tolerance};

/// "Each figure shows the length of a 1 MSS segment": its size, in octets, does not matter.
const MSS: u16 = 1460;
/// Much more than the segments take on the wire, much less than the timer.
const RTT: Duration = Duration::from_millis(10);
/// "After up to 200 msec, the receiver gives up": the full 200 ms here.
const ACK_TIMEOUT: Duration = Duration::from_millis(200);

/// Figures 1 and 2.
pub(super) fn figures(_: &Effort) -> Outcome {
    let whole = 4 * u64::from(MSS);
    let [full, short] = [whole, whole - 1].map(|len| request(len, "strict-nagle"));
    let bsd = request(whole - 1, "nagle");
    let ms = |time: Duration| time.as_nanos() as f64 / 1e6;
    let time = |what: &str, wanted: Duration, ours: &Transfer| Row {
        cell: measure(what),
        standard: Some(Standard::derived(PaperValue::Number(ms(wanted), 0))),
        reproduced: PaperValue::Number(ms(ours.response), 1),
        // The time that the segments take on the wire.
        tolerance: Tolerance::Within(0.1),
        class: Class::Rules,
    };
    let rows = vec![
        time(
            "Figure 1, 4 MSS: response at 2 RTT (ms)",
            RTT.times(2),
            &full,
        ),
        pattern(
            "Figure 1: data segments before the ACK and after it",
            "2, 2",
            &full,
        ),
        time(
            "Figure 2, just below 4 MSS: response at 3 RTT + ack_timeout (ms)",
            RTT.times(3) + ACK_TIMEOUT,
            &short,
        ),
        pattern("Figure 2: data segments before each ACK", "2, 1, 1", &short),
        Row {
            standard: None,
            tolerance: Tolerance::Unbounded,
            class: Class::NotPublished,
            ..time(
                "the same with BSD's test of idleness, once per call (section 3; ms)",
                Duration::ZERO,
                &bsd,
            )
        },
    ];
    Outcome {
        rules: vec![
            "cwnd is 2 MSS after the handshake (section 3).",
            "The formal Nagle algorithm tests each segment (section 3).",
            "The receiver acknowledges two full segments at once, and a single one after \
             ack_timeout (section 3).",
        ],
        parameters: vec![
            assumed("RTT", "10 ms", "the figures use RTT as their unit"),
            assumed("server_time", "0", "both figures add it"),
            assumed("MSS", "1460 octets", "the figures use MSS as their unit"),
            assumed(
                "link",
                "10 Gbit/s",
                "\"its contribution to the delay may be ignored\"",
            ),
        ],
        rows,
        notes: vec![
            "Figure 2 shows the formal algorithm. With BSD's test, which section 3 describes \
             below the figure, the same transfer is not delayed: after the ACK of the first two \
             segments nothing is outstanding, so C and D leave in one call, which began on an \
             idle connection."
                .into(),
        ],
        traces: vec![
            trace("Figure 1: exactly 4 MSS", full),
            trace("Figure 2: one octet less", short),
        ],
        ..Outcome::default()
    }
}

/// Section 3.1.
pub(super) fn torn(effort: &Effort) -> Outcome {
    let [delayed, seven] = [4100, 7300].map(|length| response(length, effort.seed));
    let sizes = |lens: &[u32]| {
        let lens: Vec<_> = lens.iter().map(u32::to_string).collect();
        PaperValue::Text(lens.join(", "))
    };
    let rows = vec![
        Row {
            cell: measure("4100 octets from a buffer of 4096: segments"),
            standard: Some(Standard::printed(PaperValue::Text(
                "1460, 1460, 1176, 4".into(),
            ))),
            reproduced: sizes(&delayed.0),
            tolerance: Tolerance::Exact,
            class: Class::Rules,
        },
        Row {
            cell: measure("4100 octets: the last 4 wait for the delayed ACK"),
            standard: Some(Standard::printed(PaperValue::Text("yes".into()))),
            reproduced: PaperValue::Text(if delayed.1 { "yes" } else { "no" }.into()),
            tolerance: Tolerance::Exact,
            class: Class::Rules,
        },
        Row {
            cell: measure("7300 octets from a buffer of 4096: segments"),
            standard: Some(Standard::printed(PaperValue::Count(6))),
            reproduced: PaperValue::Count(seven.0.len() as u64),
            tolerance: Tolerance::Exact,
            class: Class::Rules,
        },
        Row {
            cell: measure("7300 octets from a buffer of 4096: sizes of the segments"),
            standard: None,
            reproduced: sizes(&seven.0),
            tolerance: Tolerance::Unbounded,
            class: Class::NotPublished,
        },
    ];
    Outcome {
        rules: vec![
            "The application writes in buffers of 4096 octets, as Apache does (section 3.1).",
            "The policy is NAGLE, tested once per call of tcp_output (section 3).",
        ],
        parameters: vec![assumed(
            "network",
            "Ethernet, full duplex",
            "collisions would change only times",
        )],
        rows,
        ..Outcome::default()
    }
}

/// A request, its response and the segments of both.
struct Transfer {
    response: Duration,
    sent: Vec<(Side, MediumFrame)>,
}

/// Runs a client's request of `len` octets, written at once; the server answers with one octet.
fn request(len: u64, policy: &str) -> Transfer {
    let profile = Profile::named("tru64_4").expect("registered");
    let mut client = (profile.config)(&Sizes {
        mss: MSS,
        send_buffer: 64 << 10,
        receive_buffer: 64 << 10,
    });
    client.receiver.timer = AckTimer::PerConnection(ACK_TIMEOUT);
    let server = client.clone();
    client.sender.policy = SendPolicy::named(policy).expect("registered");
    let one_way = Duration::from_nanos(RTT.as_nanos() / 2);
    let config = WorldConfig::over(
        Wire::new(10_000_000_000, 78, 84, one_way),
        [HostCosts::NONE; 2],
        1,
    );
    let programs = [
        vec![Exchange::asks(0, vec![len], 1, 1)],
        vec![Exchange::answers(0, vec![1], len)],
    ];
    let mut world = World::watched(config, programs, SentFrames::default());
    world.connect(Opening::Established, [client, server]);
    let ended = world.run(Instant::ZERO + Duration::from_secs(10));
    debug_assert!(matches!(ended, Ended::Stopped | Ended::Quiet), "{ended:?}");
    let mut programs = world.host(Side::Client).programs();
    let elapsed = programs.next().map_or(&[][..], Exchange::elapsed);
    Transfer {
        response: elapsed.first().copied().expect("it was answered"),
        sent: world.observer().sent.clone(),
    }
}

/// Returns the number of the client's data segments between the server's ACKs.
fn pattern(what: &str, wanted: &str, ours: &Transfer) -> Row {
    let mut flights = vec![0_u32];
    for (side, frame) in &ours.sent {
        match side {
            Side::Client if frame.segment.len > 0 => *flights.last_mut().expect("one") += 1,
            Side::Server => flights.push(0),
            Side::Client => {}
        }
    }
    let flights = flights.iter().filter(|flight| **flight > 0);
    let flights: Vec<_> = flights.map(u32::to_string).collect();
    Row {
        cell: measure(what),
        standard: Some(Standard::derived(PaperValue::Text(wanted.into()))),
        reproduced: PaperValue::Text(flights.join(", ")),
        tolerance: Tolerance::Exact,
        class: Class::Rules,
    }
}

/// Returns the segments of a response, and whether it waited for the client's clock.
fn response(length: u32, seed: u64) -> (Vec<u32>, bool) {
    let buffers = (4 << 10, 64 << 10);
    let mut setting = Setting::new(MediumKind::EthernetFullDuplex, "NAGLE", buffers, seed);
    setting.plan.lengths = Lengths::fixed(length, 2);
    let watched = setting
        .hosts
        .watched(&setting.trial(0), SentFrames::default());
    let (taken, recorder) = watched.expect("NAGLE is a policy of the engine's");
    let is_request =
        |(side, frame): &(Side, MediumFrame)| *side == Side::Client && frame.segment.len > 0;
    let last = recorder.sent.iter().rposition(is_request).unwrap_or(0);
    let of_server = recorder.sent[last..]
        .iter()
        .filter(|(side, _)| *side == Side::Server);
    let lens = of_server
        .map(|(_, frame)| frame.segment.len)
        .filter(|len| *len > 0);
    let took = taken
        .samples
        .last()
        .expect("transfers were measured")
        .elapsed;
    (lens.collect(), took > Duration::from_millis(20))
}

fn trace(title: &str, transfer: Transfer) -> Trace {
    Trace {
        title: title.into(),
        hosts: ["client", "server"],
        sent: transfer.sent,
    }
}

fn assumed(name: &'static str, value: &str, why: &'static str) -> Parameter {
    Parameter {
        name,
        value: value.into(),
        origin: Origin::Assumed(why),
    }
}

fn measure(what: &str) -> Vec<(&'static str, PaperValue)> {
    vec![("measure", PaperValue::Text(what.into()))]
}
