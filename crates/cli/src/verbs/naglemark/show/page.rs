//! The benchmark's page: for each panel the scores, the transfers behind them, and the distances.

use std::collections::BTreeSet;

use tinygram_naglemark::Sample;
use tinygram_report::units::{grouped, size};
use tinygram_report::{
    Axis, Band, Chart, Choice, Ladder, Mark, Page, Point, Section, Series, Table, Tone,
};

use crate::glossary;

use super::{Cutoff, KeptTransfers, Panel, Seen, elapsed_ms};

/// What the page contains besides the panels.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Contents {
    /// Every parameter and its value, as in the JSON document.
    pub(in super::super) parameters: Vec<(String, String)>,
    /// Whether to print the paper's scores beside the measured ones.
    pub(in super::super) published: bool,
    /// What made the page.
    pub(in super::super) origin: String,
    /// The tables after the panels: what was fitted, and to what.
    pub(in super::super) appendix: Vec<Table>,
}

/// Returns the page of a run.
pub(in super::super) fn page(panels: &[Panel], contents: &Contents) -> Page {
    let sentences = panels.iter().filter_map(Panel::sentence);
    let sentences = sentences.map(|it| (Tone::Plain, it));
    let mut sections = vec![Section::Verdict(sentences.collect())];
    for (at, panel) in panels.iter().enumerate() {
        sections.push(Section::Table(panel.linked_scores(contents.published)));
        // Explained where they first occur.
        sections.extend((at == 0).then(|| words(panels)));
        if !panel.traces.is_empty() {
            sections.push(Section::Chart(panel.chart()));
        }
        sections.push(Section::Table(panel.distances()));
    }
    sections.extend(contents.appendix.iter().cloned().map(Section::Table));
    sections.push(Section::Facts {
        summary: "Parameters of this run".into(),
        facts: contents.parameters.clone(),
    });
    Page {
        title: "Naglemark".into(),
        lead:
            "Which small-segment transmission policy stalls, on which message lengths, how often, \
               and at what price in packets. A score opens the transfers of its first repetition, and a \
               transfer with a ring opens its segments."
                .into(),
        sections,
        origin: contents.origin.clone(),
    }
}

/// Returns the meaning of the page's terms, and the variants that it compares.
fn words(panels: &[Panel]) -> Section {
    let variants = panels.iter().flat_map(|panel| &panel.cells);
    let variants: BTreeSet<&str> = variants.map(|cell| cell.variant.as_str()).collect();
    Section::Facts {
        summary: "What the words and the variants mean".into(),
        facts: glossary::of(variants),
    }
}

impl Panel {
    /// Returns the scores; each opens its transfers if they were kept.
    fn linked_scores(&self, published: bool) -> Table {
        let mut table = self.scores(published);
        let ids: Vec<_> = self.traces.iter().map(|trace| self.id(trace)).collect();
        for entry in table.rows.iter_mut().flatten() {
            entry.opens = entry.opens.take().filter(|id| ids.contains(id));
        }
        table
    }

    fn chart(&self) -> Chart {
        Chart {
            title: format!("Elapsed time against message length, {}", self.medium()),
            x: Axis::new("message length", "bytes"),
            y: Axis::new("elapsed time", "ms"),
            series: self.traces.iter().map(|trace| self.series(trace)).collect(),
            lines: Cutoff::of(&self.yardstick).lines(),
            bands: self.unseen_waits().into_iter().collect(),
            above: "delayed".into(),
            choice: Some(Choice {
                facets: FACETS.map(Into::into).into(),
                compare: 0,
            }),
            ..Chart::default()
        }
    }

    /// Returns the band of lengths at which the cutoff is so high that a transfer may wait for a
    /// delayed acknowledgment and still be below it.
    fn unseen_waits(&self) -> Option<Band> {
        let wait_ms = self.ack_delay.as_millis_f64();
        let from = Cutoff::of(&self.yardstick).reaches(wait_ms);
        let transfers = self.traces.iter().flat_map(|it| &it.transfers);
        let longest = f64::from(transfers.map(|it| it.length).max()?);
        (from < longest).then(|| Band {
            from,
            to: 2.0 * longest,
            name: format!(
                "from {} bytes on the cutoff is above {wait_ms} ms, the longest wait for one delayed \
                 acknowledgment: such a wait alone may read \"not delayed\" here",
                grouped(from.ceil() as u64)
            ),
            tone: Tone::Plain,
        })
    }

    fn series(&self, trace: &KeptTransfers) -> Series {
        let point = |it: &Sample| Point::at(f64::from(it.length), elapsed_ms(it));
        Series {
            id: self.id(trace),
            keys: vec![
                trace.variant.clone(),
                size(trace.app_buffer),
                size(trace.socket_buffer),
                trace.trial.to_string(),
            ],
            points: trace.transfers.iter().map(point).collect(),
            mark: Mark::Dots,
            ladders: Self::ladders(trace),
            ..Series::default()
        }
    }

    /// Returns the ladders of those transfers that are shown.
    fn ladders(trace: &KeptTransfers) -> Vec<(usize, Ladder)> {
        let shown = trace.seen.iter().filter(|it| it.at % trace.every == 0);
        let ladder = |it: &Seen| {
            let at = it.at / trace.every;
            let sample = &trace.transfers[at];
            let (length, elapsed) = (grouped(sample.length.into()), elapsed_ms(sample));
            let ladder = Ladder {
                title: format!("{}: {length} bytes in {elapsed:.1} ms", it.which),
                ends: ["server", "client"].map(Into::into),
                steps: it.steps.clone(),
            };
            (at, ladder)
        };
        shown.map(ladder).collect()
    }

    /// Returns the id of the cell that the trace belongs to, like [`Record::id`](super::Record).
    pub(in super::super) fn id(&self, trace: &KeptTransfers) -> String {
        format!(
            "{}/{}/{}/{}/{}",
            self.medium(),
            trace.variant,
            trace.app_buffer,
            trace.socket_buffer,
            trace.trial
        )
    }
}

const FACETS: [&str; 4] = ["Variant", "App buffer", "Socket buffer", "Trial"];
