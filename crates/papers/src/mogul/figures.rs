//! Figures 7 to 12: elapsed time against length, and the paper's statements about each.
//!
//! The figures' points are not published as numbers. If the text does not name the buffers or the
//! network of a figure, they are inferred from what it says, and the figure says so.

use tinygram_engine::Duration;
use tinygram_engine::sender::send_policy::Registered;
use tinygram_naglemark::hosts::{Model, PaperHosts};
use tinygram_naglemark::{Keep, MediumKind, Plan, Sample, Yardstick, regression};

use super::published::Table;
use super::scores::{RULES, parameters};
use super::stalled::{outcome, plan};
use super::tables::entry_tolerance;
use crate::experiment::{Class, Effort, Mark, Origin, Outcome, Parameter, Plot, Row, Series};
use crate::standard::Standard;
use crate::value::{Tolerance, Value};

const KIB: u64 = 1024;

/// A figure: one trial of 1000 transfers of growing length on one connection.
struct Figure {
    number: u8,
    variant: &'static str,
    medium: MediumKind,
    app_buffer: u64,
    socket_buffer: u64,
    /// The source of the setting, or what it was inferred from.
    setting: Origin,
    /// The samples of the first repetition, which are drawn.
    samples: Vec<Sample>,
    /// The mean score over all repetitions.
    score_percent: f64,
}

/// "One would hope the response time to be a smooth line, whose slope is the underlying network
/// bandwidth, as shown in figure 7" (section 6).
pub(super) fn figure_7(effort: &Effort) -> Outcome {
    let figure = Figure {
        number: 7,
        variant: "OFF",
        medium: MediumKind::Ethernet,
        app_buffer: 128 * KIB,
        socket_buffer: 128 * KIB,
        setting: Origin::Assumed(
            "the buffers are \"larger than the largest message size\" (section 6); the network is \
             that of Figure 8, and any variant that does not delay would do",
        ),
        samples: Vec::new(),
        score_percent: 0.0,
    }
    .measured(effort);
    let below = |start_up: Duration| {
        let is_below = |sample: &&Sample| {
            let estimate = figure.yardstick().estimate(sample.length);
            sample.elapsed + start_up < estimate
        };
        Value::Count(figure.samples.iter().filter(is_below).count() as u64)
    };
    let start_up = figure.yardstick().estimate(0);
    let rows = vec![
        figure.score(Some(0.0), Tolerance::Within(0.05)),
        row(
            "points below length / raw rate",
            Some(Standard::derived(Value::Count(0))),
            below(start_up),
            Tolerance::Exact,
            Class::Fitted,
        ),
        row(
            "points below length / raw rate + 10 ms, the lower line of the figure",
            Some(Standard::derived(Value::Count(0))),
            below(Duration::ZERO),
            Tolerance::Exact,
            Class::KnownMismatch(
                "the text says that every point is above the estimate, but our hosts take less \
                 than 10 ms for an answer of 100 octets on a LAN",
            ),
        ),
        row(
            "slope (ns/octet); the raw rate alone is 800",
            None,
            Value::Number(figure.slope(), 0),
            Tolerance::Unbounded,
            Class::NotPublished,
        ),
    ];
    let mut outcome = figure.outcome(rows);
    outcome.notes.push(
        "Because data collides with acknowledgments, our points do not form a smooth line, and \
         their slope is steeper than that of the raw rate."
            .into(),
    );
    outcome
}

