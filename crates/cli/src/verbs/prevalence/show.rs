//! The prevalence of OF+SFS as tables, a page and lines of CSV.

use serde::Serialize;
use tinygram_report::units::grouped;
use tinygram_report::{Align, Column, Entry, Page, Section, Table};

use super::found::{Log, Prevalence};

/// The name and version of the JSON document.
pub(super) const SCHEMA: &str = "tinygram.prevalence/1";

/// A line of the CSV: an entry of either table.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row<'a> {
    /// `share` or `cost`.
    kind: &'static str,
    policy: Option<&'a str>,
    mss: u16,
    /// `ignored` if the test for it is.
    mclbytes: Option<String>,
    responses: u64,
    delayed: u64,
    delayed_percent: Option<f64>,
    stall_s: Option<f64>,
    stall_s_per_day: Option<f64>,
    segments: Option<u64>,
    segments_per_day: Option<f64>,
}

impl Prevalence {
    /// Returns the tables: what was read, in words; the costs, with `conditions` beneath them;
    /// Table 1.
    pub(super) fn tables(&self, conditions: &str) -> Vec<Table> {
        let mut tables = vec![self.log.summary()];
        if !self.costs.is_empty() {
            tables.push(self.cost_table(conditions));
        }
        tables.push(self.table_1());
        tables
    }

    /// Returns the tables as a page, with the parameters behind them.
    pub(super) fn page(
        &self,
        conditions: &str,
        parameters: Vec<(String, String)>,
        origin: String,
    ) -> Page {
        let tables = self.tables(conditions).into_iter().map(Section::Table);
        let parameters = Section::Facts {
            summary: "Parameters of this run".into(),
            facts: parameters,
        };
        Page {
            title: "Prevalence of OF+SFS".into(),
            lead: "Which share of a web server's responses has a length at which Nagle's algorithm \
                   and delayed acknowledgments wait for each other (an odd number of full segments, \
                   then a short one), and what that waiting would cost."
                .into(),
            sections: tables.chain([parameters]).collect(),
            origin,
        }
    }

