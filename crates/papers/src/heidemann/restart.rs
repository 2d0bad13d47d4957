//! What each rule does with an open window after the user has read for a while (section 2.4):
//! latency and bursts over a wide-area path.

use tinygram_engine::receiver::ack_policy::AckTimer;
use tinygram_engine::sender::congestion::restart::{IdleAfter, IdleRestart};
use tinygram_engine::{Duration, Instant};
use tinygram_sim::medium::{Medium, MediumFrame, PointToPoint, Side, Wire};
use tinygram_sim::observer;

use super::hosts::{self, Fixes, Over, PACE};
use super::transaction::{Setting, fetched};
use crate::experiment::{
    Class, Effort, Layout, Origin, Outcome, Parameter, Plot, PlotMark, PlotSeries, Row,
};
use crate::value::{PaperValue, Tolerance};

/// "1Mb/sec bandwidth at 90ms latency" (section 2.5).
const BITS_PER_SECOND: u64 = 1_000_000;
const ONE_WAY: Duration = Duration::from_millis(45);
/// "512B or 536B" (section 2.2).
const MSS: u16 = 536;
/// "A 12KB or larger buffer" (section 2.5), in octets.
const WINDOW: u64 = 12_288;
/// The octets of IP's and TCP's headers.
const OVERHEAD: u64 = 40;
/// The first document, which opens the window, in octets.
const FIRST: u64 = 65_536;
/// The second document, which is measured: with its headers it fills the window.
const SECOND: u64 = WINDOW - hosts::HEADERS;
/// The segments that the small router can hold.
const SMALL_QUEUE: u64 = 12;
/// The number of lengths in which each pause is tried; they differ by less than a tick.
const LENGTHS: u64 = 20;
/// How long the user reads: more than a round trip and less than a timeout; several timeouts; many
/// timeouts.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(400),
    Duration::from_millis(2500),
    Duration::from_secs(30),
];

/// The rules.
const WAYS: [(&str, IdleRestart); 7] = [
    ("none (SunOS 4.x)", IdleRestart::None),
    (
        "one segment (4.4BSD)",
        IdleRestart::OneSegment(IdleAfter::TimeOut),
    ),
    (
        "one segment after an RTT (Stevens)",
        IdleRestart::OneSegment(IdleAfter::RoundTrip),
    ),
    (
        "one segment after silence (4.4BSD's code)",
        IdleRestart::OneSegment(IdleAfter::Silence),
    ),
    ("initial window (RFC 5681)", IdleRestart::Reset),
    ("decay (RFC 2861)", IdleRestart::Decay),
    ("rate-based pacing", IdleRestart::Paced),
];

/// The path, and what limits a flight on it.
struct Path {
    /// The socket buffers, in octets.
    window: u64,
    /// The segments that the router can hold; `None` for no limit.
    queue: Option<u64>,
    seed: u64,
}

/// The second document in one run.
struct Restarted {
    latency: Duration,
    /// The longest queue before the wire.
    longest_queue: Duration,
    lost: u64,
    /// The server's data, with the time since the request was wanted.
    sent: Vec<(f64, f64)>,
}

/// Compares all rules at all pauses.
pub(super) fn compare(effort: &Effort) -> Outcome {
    let mut rows = Vec::new();
    for (name, rule) in WAYS {
        for pause in PAUSES {
            rows.extend(measure(name, rule, pause, effort.seed));
        }
    }
    Outcome {
        rules: vec![
            "None: the window does not change (SunOS 4.x, section 2.4).",
            "One segment: \"if at any time all data sent has been acknowledged and nothing has been sent for one retransmission time-out period, then it reinitializes the congestion window to 1 segment\" (section 2.4).",
            "One segment after an RTT: the same, if nothing was sent or acknowledged for a round \
             trip (Stevens, as cited in section 2.4).",
            "One segment after silence: the same, if nothing was received for a time-out; this is \
             what 4.4BSD's tcp_output tests (RFC 5681, section 4.1).",
            "Initial window: the window becomes that of a new connection, here two segments (RFC \
             5681, section 4.1).",
            "Decay: the window is halved for each time-out that passed (section 2.4; RFC 2861).",
            "Rate-based pacing: the window does not change, and its first flight is spread over a \
             round trip; the first ACK ends the pacing (section 2.4).",
            "The client acknowledges as in the other experiments, and the server has both fixes.",
        ],
        parameters: parameters(),
        rows,
        layout: Layout::Grid {
            down: &["rule", "pause"],
            across: &["measure"],
        },
        plots: vec![plot(effort.seed)],
        notes: notes(effort.seed),
        ..Outcome::default()
    }
}