/// "On a system using the traditional Nagle algorithm, however, the elapsed time varies erratically
/// with length, as shown in figure 8" (section 6).
pub(super) fn figure_8(effort: &Effort) -> Outcome {
    let figure = Figure {
        number: 8,
        variant: "NAGLE",
        medium: MediumKind::Ethernet,
        app_buffer: 128 * KIB,
        socket_buffer: 128 * KIB,
        setting: Origin::Assumed(
            "the figure's score of 30.5 % is near Table 4's (30.4 %) and far from Table 5's (44.5 \
             %)",
        ),
        samples: Vec::new(),
        score_percent: 0.0,
    }
    .measured(effort);
    let near = |millis: f64| {
        let is_near = |sample: &&Sample| (elapsed_ms(sample) - millis).abs() < 5.0;
        figure.samples.iter().filter(is_near).count() as u64
    };
    // A cluster has at least twice as many points as the neighbouring bands of 10 ms.
    let clusters = |millis: f64| near(millis) > 2 * near(millis - 10.0).max(near(millis + 10.0));
    let cluster = |millis: f64| {
        row(
            match millis as u32 {
                100 => "a cluster at 100 ms (footnote 2)",
                _ => "a cluster at 200 ms, the delayed-ACK clock",
            },
            Some(Standard::printed(text("yes"))),
            text(if clusters(millis) { "yes" } else { "no" }),
            Tolerance::Exact,
            Class::Fitted,
        )
    };
    let count = |what, millis| {
        let points = Value::Count(near(millis));
        row(
            what,
            None,
            points,
            Tolerance::Unbounded,
            Class::NotPublished,
        )
    };
    let rows = vec![
        figure.score(Some(30.5), entry_tolerance(4, "NAGLE", 30.5)),
        cluster(100.0),
        count("points within 5 ms of 100 ms", 100.0),
        cluster(200.0),
        count("points within 5 ms of 200 ms", 200.0),
    ];
    figure.outcome(rows)
}

/// "The Minshall variant does well in almost all of our trials, except when the application buffer
/// size is smaller than the MSS and the message length is larger than app_buf_size (see figure 9)
/// [...] once the message length reaches app_buf_size + 2 * MSS, the sender stops waiting" (section
/// 8).
pub(super) fn figure_9(effort: &Effort) -> Outcome {
    let figure = Figure {
        number: 9,
        variant: "MINSHALL",
        medium: MediumKind::Fddi,
        app_buffer: 4 * KIB,
        socket_buffer: 128 * KIB,
        setting: Origin::Paper(
            "only application buffers of 4K are smaller than an MSS, and only \
                                than FDDI's",
        ),
        samples: Vec::new(),
        score_percent: 0.0,
    }
    .measured(effort);
    let delayed = figure.delayed();
    let (app, mss) = (
        figure.app_buffer as u32,
        u32::from(figure.medium.usual_mss()),
    );
    let rows = vec![
        figure.score_of_table(5),
        length(
            "shortest delayed length (the first above app_buf_size)",
            after(app),
            delayed.first().copied(),
        ),
        length(
            "longest delayed length (the last below app_buf_size + 2 MSS)",
            after(app + 2 * mss) - STEP,
            delayed.last().copied(),
        ),
    ];
    figure.outcome(rows)
}

/// "The algorithm does include a simple test to ignore tearing if the socket buffer is larger than
/// MCLBYTES, but apparently this only works for messages smaller than twice the socket buffer size
/// (see figure 10)" (section 8).
pub(super) fn figure_10(effort: &Effort) -> Outcome {
    let figure = torn(10, "MSMV").measured(effort);
    let rows = vec![
        figure.score_of_table(5),
        length(
            "shortest delayed length (the first above twice the socket buffer)",
            after(2 * figure.socket_buffer as u32),
            figure.delayed().first().copied(),
        ),
    ];
    figure.outcome(rows)
}

