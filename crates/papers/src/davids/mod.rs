//! Davids, "TCP: either fast or efficient": 500 octets in 50 small writes, under Nagle's rule with
//! a limit and under delayed ACKs. Seven traces, with their cost in octets and in time.
//!
//! [`trace::Parameters`] makes a trace with any other numbers; [`published`] has the numbers of the
//! article's text.
//!
//! ```
//! use tinygram_engine::Duration;
//! use tinygram_papers::davids::trace::{AckClock, Parameters};
//!
//! // Trace 1 with a limit of 100 octets and a timer of 50 ms that starts with the packet.
//! let parameters = Parameters {
//!     naglim: 100,
//!     ack_clock: AckClock::PerConnection(Duration::from_millis(50)),
//!     ..Parameters::SLOW
//! };
//! let trace = parameters.run();
//! println!("{} packets, {:.0} ms", trace.packets(), trace.sending_ms());
//! # assert!(trace.sending_ms() < 550.0);
//! ```

pub mod published;
mod sweep;
pub mod trace;

use tinygram_engine::Duration;

use crate::Experiment;
use crate::experiment::{
    Class, Effort, Layout, Origin, Outcome, Paper, Parameter, Row, Status, Trace,
};
use crate::standard::Standard;
use crate::value::{PaperValue, Tolerance};
use published::{Published, TRACES};
use trace::{ACK_OVERHEAD, AckClock, DATA_OVERHEAD, Measured, Parameters};

/// Its experiments.
pub const EXPERIMENTS: &[Experiment] = &[Experiment {
    id: "davids-traces",
    paper: Paper::Davids,
    title: "packets, overhead and delay of 50 writes of 10 octets: traces 1 to 7 and their summary",
    source: "Figures 1 to 7 and Table 1, as far as the text quotes them",
    run,
}];

/// The precision to which the article rounds.
const WHOLE_PERCENT: f64 = 0.5;
/// The tolerance of times, given the phase, in ms.
const TIME_MS: f64 = 1.0;

fn run(_: &Effort) -> Outcome {
    let measured: Vec<_> = TRACES
        .iter()
        .map(|trace| (trace, trace.parameters.run()))
        .collect();
    let rows = |(published, measured): &(&Published, Measured)| rows(published, measured);
    Outcome {
        rules: vec![
            "Data is held while anything is unacknowledged and less than min(MSS, tcp_naglim_def) \
             has come together. Then all of it is sent (\"Nagle for the Sys Admin\").",
            "TCP_NODELAY sets this limit to 1 (the same section).",
            "A delayed ACK leaves at the next tick of a clock that runs freely: trace 1 waits 54 \
             ms once and then 200 ms each time.",
            "Every second full-sized segment would be acknowledged at once, but no trace has \
             full-sized segments (\"Delayed Acknowledgement\").",
        ],
        parameters: parameters(),
        rows: measured.iter().flat_map(rows).collect(),
        layout: Layout::Grid {
            down: &["trace"],
            across: &["measure"],
        },
        plots: sweep::plots(),
        traces: measured.iter().map(as_trace).collect(),
        notes: notes(),
    }
}

/// Returns the article's values of a trace beside the reproduced ones. If the article has no value,
/// the reproduced one is a prediction.
///
/// Four of the ticks' phases are fitted. So a value is a match by rules alone only if it is the
/// same at every phase.
fn rows(published: &Published, measured: &Measured) -> Vec<Row> {
    let mut rows = compared(published, measured);
    let at_others: Vec<Vec<Row>> = sweep::over_phases(&published.parameters, PHASES)
        .iter()
        .map(|other| compared(published, other))
        .collect();
    for (at, row) in rows.iter_mut().enumerate() {
        let agrees = |others: &Vec<Row>| others[at].status() == Status::Fitted;
        if row.class == Class::Fitted && at_others.iter().all(agrees) {
            row.class = Class::Rules;
        }
    }
    rows
}

/// The number of phases at which a value is tried; for a tick of 200 ms, one per millisecond.
const PHASES: u32 = 200;

