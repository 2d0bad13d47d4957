//! Sizes of documents that stall, which a reader of sections 2.2 and 2.3 would ask about next.

use tinygram_engine::Duration;
use tinygram_engine::receiver::ack_policy::AckTimer;

use super::hosts::{self, Fixes, HEADERS, MSS, Over, PACE};
use super::transaction::Problem;
use crate::experiment::{Class, Effort, Layout, Outcome, Plot, PlotMark, PlotSeries, Row};
use crate::value::{PaperValue, Tolerance};

/// The largest document, in octets; the next constant is the step between sizes.
const LARGEST: u64 = 16_384;
const STEP: u64 = 32;

/// The size of the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Window {
    /// 2 MSS: for the connection's first document.
    Fresh,
    /// As large as the client's window: for a later document.
    Open,
}

/// The sizes that stall.
struct Stalling {
    fixes: Fixes,
    window: Window,
    /// Each size, with its problems in order.
    sizes: Vec<(u64, Vec<Problem>)>,
}

/// Runs the sweep.
pub(super) fn sweep(effort: &Effort) -> Outcome {
    let stalling: Vec<_> = Fixes::ALL
        .into_iter()
        .flat_map(|fixes| [Window::Fresh, Window::Open].map(|window| (fixes, window)))
        .map(|(fixes, window)| Stalling::measure(fixes, window, effort.seed))
        .collect();
    let mut parameters = hosts::parameters();
    parameters.push(crate::experiment::Parameter {
        name: "documents in this experiment",
        value: format!(
            "{STEP} to {LARGEST} octets in steps of {STEP}, each over its own \
                        connection"
        ),
        origin: crate::experiment::Origin::Assumed("the paper has three sizes"),
    });
    Outcome {
        rules: hosts::RULES.to_vec(),
        parameters,
        rows: stalling.iter().flat_map(Stalling::rows).collect(),
        layout: Layout::Grid {
            down: &["fixes", "document"],
            across: &["measure"],
        },
        plots: plots(&stalling).into(),
        notes: vec![
            "If the headers are written apart and Nagle's algorithm is on, every first document \
             stalls. A small document is itself the small segment that waits behind the headers. \
             A large document meets the initial window (section 2.2). Many documents meet both \
             problems, one after the other."
                .into(),
            "If the headers are in the data and the window is open, documents stall from the size \
             at which the answer exceeds a chunk of 4096 octets, which leaves an odd segment, to \
             the size at which the following data makes the client acknowledge. The same repeats \
             with every two further segments."
                .into(),
            "With Nagle's algorithm off, only the stalls of the initial window remain.".into(),
            "Here the client's delayed ACKs wait 200 ms, counted from the segment, so that no \
             tick of a clock shortens a stall by chance."
                .into(),
        ],
        ..Outcome::default()
    }
}

impl Stalling {
    fn measure(fixes: Fixes, window: Window, seed: u64) -> Self {
        let sizes = (STEP..=LARGEST).step_by(STEP as usize);
        let stalls = |size| (size, problems(fixes, window, size, seed));
        Self {
            fixes,
            window,
            sizes: sizes.map(stalls).collect(),
        }
    }

    fn rows(&self) -> [Row; 3] {
        let all = self.sizes.len() as f64;
        let share = |wanted: fn(&[Problem]) -> bool| {
            let stalling = self.sizes.iter().filter(|(_, problems)| wanted(problems));
            100.0 * stalling.count() as f64 / all
        };
        let row = |measure: &str, reproduced| Row {
            cell: vec![
                ("fixes", PaperValue::Text(self.fixes.name().into())),
                ("document", PaperValue::Text(self.window.name().into())),
                ("measure", PaperValue::Text(measure.into())),
            ],
            standard: None,
            reproduced,
            tolerance: Tolerance::Unbounded,
            class: Class::NotPublished,
        };
        [
            row(
                "sizes that stall [%]",
                PaperValue::Number(share(|problems| !problems.is_empty()), 1),
            ),
            row(
                "sizes that stall twice [%]",
                PaperValue::Number(share(|problems| problems.len() > 1), 1),
            ),
            row(
                "ranges of sizes that stall",
                PaperValue::Text(self.ranges()),
            ),
        ]
    }

    /// Returns the sizes with a problem, as row number `row` of a picture.
    fn row(&self, problem: Problem, row: u8) -> PlotSeries {
        let sizes = self.sizes.iter();
        let met = sizes.filter(|(_, problems)| problems.contains(&problem));
        let points: Vec<_> = met
            .map(|(size, _)| (*size as f64, f64::from(row)))
            .collect();
        let percent = 100.0 * points.len() as f64 / self.sizes.len() as f64;
        PlotSeries {
            name: format!(
                "fixes: {}; {}: {percent:.0} % of the sizes",
                self.fixes.name(),
                self.window.name()
            ),
            mark: PlotMark::Row,
            points,
        }
    }

    /// Returns the ranges of sizes that stall, their ends included.
    fn ranges(&self) -> String {
        let runs = self
            .sizes
            .chunk_by(|(_, one), (_, next)| one.is_empty() == next.is_empty());
        let stalling = runs.filter(|run| !run[0].1.is_empty());
        let texts: Vec<_> = stalling
            .map(|run| format!("{}-{}", run[0].0, run[run.len() - 1].0))
            .collect();
        if texts.is_empty() {
            "none".into()
        } else {
            texts.join(", ")
        }
    }
}

/// Returns the stalls of a document of `size` octets.
fn problems(fixes: Fixes, window: Window, size: u64, seed: u64) -> Vec<Problem> {
    let documents = vec![hosts::document(52, size)];
    let never = [Duration::ZERO; 2];
    let mut setting = hosts::setting(documents, Over::PHttp, fixes, PACE, never, seed);
    let [client, server] = &mut setting.ends;
    client.receiver.timer = AckTimer::PerConnection(AckTimer::BSD_TICK);
    if window == Window::Open {
        server.sender.initial_cwnd = hosts::WINDOW;
    }
    let done = setting.run();
    let stalls = done.stalls(MSS).into_iter();
    stalls.map(|stall| stall.problem).collect()
}

/// Returns a picture for each problem: a row for each server and window, with a stroke where a size
/// stalls.
fn plots(stalling: &[Stalling]) -> [Plot; 2] {
    let plot = |name: &str, problem| Plot {
        title: format!("Documents that meet {name}, behind headers of {HEADERS} octets"),
        x: "size of the document [octets]",
        y: "fixes and document",
        series: stalling
            .iter()
            .zip(1..)
            .map(|(line, row)| line.row(problem, row))
            .collect(),
    };
    [
        plot(
            "the short initial segment (2.2)",
            Problem::ShortInitialSegment,
        ),
        plot("the short final segment (2.3)", Problem::ShortFinalSegment),
    ]
}

impl Window {
    const fn name(self) -> &'static str {
        match self {
            Self::Fresh => "first document",
            Self::Open => "later one",
        }
    }
}
