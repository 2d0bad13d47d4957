//! The prevalence of OF+SFS in a web server's log: Mogul & Minshall's Table 1 for that log, and
//! what the responses would cost.

use serde::Serialize;

use crate::page::{Page, Section};
use crate::table::{Align, Column, Entry, Table};
use crate::units::grouped;

/// The name and version of the JSON document.
pub const SCHEMA: &str = "tinygram.prevalence/1";

/// All results. The field order is that of the JSON document.
#[derive(Clone, Debug, Serialize)]
pub struct Prevalence {
    /// The lines that were read.
    pub log: Log,
    /// Table 1: one entry per MSS and MCLBYTES.
    pub shares: Vec<Share>,
    /// One entry per policy and MSS; empty if nothing was simulated.
    pub costs: Vec<Cost>,
}

/// The lines that were read, all logs taken together.
#[derive(Clone, Debug, Serialize)]
pub struct Log {
    /// All lines.
    pub lines: u64,
    /// Lines that are not a response.
    pub unreadable: u64,
    /// Lines that are a response.
    pub responses: u64,
    /// Responses with a body, which Table 1 counts.
    pub with_body: u64,
    /// Responses without a body: answers to HEAD.
    pub head: u64,
    /// Responses without a body: status 304.
    pub not_modified: u64,
    /// Responses without a body: a size of `-` or 0.
    pub empty: u64,
    /// Octets of all bodies.
    pub body_bytes: u64,
    /// The number of different body sizes.
    pub distinct_sizes: u64,
    /// The earliest time, UTC (RFC 3339); absent if there are no responses.
    pub first: Option<String>,
    /// The latest time.
    pub last: Option<String>,
    /// The days that the logs cover, each from its earliest to its latest time; overlaps count
    /// once.
    pub days: f64,
}

/// An entry of Table 1.
#[derive(Clone, Debug, Serialize)]
pub struct Share {
    /// The MSS, in octets.
    pub mss: u16,
    /// MCLBYTES, in octets; absent if the test for it is ignored.
    pub mclbytes: Option<u64>,
    /// Responses that the paper's model delays.
    pub delayed: u64,
    /// Delayed responses, in percent of the responses with a body; absent if there are none.
    pub share_percent: Option<f64>,
    /// Delayed responses, in percent of all responses.
    pub share_of_all_percent: Option<f64>,
}

/// What the responses took in the simulator.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// The send policy's name.
    pub policy: String,
    /// The MSS, in octets.
    pub mss: u16,
    /// The simulated kernel's copying unit, in octets; absent if it has none.
    pub mclbytes: Option<u64>,
    /// Responses that came noticeably later than if nothing is held.
    pub delayed: u64,
    /// Delayed responses, in percent of the responses with a body; absent if there are none.
    pub delayed_percent: Option<f64>,
    /// The sum of the delays, in seconds.
    pub stall_s: f64,
    /// `stall_s` per day of the log; absent if the log has no length in time.
    pub stall_s_per_day: Option<f64>,
    /// Data segments of all responses with a body.
    pub segments: u64,
    /// `segments` per day of the log; absent if the log has no length in time.
    pub segments_per_day: Option<f64>,
}

/// A line of the CSV: an entry of either table.
#[derive(Clone, Debug, Serialize)]
pub struct Row<'a> {
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
    pub fn tables(&self, conditions: &str) -> Vec<Table> {
        let mut tables = vec![self.log.summary()];
        if !self.costs.is_empty() {
            tables.push(self.cost_table(conditions));
        }
        tables.push(self.table_1());
        tables
    }

    /// Returns the tables as a page, with the parameters behind them.
    pub fn page(
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
    pub fn rows(&self) -> Vec<Row<'_>> {
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
