//! A figure as it is measured, scored and drawn.

use tinygram_engine::Duration;
use tinygram_engine::sender::send_policy::Registered;
use tinygram_naglemark::hosts::{Model, PaperHosts};
use tinygram_naglemark::{Keep, MediumKind, Plan, Sample, Yardstick, regression};

use crate::experiment::{
    Class, Effort, Origin, Outcome, Parameter, Plot, PlotMark, PlotSeries, Row,
};
use crate::mogul::published::Table;
use crate::mogul::scores::{RULES, parameters};
use crate::mogul::shown::{by_delay, elapsed_ms, row};
use crate::mogul::stalled::{outcome, plan};
use crate::mogul::tables::entry_tolerance;
use crate::standard::Standard;
use crate::value::{PaperValue, Tolerance};

pub(super) const KIB: u64 = 1024;

/// The longest of the figure's lengths, in octets (section 7).
pub(super) const LONGEST: u32 = 100_000;

/// A figure: one trial of 1000 transfers of growing length on one connection.
pub(super) struct Figure {
    pub(super) number: u8,
    pub(super) variant: &'static str,
    pub(super) medium: MediumKind,
    pub(super) app_buffer: u64,
    pub(super) socket_buffer: u64,
    /// The source of the setting, or what it was inferred from.
    pub(super) setting: Origin,
    /// The samples of the first repetition, which are drawn.
    pub(super) samples: Vec<Sample>,
    /// The mean score over all repetitions.
    pub(super) score_percent: f64,
}

impl Figure {
    pub(super) fn measured(self, effort: &Effort) -> Self {
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

    pub(super) fn yardstick(&self) -> Yardstick {
        Yardstick {
            medium: self.medium,
            wire: Some(self.medium.wire()),
            rtt: Duration::ZERO,
            mss: self.medium.usual_mss(),
            multiplier: Plan::PAPER_MULTIPLIER,
        }
    }

    pub(super) fn is_delayed(&self, sample: &Sample) -> bool {
        self.yardstick().is_delayed(sample)
    }

    /// Returns the lengths of delayed transfers.
    pub(super) fn delayed(&self) -> Vec<u32> {
        let delayed = self.samples.iter().filter(|sample| self.is_delayed(sample));
        delayed.map(|sample| sample.length).collect()
    }

    pub(super) fn slope(&self) -> f64 {
        let undelayed = self
            .samples
            .iter()
            .filter(|sample| !self.is_delayed(sample));
        regression(undelayed)
    }

    pub(super) fn score(&self, published: Option<f64>, tolerance: Tolerance) -> Row {
        row(
            "score (%)",
            published.map(|percent| Standard::printed(PaperValue::Number(percent, 1))),
            PaperValue::Number(self.score_percent, 1),
            tolerance,
            Class::Fitted,
        )
    }

    /// Returns the score of one trial, compared with the entry of a table for which it is the worst
    /// trial type.
    pub(super) fn score_of_table(&self, number: u8) -> Row {
        let table = Table::numbered(number).expect("a table of the paper");
        let entry = table.published(self.variant, self.app_buffer, self.socket_buffer);
        let (_, percent) = entry.expect("an entry of the paper");
        self.score(
            Some(percent),
            entry_tolerance(number, self.variant, percent),
        )
    }

    pub(super) fn outcome(self, rows: Vec<Row>) -> Outcome {
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

    pub(super) fn plot(&self) -> Plot {
        let points = |delayed: bool| {
            let of_it = self
                .samples
                .iter()
                .filter(|it| self.is_delayed(it) == delayed);
            of_it
                .map(|it| (f64::from(it.length), elapsed_ms(it)))
                .collect()
        };
        let line = |name: &str, multiplier: u32, mark| PlotSeries {
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
        let lines = [
            line("estimate: length / raw rate + 10 ms", 1, PlotMark::Line),
            line(
                "cutoff: three times the estimate",
                Plan::PAPER_MULTIPLIER,
                PlotMark::Dashed,
            ),
        ];
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
            series: by_delay(points).into_iter().chain(lines).collect(),
        }
    }
}

pub(super) fn network(medium: &MediumKind) -> &'static str {
    match medium {
        MediumKind::Fddi => "FDDI",
        _ => "Ethernet",
    }
}