fn notes(seed: u64) -> Vec<String> {
    let wider = Path {
        window: hosts::WINDOW,
        queue: None,
        seed,
    };
    let paced = longest(&wider.restarts(IdleRestart::Paced, PAUSES[1]));
    vec![
        format!(
            "The first ACK ends the pacing, and the rest of the flight leaves at once. A window \
             of {} octets is more than the path holds, so the measured round trip includes the \
             connection's own queue. Then the first ACK comes before the flight is over, and the \
             burst has {paced} segments.",
            hosts::WINDOW
        ),
        "The paper gives no numbers: \"we have not yet experimentally verified that this behavior \
         occurs\"."
            .into(),
        "Section 2.4 paces n packets in time t \"one every n/t seconds\"; the interval should be \
         t/n."
            .into(),
        "Section 2.4 says that 4.4BSD resets its window after an idle time. 4.4BSD's code counts \
         the idle time from the last segment received, and the request is such a segment. So a \
         server that answers never restarts and sends the whole window as a burst."
            .into(),
        "A restart from one segment also waits for the client's delayed ACK of that segment, on \
         average for half a tick."
            .into(),
    ]
}

fn parameters() -> Vec<Parameter> {
    let of = |name, value: String, origin| Parameter {
        name,
        value,
        origin,
    };
    let mut parameters = vec![
        of(
            "path",
            format!(
                "{} Mbit/s, {} ms there and back",
                BITS_PER_SECOND / 1_000_000,
                2.0 * hosts::millis(ONE_WAY)
            ),
            Origin::Paper("section 2.5"),
        ),
        of(
            "socket buffers and window",
            format!("{WINDOW} octets"),
            Origin::Paper("section 2.5"),
        ),
        of(
            "MSS on this path",
            format!("{MSS} octets"),
            Origin::Paper("section 2.2"),
        ),
        of(
            "documents on this path",
            format!("{FIRST} octets, which open the window, and {SECOND}"),
            Origin::Assumed("the second one with its headers is a whole window"),
        ),
        of(
            "small queue",
            format!("{SMALL_QUEUE} segments of {MSS} octets"),
            Origin::Assumed("half a window, which is enough for the segments that ACKs clock out"),
        ),
        of(
            "retransmission time-out",
            "at least 1 s".into(),
            Origin::Assumed("two ticks of BSD's slow timer"),
        ),
        of(
            "phases of the client's tick",
            format!(
                "{LENGTHS}, evenly spread; latencies are means over them, bursts are the \
                     largest"
            ),
            Origin::Assumed("the time of a delayed ACK depends on the phase"),
        ),
    ];
    // Parameters of the Ethernet experiments that apply here as well.
    let also = ["headers", "Apache's buffer"];
    let own = hosts::parameters().into_iter();
    parameters.extend(own.filter(|parameter| also.contains(&parameter.name)));
    parameters
}

fn measure(name: &str, rule: IdleRestart, pause: Duration, seed: u64) -> [Row; 4] {
    let path = |queue| Path {
        window: WINDOW,
        queue,
        seed,
    };
    let wide = path(None).restarts(rule, pause);
    let narrow = path(Some(SMALL_QUEUE)).restarts(rule, pause);
    let mean = |runs: &[Restarted], of: fn(&Restarted) -> f64| {
        runs.iter().map(of).sum::<f64>() / runs.len() as f64
    };
    let row = |measure: &str, reproduced| Row {
        cell: vec![
            ("rule", PaperValue::Text(name.into())),
            (
                "pause",
                PaperValue::Text(format!("{} s", hosts::millis(pause) / 1e3)),
            ),
            ("measure", PaperValue::Text(measure.into())),
        ],
        standard: None,
        reproduced,
        tolerance: Tolerance::Unbounded,
        class: Class::NotPublished,
    };
    let latency = |run: &Restarted| hosts::millis(run.latency);
    [
        row("latency [ms]", PaperValue::Number(mean(&wide, latency), 0)),
        row("burst [segments]", PaperValue::Count(longest(&wide))),
        row(
            "segments lost at a small queue",
            PaperValue::Number(mean(&narrow, |run| run.lost as f64), 1),
        ),
        row(
            "latency with a small queue [ms]",
            PaperValue::Number(mean(&narrow, latency), 0),
        ),
    ]
}

