//! The naglemark's page: per panel the scores, the transfers behind them, and the distances.

use tinygram_report::units::size;
use tinygram_report::{Axis, Line, Page, Plot, Section, Series, Table};

use super::{Cutoff, Panel, Trace, elapsed_us};

/// What the page tells besides the panels.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Contents {
    /// Every parameter and its value, as the JSON document echoes them.
    pub(in super::super) parameters: Vec<(String, String)>,
    /// Whether to print the paper's scores beside ours.
    pub(in super::super) published: bool,
    /// Tables after the panels: what was fitted, and to what.
    pub(in super::super) appendix: Vec<Table>,
}

/// Lays out the page of a run.
pub(in super::super) fn page(panels: &[Panel], contents: &Contents) -> Page {
    let mut sections = Vec::new();
    for panel in panels {
        sections.push(Section::Table(panel.linked_scores(contents.published)));
        if !panel.traces.is_empty() {
            sections.push(Section::Plot(panel.plot()));
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
               and at what price in packets. A score opens the transfers of its first repetition."
                .into(),
        sections,
    }
}

impl Panel {
    /// Returns the scores, each opening its transfers where they were kept.
    fn linked_scores(&self, published: bool) -> Table {
        let mut table = self.scores(published);
        let ids: Vec<_> = self.traces.iter().map(|trace| self.id(trace)).collect();
        for entry in table.rows.iter_mut().flatten() {
            entry.opens = entry.opens.take().filter(|id| ids.contains(id));
        }
        table
    }

    fn plot(&self) -> Plot {
        let cutoff = Cutoff::of(&self.yardstick);
        let line = |name: String, multiplier: f64, dashed| Line {
            name,
            at_zero: multiplier * cutoff.startup_ms,
            slope: multiplier * cutoff.ns_per_byte / 1e6,
            dashed,
        };
        Plot {
            title: format!("Elapsed time against message length, {}", self.medium()),
            x: axis("message length", "bytes"),
            y: axis("elapsed time", "ms"),
            facets: FACETS.map(Into::into).into(),
            compare: 0,
            marked: "delayed".into(),
            lines: vec![
                line("estimate".into(), 1.0, false),
                line(
                    format!("cutoff, x {}", cutoff.multiplier),
                    cutoff.multiplier,
                    true,
                ),
            ],
            series: self.traces.iter().map(|trace| self.series(trace)).collect(),
        }
    }

    fn series(&self, trace: &Trace) -> Series {
        Series {
            id: self.id(trace),
            keys: vec![
                trace.variant.clone(),
                size(trace.app_buffer),
                size(trace.socket_buffer),
                trace.trial.to_string(),
            ],
            x: trace.transfers.iter().map(|t| t.length.into()).collect(),
            y_milli: trace.transfers.iter().map(elapsed_us).collect(),
        }
    }

    /// As [`Record::id`](super::Record), for the cell that the trace belongs to.
    pub(super) fn id(&self, trace: &Trace) -> String {
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

fn axis(name: &str, unit: &str) -> Axis {
    Axis {
        name: name.into(),
        unit: unit.into(),
    }
}
