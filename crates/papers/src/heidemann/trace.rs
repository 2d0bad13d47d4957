//! Figures 2 and 4, line by line, and the sequence-number plots of Figures 1 and 3.

use tinygram_engine::receiver::ack_policy::AckTimer;
use tinygram_engine::{Duration, Flags, Instant};
use tinygram_sim::medium::{MediumFrame, Side};
use tinygram_sim::workload::http::Document;

use super::hosts::{self, Fixes, HEADERS, Over, PACE, Pace};
use super::published::{FIGURE_2, FIGURE_4, Line};
use super::transaction::Transaction;
use crate::experiment::{
    Class, Effort, Layout, Origin, Outcome, Parameter, Plot, PlotMark, PlotSeries, Row, Trace,
};
use crate::standard::Standard;
use crate::value::{PaperValue, Tolerance};

/// How far a time may be from the figure's, given the clocks' phases and the server's time: the
/// hosts' costs, in ms.
const TIMES: Tolerance = Tolerance::Within(1.0);

/// The number of phases of each host's tick at which a figure is run.
const PHASES: u64 = 8;

/// A figure to be reproduced.
struct Figure {
    lines: &'static [Line],
    /// Selects the frame that is the figure's first line.
    begins: fn(&MediumFrame) -> bool,
    documents: Vec<Document>,
    fixes: Fixes,
    /// The server's time to begin with a request.
    service: Duration,
    seed: u64,
    /// The ticks of each host, counted from the first line.
    ticks: [Duration; 2],
    title: &'static str,
    plot: &'static str,
    /// The pause that the figure points out, and the lines around it, from 0.
    pause: (&'static str, [usize; 2]),
}

/// Runs Figures 1 and 2.
pub(super) fn figure_2(effort: &Effort) -> Outcome {
    let service = Duration::from_micros(1350);
    let figure = Figure {
        lines: &FIGURE_2,
        begins: |frame| frame.segment.flags.has(Flags::SYN),
        documents: hosts::page()[..1].to_vec(),
        fixes: Fixes::NONE,
        service,
        seed: effort.seed,
        ticks: [Duration::from_micros(189_050), Duration::from_millis(150)],
        title: "Figure 2: the short initial segment",
        plot: "Figure 1: the short initial segment",
        pause: ("from line 6 to line 8, `delta_time` [ms]", [5, 7]),
    };
    let mut outcome = figure.play();
    outcome.parameters = parameters(&figure);
    outcome.notes = vec![
        "The figure ends with line 9. The exchange continues with 4607:6067, the third segment \
         for which the window of 3 MSS has room. Its ACK waits for the next tick, so the document \
         stalls a second time."
            .into(),
    ];
    outcome
}

/// Runs Figures 3 and 4.
pub(super) fn figure_4(effort: &Effort) -> Outcome {
    let service = Duration::from_micros(7_300);
    let mut documents = hosts::page()[..2].to_vec();
    documents[0].body = FIRST_ANSWER - HEADERS;
    let figure = Figure {
        lines: &FIGURE_4,
        begins: |frame| frame.segment.len == 58,
        documents,
        fixes: Fixes::FIRST,
        service,
        seed: effort.seed,
        ticks: [Duration::from_micros(178_514), Duration::from_micros(400)],
        title: "Figure 4: the odd and short final segments",
        plot: "Figure 3: the odd and short final segments",
        pause: ("from line 6 to line 7, \"ACK is delayed\" [ms]", [5, 6]),
    };
    let mut outcome = figure.play();
    outcome.parameters = parameters(&figure);
    outcome.parameters.push(Parameter {
        name: "first answer",
        value: format!("{FIRST_ANSWER} octets"),
        origin: Origin::Paper("Figure 4, `ack 6676`"),
    });
    outcome.notes = vec![
        format!(
            "The first answer of the figure has {FIRST_ANSWER} octets. Section 2.1's first \
             document of {} octets with {HEADERS} octets of headers would make {}, so the \
             figure's first document had {} octets.",
            hosts::BODIES[0],
            hosts::BODIES[0] + HEADERS,
            FIRST_ANSWER - HEADERS,
        ),
        "Section 2.3 says that a chunk of 4096 octets is broken into 1460, 1460 and 1175; the \
         figure's 1176 is right."
            .into(),
        "The caption of Figure 3 gives the time of the last ACK as \"0.189262ms\"; the unit is \
         seconds."
            .into(),
        "Section 2.3 repeats section 2.2's \"time between the second and third data segments\"; \
         in its own problem, the third and the fourth segment are meant."
            .into(),
        "Line 2 is the server's own delayed ACK: its timer fired before Apache had read the \
         request, as the window of 16326 shows."
            .into(),
    ];
    outcome
}

/// The octets of Figure 4's first answer.
const FIRST_ANSWER: u64 = 6675;

fn parameters(figure: &Figure) -> Vec<Parameter> {
    let mut parameters = hosts::parameters();
    // What the figure itself shows replaces what fits the means of Table 1.
    parameters.retain(|parameter| {
        let name = parameter.name;
        name != "server begins a request" && name != "client closes a connection"
    });
    let from_the_trace = |name, time: Duration| Parameter {
        name,
        value: format!("{:.2} ms", hosts::millis(time)),
        origin: Origin::Fitted("the times of the figure's own lines"),
    };
    parameters.extend([
        from_the_trace("server begins a request", figure.service),
        from_the_trace("client's tick after the first line", figure.ticks[0]),
        from_the_trace("server's tick after the first line", figure.ticks[1]),
    ]);
    parameters
}

impl Figure {
    fn play(&self) -> Outcome {
        let (transaction, origin) = self.in_step();
        let first = transaction
            .passed
            .iter()
            .position(|(_, frame)| (self.begins)(frame))
            .unwrap_or_default();
        let counted_from = |zero: Instant, passed: &[(Side, MediumFrame)]| -> Vec<_> {
            let frames = passed.iter();
            let ended = transaction.ended();
            frames
                .filter(|(_, frame)| frame.at <= ended)
                .map(|(side, frame)| (*side, since(frame, zero)))
                .collect()
        };
        let at_any_phase = self.at_other_phases();
        let shown = counted_from(origin, &transaction.passed[first..]);
        let whole = counted_from(transaction.passed[0].1.at, &transaction.passed);
        Outcome {
            rules: hosts::RULES.to_vec(),
            rows: self.rows(&shown, &at_any_phase),
            layout: Layout::Grid {
                down: &["line"],
                across: &["measure"],
            },
            plots: vec![sequence_plot(self.plot, &whole)],
            traces: vec![Trace {
                title: self.titled(),
                hosts: ["client", "server"],
                sent: shown,
            }],
            ..Outcome::default()
        }
    }

