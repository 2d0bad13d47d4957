//! Section 9's two examples: a sender's buffer below two segments, and the message of 12,289 octets
//! that is delayed when the receiver infers the sender's buffer.

use tinygram_naglemark::{Lengths, MediumKind, Sample};
use tinygram_sim::medium::{MediumFrame, Side};
use tinygram_sim::observer::SentFrames;

use super::stalled::Setting;
use crate::experiment::{Class, Effort, Origin, Outcome, Parameter, Row, Trace};
use crate::standard::Standard;
use crate::value::{PaperValue, Tolerance};

/// "When app_buf_size = 4096 and msglength = 12289 = app_buf_size * 3 + 1, on FDDI".
const LENGTH: u32 = 12_289;
const APP_BUFFER: u64 = 4_096;
/// "On an FDDI network, using 8192-byte buffers".
const SMALL_BUFFER: u64 = 8_192;
const BULK: u32 = 4_312_000;
/// Enough transfers for the connection's start to be over.
const TRANSFERS: u32 = 5;

pub(super) fn run(effort: &Effort) -> Outcome {
    let [plain, inferred] = [false, true].map(|infer| exchange(infer, effort.seed));
    let rows = vec![
        Row {
            cell: measure("buffers of 8192 octets on FDDI: throughput (octets/s)"),
            standard: Some(Standard::printed(PaperValue::Number(21_560.0, 0))),
            reproduced: PaperValue::Number(throughput(effort.seed), 0),
            tolerance: Tolerance::Share(0.01),
            class: Class::KnownMismatch(
                "the paper computes one segment of 4312 octets for each tick of 200 ms; by BSD's \
                 rules the short rest of an 8192-octet send buffer leaves with that segment, or, \
                 if the receive buffer is that small, the receiver acknowledges once it can offer \
                 half of it again",
            ),
        },
        sizes("12,289 octets, MSMV: segments", &plain),
        delayed("12,289 octets, MSMV: delayed", &plain, "no"),
        sizes("12,289 octets, MSMV, inferring: segments", &inferred),
        delayed("12,289 octets, MSMV, inferring: delayed", &inferred, "yes"),
    ];
    Outcome {
        rules: vec![
            "If the buffer is below two segments, the receiver never gets two full segments and \
             waits for its clock of 200 ms each time (section 9).",
            "MSMV sends a short segment at once unless the previous one was short (section 5.2).",
            "With inference, the receiver acknowledges if the largest unacknowledged amount that \
             it has seen is at least an MSS and the acknowledgment would advance the window by \
             half of that amount (section 9).",
        ],
        parameters: vec![Parameter {
            name: "bulk transfer",
            value: "1000 segments of 4312 octets".into(),
            origin: Origin::Assumed("so long that the time of the first tick does not matter"),
        }],
        rows,
        traces: vec![
            trace(
                "12,289 octets with MSMV: the client acknowledges at once, and nothing waits",
                plain,
            ),
            trace(
                "The same with inference: the client acknowledges the second segment at once and \
                 the third at a tick of its clock; the last octet waits for that ACK",
                inferred,
            ),
        ],
        ..Outcome::default()
    }
}

/// One exchange: the segments sent, and how long it took.
struct Exchange {
    sent: Vec<(Side, MediumFrame)>,
    sample: Sample,
}

/// Returns the last exchange of a short trial.
fn exchange(infer: bool, seed: u64) -> Exchange {
    let mut setting = Setting::new(MediumKind::Fddi, "MSMV", (APP_BUFFER, 64 << 10), seed);
    setting.plan.lengths = Lengths::fixed(LENGTH, TRANSFERS);
    setting.hosts.infer = infer;
    let watched = setting
        .hosts
        .watched(&setting.trial(0), SentFrames::default());
    let (taken, recorder) = watched.expect("MSMV is a policy of the engine's");
    let is_request =
        |(side, frame): &(Side, MediumFrame)| *side == Side::Client && frame.segment.len > 0;
    let last = recorder.sent.iter().rposition(is_request).unwrap_or(0);
    Exchange {
        sent: recorder.sent[last..].to_vec(),
        sample: *taken.samples.last().expect("transfers were measured"),
    }
}

/// Returns the throughput of a long transfer through a small send buffer, in octets per second.
fn throughput(seed: u64) -> f64 {
    let mut bulk = Setting::new(MediumKind::Fddi, "NAGLE", (64 << 10, SMALL_BUFFER), seed);
    bulk.plan.lengths = Lengths::fixed(BULK, 1);
    let sample = bulk.run(0).samples[0];
    f64::from(sample.length) / (sample.elapsed.as_nanos() as f64 / 1e9)
}

fn sizes(what: &str, exchange: &Exchange) -> Row {
    let data = exchange
        .sent
        .iter()
        .filter(|(side, _)| *side == Side::Server);
    let sizes = data
        .map(|(_, frame)| frame.segment.len)
        .filter(|len| *len > 0);
    let sizes: Vec<String> = sizes.map(|len| len.to_string()).collect();
    Row {
        cell: measure(what),
        standard: Some(Standard::printed(PaperValue::Text(
            "4096, 4312, 3880, 1".into(),
        ))),
        reproduced: PaperValue::Text(sizes.join(", ")),
        tolerance: Tolerance::Exact,
        class: Class::Fitted,
    }
}

/// Returns whether the exchange took longer than any undelayed one of that length.
fn delayed(what: &str, exchange: &Exchange, published: &str) -> Row {
    let is_delayed = exchange.sample.elapsed.as_nanos() > 20_000_000;
    Row {
        cell: measure(what),
        standard: Some(Standard::printed(PaperValue::Text(published.into()))),
        reproduced: PaperValue::Text(if is_delayed { "yes" } else { "no" }.into()),
        tolerance: Tolerance::Exact,
        class: Class::Fitted,
    }
}

fn trace(title: &str, exchange: Exchange) -> Trace {
    Trace {
        title: title.into(),
        hosts: ["client", "server"],
        sent: exchange.sent,
    }
}

fn measure(what: &str) -> Vec<(&'static str, PaperValue)> {
    vec![("measure", PaperValue::Text(what.into()))]
}