    /// Returns both tables as rows, one per entry.
    pub(super) fn rows(&self) -> Vec<Row<'_>> {
        let shares = self.shares.iter().map(|share| Row {
            kind: "share",
            policy: None,
            mss: share.mss,
            mclbytes: Some(share.mclbytes.map_or(IGNORED.into(), |it| it.to_string())),
            responses: self.log.with_body,
            delayed: share.delayed,
            delayed_percent: share.share_percent,
            stall_s: None,
            stall_s_per_day: None,
            segments: None,
            segments_per_day: None,
        });
        let costs = self.costs.iter().map(|cost| Row {
            kind: "cost",
            policy: Some(&cost.policy),
            mss: cost.mss,
            mclbytes: cost.mclbytes.map(|octets| octets.to_string()),
            responses: self.log.with_body,
            delayed: cost.delayed,
            delayed_percent: cost.delayed_percent,
            stall_s: Some(cost.stall_s),
            stall_s_per_day: cost.stall_s_per_day,
            segments: Some(cost.segments),
            segments_per_day: cost.segments_per_day,
        });
        shares.chain(costs).collect()
    }

    /// Returns the shares in the paper's layout: a row per MSS, a column per MCLBYTES.
    fn table_1(&self) -> Table {
        let mut mclbytes: Vec<Option<u64>> = Vec::new();
        let mut segments: Vec<u16> = Vec::new();
        for share in &self.shares {
            if !mclbytes.contains(&share.mclbytes) {
                mclbytes.push(share.mclbytes);
            }
            if !segments.contains(&share.mss) {
                segments.push(share.mss);
            }
        }
        let mut columns = vec![column("", "MSS", Align::Left)];
        columns.extend(mclbytes.iter().map(|mclbytes| {
            let head = mclbytes.map_or(IGNORED.into(), |it| it.to_string());
            column("MCLBYTES", &head, Align::Right)
        }));
        let row = |mss: &u16| {
            let of_row = self.shares.iter().filter(|share| share.mss == *mss);
            let entries = of_row.map(|share| percent(share.share_percent));
            [Entry::new(mss.to_string())]
                .into_iter()
                .chain(entries)
                .collect()
        };
        Table {
            title: "Table 1: prevalence of OF+SFS-vulnerable response lengths".into(),
            columns,
            rows: segments.iter().map(row).collect(),
            notes: vec![format!(
                "Share of the responses with a body ({}) whose length the model of Mogul & Minshall \
                 (section 3.3) delays: at least two segments and MCLBYTES long, an odd number of \
                 full segments and a short one.",
                grouped(self.log.with_body)
            )],
        }
    }

    fn cost_table(&self, conditions: &str) -> Table {
        let per_day = self.costs.iter().all(|cost| cost.stall_s_per_day.is_some());
        let heads = match per_day {
            true => ["delayed", "stall s/day", "segments/day"],
            false => ["delayed", "stall s", "segments"],
        };
        let mut kernels: Vec<(u16, Option<u64>)> = Vec::new();
        let mut policies: Vec<&str> = Vec::new();
        for cost in &self.costs {
            if !kernels.contains(&(cost.mss, cost.mclbytes)) {
                kernels.push((cost.mss, cost.mclbytes));
            }
            if !policies.contains(&&*cost.policy) {
                policies.push(&cost.policy);
            }
        }
        let mut columns = vec![column("", "Policy", Align::Left)];
        for (mss, mclbytes) in &kernels {
            let group = match mclbytes {
                Some(octets) => format!("MSS {mss}, MCLBYTES {octets}"),
                None => format!("MSS {mss}"),
            };
            columns.extend(heads.map(|head| column(&group, head, Align::Right)));
        }
        let row = |policy: &&str| {
            let of_row = self.costs.iter().filter(|cost| cost.policy == *policy);
            let entries = of_row.flat_map(|cost| {
                let stall = cost.stall_s_per_day.unwrap_or(cost.stall_s);
                let segments = cost.segments_per_day.unwrap_or(cost.segments as f64);
                [
                    Entry::new(match cost.delayed_percent {
                        Some(share) => format!("{} ({share:.2}%)", grouped(cost.delayed)),
                        None => grouped(cost.delayed),
                    }),
                    Entry::new(format!("{stall:.1}")),
                    Entry::new(grouped(segments.round() as u64)),
                ]
            });
            [Entry::new(*policy)].into_iter().chain(entries).collect()
        };
        Table {
            title: "What the responses would cost".into(),
            columns,
            rows: policies.iter().map(row).collect(),
            notes: vec![conditions.to_owned()],
        }
    }
}

impl Log {
    fn summary(&self) -> Table {
        let span = match (&self.first, &self.last) {
            (Some(first), Some(last)) => {
                let days = match self.days {
                    0.0 => "an instant, so that nothing can be said of a day".into(),
                    days => format!("{days:.2} days of log"),
                };
                format!("From {first} to {last}: {days}.")
            }
            _ => "No response has a time.".into(),
        };
        Table {
            title: format!(
                "Responses: {}, lines: {}",
                grouped(self.responses),
                grouped(self.lines)
            ),
            notes: vec![
                format!(
                    "With a body: {} ({} bytes, different sizes: {}). Without: 304 Not Modified {}, \
                     answers to HEAD {}, others {}. Lines that cannot be read: {}.",
                    grouped(self.with_body),
                    grouped(self.body_bytes),
                    grouped(self.distinct_sizes),
                    grouped(self.not_modified),
                    grouped(self.head),
                    grouped(self.empty),
                    grouped(self.unreadable),
                ),
                span,
            ],
            ..Table::default()
        }
    }
}

fn column(group: &str, head: &str, align: Align) -> Column {
    Column {
        group: group.into(),
        head: head.into(),
        align,
    }
}

fn percent(share: Option<f64>) -> Entry {
    Entry::new(share.map_or_else(|| "-".into(), |share| format!("{share:.2}%")))
}

/// The value if the test for MCLBYTES is left out.
const IGNORED: &str = "ignored";