    /// Returns the run in which the clocks are as in the figure, and the time of the figure's zero
    /// in it. A first run finds when the figure's first line passes.
    fn in_step(&self) -> (Transaction, Instant) {
        let begins = |transaction: &Transaction| {
            let mut passed = transaction.passed.iter();
            let first = passed.find(|(_, frame)| (self.begins)(frame));
            first.expect("the figure's first line passes").1.at
        };
        // Nothing before the first line depends on the ticks, as long as none falls there.
        let early = begins(&self.run([Duration::ZERO; 2]));
        let tick = AckTimer::BSD_TICK.as_nanos();
        let transaction = self.run(self.ticks.map(|after| {
            Duration::from_nanos((early + after).since(Instant::ZERO).as_nanos() % tick)
        }));
        let begins = begins(&transaction);
        let zero = begins.as_nanos() - self.lines[0].at_us * 1000;
        (transaction, Instant::from_nanos(zero))
    }

    fn run(&self, ticks: [Duration; 2]) -> Transaction {
        let pace = Pace {
            service: self.service,
            ..PACE
        };
        let (documents, fixes) = (self.documents.clone(), self.fixes);
        hosts::setting(documents, Over::PHttp, fixes, pace, ticks, self.seed).run()
    }

    /// Returns the title, with the place of the trace's zero if it differs from the figure's.
    fn titled(&self) -> String {
        match self.lines[0].at_us {
            0 => self.title.into(),
            first => format!(
                "{} (time since the first line, which is at {:.3} ms in the figure)",
                self.title,
                first as f64 / 1e3
            ),
        }
    }

    /// Returns the segments of runs with other phases of the clocks, as the figure would print
    /// them.
    fn at_other_phases(&self) -> Vec<Vec<String>> {
        let phases =
            (0..PHASES).map(|n| Duration::from_nanos(n * AckTimer::BSD_TICK.as_nanos() / PHASES));
        let both = phases
            .clone()
            .flat_map(|client| phases.clone().map(move |server| [client, server]));
        let printed = |ticks| {
            let passed = self.run(ticks).passed;
            passed
                .iter()
                .map(|(from, frame)| as_printed(*from, frame))
                .collect()
        };
        both.map(printed).collect()
    }