/// "For larger messages, it generally works well, except for some buffer tearing when the message is
/// just slightly longer than the socket buffer (see figure 11)" (section 8).
pub(super) fn figure_11(effort: &Effort) -> Outcome {
    let figure = Figure {
        number: 11,
        variant: "EOM",
        medium: MediumKind::Fddi,
        app_buffer: 32 * KIB,
        socket_buffer: 64 * KIB,
        setting: Origin::Assumed(
            "EOM delays messages above MCLBYTES in several settings; this one has the largest \
             socket buffer that is smaller than the longest message",
        ),
        samples: Vec::new(),
        score_percent: 0.0,
    }
    .measured(effort);
    let delayed = figure.delayed();
    let (socket, mss) = (
        figure.socket_buffer as u32,
        u32::from(figure.medium.usual_mss()),
    );
    let just_longer = (after(socket)..socket + mss).step_by(STEP as usize);
    let all = just_longer.clone().all(|length| delayed.contains(&length));
    let small_writes = |variant| {
        let small = Figure {
            number: 11,
            variant,
            app_buffer: 4 * KIB,
            setting: figure.setting,
            samples: Vec::new(),
            score_percent: 0.0,
            ..figure
        };
        small.measured(effort).samples
    };
    let identical = small_writes("EOM") == small_writes("NAGLE");
    let rows = vec![
        figure.score_of_table(5),
        row(
            "messages that exceed the socket buffer by less than an MSS are delayed",
            Some(Standard::printed(text("yes"))),
            text(if all { "yes" } else { "no" }),
            Tolerance::Exact,
            Class::Fitted,
        ),
        row(
            "identical to NAGLE if app_buf_size is below MCLBYTES",
            Some(Standard::printed(text("yes"))),
            text(if identical { "yes" } else { "no" }),
            Tolerance::Exact,
            Class::Fitted,
        ),
    ];
    let mut outcome = figure.outcome(rows);
    outcome.notes.push(
        "The same happens beyond each multiple of the application buffer, so also beyond 32K and \
         96K."
            .into(),
    );
    outcome
}

/// "We also tried combining all three of EOM, MORE, and MSMV. This seems to be no improvement over
/// MSMV" (section 8).
pub(super) fn figure_12(effort: &Effort) -> Outcome {
    let figure = torn(12, "E+M+M").measured(effort);
    let msmv = torn(12, "MSMV").measured(effort);
    let improved = msmv.delayed().len().saturating_sub(figure.delayed().len());
    let rows = vec![
        figure.score_of_table(5),
        row(
            "transfers, of 1000, that MSMV delays and this combination does not",
            Some(Standard::bound(0)),
            Value::Count(improved as u64),
            Tolerance::Within(5.0),
            Class::Fitted,
        ),
    ];
    figure.outcome(rows)
}

/// Returns the setting in which Figure 10's limit, twice the socket buffer, lies below the longest
/// message and no other limit is lower.
fn torn(number: u8, variant: &'static str) -> Figure {
    Figure {
        number,
        variant,
        medium: MediumKind::Fddi,
        app_buffer: 32 * KIB,
        socket_buffer: 16 * KIB,
        setting: Origin::Assumed(
            "in this setting delays begin at twice the socket buffer, as the text says",
        ),
        samples: Vec::new(),
        score_percent: 0.0,
    }
}

impl Figure {
    fn measured(self, effort: &Effort) -> Self {
        let buffers = (self.app_buffer, self.socket_buffer);
        let plan = plan(self.variant, buffers, effort.seed).repetitions(effort.repetitions);
        let hosts = PaperHosts::new(Model::Fitted, self.medium);
        let measured = outcome(&plan, hosts, Keep::First).cells.remove(0);
        Self {
            samples: measured.first().to_vec(),
            score_percent: measured.score.score_percent,
            ..self
        }
    }

    fn yardstick(&self) -> Yardstick {
        Yardstick {
            medium: self.medium,
            wire: Some(self.medium.wire()),
            rtt: Duration::ZERO,
            mss: self.medium.usual_mss(),
            multiplier: Plan::PAPER_MULTIPLIER,
        }
    }

    fn is_delayed(&self, sample: &Sample) -> bool {
        self.yardstick().is_delayed(sample)
    }

    /// Returns the lengths of delayed transfers.
    fn delayed(&self) -> Vec<u32> {
        let delayed = self.samples.iter().filter(|sample| self.is_delayed(sample));
        delayed.map(|sample| sample.length).collect()
    }

    fn slope(&self) -> f64 {
        let undelayed = self
            .samples
            .iter()
            .filter(|sample| !self.is_delayed(sample));
        regression(undelayed)
    }

    fn score(&self, published: Option<f64>, tolerance: Tolerance) -> Row {
        row(
            "score (%)",
            published.map(|percent| Standard::printed(Value::Number(percent, 1))),
            Value::Number(self.score_percent, 1),
            tolerance,
            Class::Fitted,
        )
    }