/// Returns the article's values of a trace beside those of one of its runs.
fn compared(published: &Published, measured: &Measured) -> Vec<Row> {
    let row =
        |measure: &str, paper: Option<PaperValue>, ours: PaperValue, tolerance: Tolerance| Row {
            cell: vec![
                ("trace", PaperValue::Count(published.trace.into())),
                ("measure", PaperValue::Text(measure.into())),
            ],
            class: paper
                .as_ref()
                .map_or(Class::NotPublished, |_| Class::Fitted),
            standard: paper.map(Standard::printed),
            reproduced: ours,
            tolerance,
        };
    let count = |measure: &str, paper: Option<u64>, ours: u64| {
        let paper = paper.map(PaperValue::Count);
        row(measure, paper, PaperValue::Count(ours), Tolerance::Exact)
    };
    let number = |measure: &str, paper: Option<f64>, ours: f64, within: f64| {
        let paper = paper.map(|paper| PaperValue::Number(paper, 0));
        row(measure, paper, tenths(ours), Tolerance::Within(within))
    };
    let generating_ms = published.parameters.generating.as_millis_f64();
    let delay_points = TIME_MS / generating_ms * 100.0 + WHOLE_PERCENT;
    let (data, total) = (measured.data_overhead(), measured.total_overhead());
    let octets = |paper: Option<(u64, f64)>| paper.map(|(octets, _)| octets);
    let percent = |paper: Option<(u64, f64)>| paper.map(|(_, percent)| percent);
    let (paper_data, paper_total) = (published.data_overhead, published.total_overhead);
    vec![
        count("data", published.data, measured.data.len() as u64),
        count("ACKs", published.acks, measured.acks.len() as u64),
        count("packets", published.packets, measured.packets()),
        count("overhead [B]", octets(paper_data), data),
        number(
            "overhead [%]",
            percent(paper_data),
            measured.percent_of_data(data),
            WHOLE_PERCENT,
        ),
        count("with ACKs [B]", octets(paper_total), total),
        number(
            "with ACKs [%]",
            percent(paper_total),
            measured.percent_of_data(total),
            WHOLE_PERCENT,
        ),
        number(
            "sending [ms]",
            published.sending_ms,
            measured.sending_ms(),
            TIME_MS,
        ),
        number(
            "delay [%]",
            published.delay_percent,
            measured.delay_percent(),
            delay_points,
        ),
    ]
}

/// Returns the number with one decimal.
fn tenths(number: f64) -> PaperValue {
    PaperValue::Number(number, 1)
}

fn parameters() -> Vec<Parameter> {
    let slow = Parameters::SLOW;
    let said = [
        (
            "writes",
            format!("{} of {} B", slow.writes, slow.write),
            "traces 1 and 2",
        ),
        (
            "time to generate them",
            format!("{}, or {}", slow.generating, Parameters::FAST.generating),
            "traces 1 and 2",
        ),
        ("MSS", format!("{} B", trace::MSS), "The Nagle Algorithm"),
        (
            "overhead of a data packet",
            format!("{DATA_OVERHEAD} B"),
            "The Nagle Algorithm",
        ),
        (
            "overhead of an ACK",
            format!("{ACK_OVERHEAD} B"),
            "The Nagle Algorithm",
        ),
        (
            "delayed-ACK timer",
            "200 ms; 50 ms in traces 6 and 7".into(),
            "Delayed Acknowledgement",
        ),
        (
            "tcp_naglim_def",
            "the MSS; 30 B in trace 5".into(),
            "Nagle for the Sys Admin",
        ),
    ];
    let said = said.map(|(name, value, source)| Parameter {
        name,
        value,
        origin: Origin::Paper(source),
    });
    let link = Parameter {
        name: "link",
        value: format!("{} Mbit/s Ethernet", trace::BITS_PER_SECOND / 1_000_000),
        origin: Origin::Assumed(
            "the article gives no rate; a faster link changes no time by more \
                                 than 0.1 ms",
        ),
    };
    let phases = TRACES.iter().filter_map(phase);
    said.into_iter().chain([link]).chain(phases).collect()
}

/// Returns the time of the server's tick in a trace, if it ticks.
fn phase(published: &Published) -> Option<Parameter> {
    let AckClock::Cyclic { phase, .. } = published.parameters.ack_clock else {
        return None;
    };
    Some(Parameter {
        name: "server's next tick",
        value: format!("trace {}: {phase} after the first write", published.trace),
        origin: published.phase,
    })
}

fn as_trace((published, measured): &(&Published, Measured)) -> Trace {
    Trace {
        title: format!("Trace {}: {}", published.trace, published.what),
        hosts: ["client", "server"],
        sent: measured.sent.clone(),
    }
}

fn notes() -> Vec<String> {
    let of = |trace: usize| TRACES[trace - 1].parameters;
    let timer = Parameters {
        ack_clock: AckClock::PerConnection(Duration::from_millis(200)),
        ..of(1)
    };
    let timed = timer.run();
    let fifth = sweep::over_phases(&of(5), 200);
    let alike = fifth.iter().filter(|run| run.packets() == 21).count();
    let data = |trace: usize, phases: u32| {
        let counts = sweep::over_phases(&of(trace), phases);
        let counts = counts.iter().map(|run| run.data.len());
        let (least, most) = (counts.clone().min(), counts.max());
        format!("{} to {}", least.unwrap_or(0), most.unwrap_or(0))
    };
    let longest = fifth.iter().map(Measured::sending_ms).fold(0.0, f64::max);
    vec![
        "The article's text does not include its figures and its Table 1, a summary. The grid of \
         this experiment has the form of that table. Values that the text does not quote are \
         shown as predictions."
            .into(),
        format!(
            "If a timer of 200 ms started with the packet, as in other stacks, trace 1 would have \
             {} data packets and {:.0} ms. So the server's clock runs freely.",
            timed.data.len(),
            timed.sending_ms()
        ),
        format!(
            "Trace 5's 21 packets are 18 with data and 3 ACKs; {alike} of 200 phases of the \
             server's tick give this number. That the limit \"does not lengthen the sending \
             time\" was luck: at other phases the last octets wait for a tick and leave up to \
             {longest:.0} ms after the first."
        ),
        format!(
            "Over all phases, the prediction is {} data packets in trace 6 and {} in trace 7.",
            data(6, 50),
            data(7, 50)
        ),
    ]
}