    /// Returns the rows. The clocks' phases are fitted, so a segment is a match by rules alone only
    /// if it is sent at every phase.
    fn rows(&self, shown: &[(Side, MediumFrame)], at_any_phase: &[Vec<String>]) -> Vec<Row> {
        let mut rows = Vec::new();
        for (number, (published, (from, frame))) in (1..).zip(self.lines.iter().zip(shown)) {
            let cell = |measure: &str| {
                let line = ("line", PaperValue::Count(number));
                vec![line, ("measure", PaperValue::Text(measure.into()))]
            };
            rows.push(Row {
                cell: cell("time [ms]"),
                standard: Some(Standard::printed(PaperValue::Number(
                    published.at_us as f64 / 1e3,
                    3,
                ))),
                reproduced: PaperValue::Number(as_stamped_us(frame) as f64 / 1e3, 3),
                tolerance: TIMES,
                class: Class::Fitted,
            });
            let text = as_printed(*from, frame);
            let always = at_any_phase.iter().all(|sent| sent.contains(&text));
            rows.push(Row {
                cell: cell("segment"),
                standard: Some(Standard::printed(PaperValue::Text(published.text.into()))),
                reproduced: PaperValue::Text(text),
                tolerance: Tolerance::Exact,
                class: match always {
                    true => Class::Rules,
                    false => Class::Fitted,
                },
            });
        }
        let (name, [before, after]) = self.pause;
        let published = self.lines[after].at_us - self.lines[before].at_us;
        let pause = as_stamped_us(&shown[after].1) - as_stamped_us(&shown[before].1);
        rows.push(Row {
            cell: vec![("measure", PaperValue::Text(name.into()))],
            standard: Some(Standard::printed(PaperValue::Number(
                published as f64 / 1e3,
                3,
            ))),
            reproduced: PaperValue::Number(pause as f64 / 1e3, 3),
            tolerance: TIMES,
            class: Class::Fitted,
        });
        rows
    }
}

/// Returns tcpdump's timestamp of a frame, in whole microseconds: it truncates instead of rounding.
fn as_stamped_us(frame: &MediumFrame) -> u64 {
    frame.at.as_nanos() / 1000
}

/// Returns a segment as tcpdump printed it in 1996, and as the paper's figures do.
fn as_printed(from: Side, frame: &MediumFrame) -> String {
    let segment = &frame.segment;
    let ends = match from {
        Side::Client => "client > server",
        Side::Server => "server > client",
    };
    let letters = [(Flags::SYN, "S"), (Flags::FIN, "F"), (Flags::PSH, "P")];
    let set = letters
        .into_iter()
        .filter(|(flag, _)| segment.flags.has(*flag));
    let mut flags: String = set.map(|(_, letter)| letter).collect();
    if flags.is_empty() {
        flags.push('.');
    }
    let mut line = format!("{ends}: {flags}");
    if segment.sequence_len() > 0 {
        let end = segment.seq + u64::from(segment.len);
        line += &format!(" {}:{end}({})", segment.seq, segment.len);
    }
    if segment.flags.has(Flags::ACK) {
        line += &format!(" ack {}", segment.ack);
    }
    line += &format!(" win {}", segment.window);
    if let Some(mss) = segment.options.mss {
        line += &format!(" <mss {mss}>");
    }
    line
}

/// Returns a plot of the server's data and the client's ACKs over time.
pub(super) fn sequence_plot(title: &str, passed: &[(Side, MediumFrame)]) -> Plot {
    let points = |side, wanted: fn(&MediumFrame) -> bool, number: fn(&MediumFrame) -> u64| {
        let of_side = passed.iter().filter(|(from, _)| *from == side);
        of_side
            .filter(|(_, frame)| wanted(frame))
            .map(|(_, frame)| (frame.at.as_nanos() as f64 / 1e9, number(frame) as f64))
            .collect::<Vec<_>>()
    };
    let acks = points(
        Side::Client,
        |frame| frame.segment.flags.has(Flags::ACK),
        |frame| frame.segment.ack.get(),
    );
    Plot {
        title: title.into(),
        x: "time since the client's SYN [s]",
        y: "sequence number [octets]",
        series: vec![
            PlotSeries {
                name: "data (end of segment)".into(),
                mark: PlotMark::Dots,
                points: points(
                    Side::Server,
                    |frame| frame.segment.len > 0,
                    |frame| frame.segment.data().end.get(),
                ),
            },
            PlotSeries {
                name: "acknowledged".into(),
                mark: PlotMark::Steps,
                points: acks,
            },
        ],
    }
}

/// Returns the frame with its time counted from `zero`.
fn since(frame: &MediumFrame, zero: Instant) -> MediumFrame {
    let at = Instant::ZERO + frame.at.since(zero);
    MediumFrame { at, ..*frame }
}