    /// Returns the score of one trial, compared with the entry of a table for which it is the worst
    /// trial type.
    fn score_of_table(&self, number: u8) -> Row {
        let table = Table::numbered(number).expect("a table of the paper");
        let entry = table.published(self.variant, self.app_buffer, self.socket_buffer);
        let (_, percent) = entry.expect("an entry of the paper");
        self.score(
            Some(percent),
            entry_tolerance(number, self.variant, percent),
        )
    }

    fn outcome(self, rows: Vec<Row>) -> Outcome {
        let mut parameters = parameters();
        parameters.insert(
            0,
            Parameter {
                name: "setting",
                value: format!(
                    "{} with {}K application and {}K socket buffers",
                    network(&self.medium),
                    self.app_buffer / KIB,
                    self.socket_buffer / KIB
                ),
                origin: self.setting,
            },
        );
        Outcome {
            rules: RULES.to_vec(),
            parameters,
            rows,
            plots: vec![self.plot()],
            notes: vec![
                "The figure's points are not published. The comparison uses what the text says \
                 about them."
                    .into(),
            ],
            ..Outcome::default()
        }
    }

    fn plot(&self) -> Plot {
        let points = |delayed: bool| {
            let of_it = self
                .samples
                .iter()
                .filter(|it| self.is_delayed(it) == delayed);
            of_it
                .map(|it| (f64::from(it.length), elapsed_ms(it)))
                .collect()
        };
        let line = |name: &str, multiplier: u32, mark| Series {
            name: name.into(),
            mark,
            points: [0, LONGEST]
                .map(|length| {
                    let limit = self
                        .yardstick()
                        .estimate(length)
                        .times(u64::from(multiplier));
                    (f64::from(length), limit.as_nanos() as f64 / 1e6)
                })
                .into(),
        };
        let summary = Registered::named(self.variant).map_or("", |entry| entry.label);
        Plot {
            title: format!(
                "Figure {}: {summary}, {}, application buffer {}K, socket buffer {}K",
                self.number,
                network(&self.medium),
                self.app_buffer / KIB,
                self.socket_buffer / KIB
            ),
            x: "message length (bytes)",
            y: "elapsed time (ms)",
            series: vec![
                Series {
                    name: "not delayed".into(),
                    mark: Mark::Dots,
                    points: points(false),
                },
                Series {
                    name: "delayed".into(),
                    mark: Mark::Crosses,
                    points: points(true),
                },
                line("estimate: length / raw rate + 10 ms", 1, Mark::Line),
                line(
                    "cutoff: three times the estimate",
                    Plan::PAPER_MULTIPLIER,
                    Mark::Dashed,
                ),
            ],
        }
    }
}

/// Lengths grow by 100 octets up to 100,000 (section 7).
const STEP: u32 = 100;
const LONGEST: u32 = 100_000;

/// Returns the first of the trial's lengths that is longer than `octets`.
fn after(octets: u32) -> u32 {
    (octets / STEP + 1) * STEP
}

fn length(what: &'static str, wanted: u32, ours: Option<u32>) -> Row {
    row(
        what,
        Some(Standard::derived(Value::Count(wanted.into()))),
        ours.map_or_else(|| text("none"), |length| Value::Count(length.into())),
        // The acknowledgment may already be on its way when a rest of a few octets is written.
        Tolerance::Within(f64::from(STEP)),
        Class::Fitted,
    )
}

fn row(
    measure: &'static str,
    standard: Option<Standard>,
    reproduced: Value,
    tolerance: Tolerance,
    class: Class,
) -> Row {
    Row {
        cell: vec![("measure", text(measure))],
        standard,
        reproduced,
        tolerance,
        class,
    }
}

fn network(medium: &MediumKind) -> &'static str {
    match medium {
        MediumKind::Fddi => "FDDI",
        _ => "Ethernet",
    }
}

fn elapsed_ms(sample: &Sample) -> f64 {
    sample.elapsed.as_nanos() as f64 / 1e6
}

fn text(words: &str) -> Value {
    Value::Text(words.into())
}