/// Returns the most segments that waited before the wire in any of these runs.
fn longest(runs: &[Restarted]) -> u64 {
    let longest = runs.iter().map(|run| run.longest_queue).max();
    segments(longest.unwrap_or_default())
}

impl Path {
    /// Returns a run for each length of the pause; the client's tick falls differently each time.
    fn restarts(&self, rule: IdleRestart, pause: Duration) -> Vec<Restarted> {
        let lengths =
            (0..LENGTHS).map(|n| Duration::from_nanos(n * AckTimer::BSD_TICK.as_nanos() / LENGTHS));
        lengths
            .map(|longer| self.restart(rule, pause + longer))
            .collect()
    }

    /// Makes one run: the first document, the pause, the second document.
    fn restart(&self, rule: IdleRestart, pause: Duration) -> Restarted {
        let mut second = hosts::document(58, SECOND);
        second.pause = pause;
        let documents = vec![hosts::document(52, FIRST), second];
        let ticks = [Duration::ZERO; 2];
        let lan = hosts::setting(documents, Over::PHttp, Fixes::BOTH, PACE, ticks, self.seed);
        let mut ends = ticks.map(|first| hosts::end(MSS, first));
        for end in &mut ends {
            end.sender.buffer = self.window;
            end.sender.idle_restart = rule;
            end.receiver.buffer = self.window;
        }
        let queue = self
            .queue
            .map(|segments| segments * (u64::from(MSS) + OVERHEAD));
        let mut world = lan.world;
        world.medium =
            Medium::PointToPoint(PointToPoint::with_queue(wire(), queue.unwrap_or(u64::MAX)));
        let plan = lan.plan;
        let done = Setting { plan, world, ends }.watched(observer::SentFrames::default());
        let asked = fetched(&done)[1];
        let of_the_second = |(from, frame): &&(Side, MediumFrame)| {
            *from == Side::Server && frame.segment.len > 0 && frame.at >= asked.began
        };
        let sent = done.observer().sent.iter().filter(of_the_second);
        let data: Vec<_> = sent.map(|(_, frame)| *frame).collect();
        Restarted {
            latency: asked.ended.since(asked.began),
            longest_queue: longest_queue(&data),
            lost: done.frames_lost(),
            sent: points(&data, asked.began),
        }
    }
}

fn wire() -> Wire {
    Wire::new(BITS_PER_SECOND, OVERHEAD, OVERHEAD, ONE_WAY)
}

/// Returns the longest time that the queue before the wire would take, the segment just arrived
/// included.
fn longest_queue(data: &[MediumFrame]) -> Duration {
    let wire = wire();
    let mut free_at = Instant::ZERO;
    let mut longest = Duration::ZERO;
    for frame in data {
        free_at = free_at.max(frame.at) + wire.occupies(frame.segment.len);
        longest = longest.max(free_at.since(frame.at));
    }
    longest
}

/// Returns the number of full segments that take this time, rounded up.
fn segments(queue: Duration) -> u64 {
    queue
        .as_nanos()
        .div_ceil(wire().occupies(u32::from(MSS)).as_nanos())
}

fn points(data: &[MediumFrame], zero: Instant) -> Vec<(f64, f64)> {
    let Some(first) = data.first() else {
        return Vec::new();
    };
    let start = first.segment.seq.get();
    let point = |frame: &MediumFrame| {
        let end = frame.segment.data().end.get() - start;
        (frame.at.since(zero).as_nanos() as f64 / 1e9, end as f64)
    };
    data.iter().map(point).collect()
}

/// Returns a plot of how each rule sends the second document, after the middle pause.
fn plot(seed: u64) -> Plot {
    let shown = [0, 1, 5, 6].map(|way| WAYS[way]);
    let path = Path {
        window: WINDOW,
        queue: None,
        seed,
    };
    let series = shown.map(|(name, rule)| PlotSeries {
        name: name.into(),
        mark: PlotMark::Steps,
        points: std::iter::once((0.0, 0.0))
            .chain(path.restart(rule, PAUSES[1]).sent)
            .collect(),
    });
    Plot {
        title: format!(
            "The second document after {} s: data as it leaves the server",
            hosts::millis(PAUSES[1]) / 1e3
        ),
        x: "time since the request [s]",
        y: "octets of the answer",
        series: series.into(),
    }
}
