//! `tinygram policies`: prints the engine's own lists, so that it is never outdated.

use serde::Serialize;
use tinygram_engine::receiver::ack_policy::AckPolicy;
use tinygram_engine::sender::send_policy::{Needs, Registered, SendPolicy};
use tinygram_kernel::BpfPolicy;
use tinygram_report::{Column, Document, Entry, Table, csv, json};
use tinygram_tables::{Rows, schemas};

use crate::outcome::{Done, Failure};
use crate::terminal;

/// The policies that `tinygram naglemark --variant` and `--ack-policy` know.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How the list is written
    #[arg(long, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
    format: Format,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// For reading in a terminal
    Table,
    /// One document, schema tinygram.policies/1
    Json,
    /// One line per policy
    Csv,
    /// For a document
    Markdown,
}

/// One policy.
#[derive(Debug, Serialize)]
struct Listed {
    /// `send` or `ack`.
    side: &'static str,
    name: &'static str,
    /// The spelling in the papers' tables; ACK policies have none.
    label: Option<&'static str>,
    summary: &'static str,
    source: String,
    needs: Option<&'static str>,
    /// What runs it; ACK policies are the simulator's and our stack's.
    runs_on: String,
}

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let listed = listed();
    // Without a terminal each policy has one line, for grep.
    let (ink, width) = terminal::canvas(usize::MAX);
    let tables = || {
        ["send", "ack"].map(|side| table(side, listed.iter().filter(|policy| policy.side == side)))
    };
    let text = match args.format {
        Format::Table => tables().map(|table| table.to_text(width, ink)).join("\n"),
        Format::Markdown => tables().map(|table| table.to_markdown()).join("\n"),
        Format::Csv => csv(&listed),
        Format::Json => json(&Document {
            schema: "tinygram.policies/1",
            parameters: NoParameters {},
            results: Results { policies: listed },
        }),
    };
    terminal::print(text.as_bytes())
}

/// Returns every policy, as rows of book/src/reference/tables.md.
pub(crate) fn rows() -> Rows {
    let mut rows = Rows::of(&schemas::POLICIES);
    for it in listed() {
        rows.push([
            ("side", it.side.into()),
            ("name", it.name.into()),
            ("label", it.label.into()),
            ("summary", it.summary.into()),
            ("source", it.source.into()),
            ("needs", it.needs.into()),
            ("runs_on", it.runs_on.into()),
        ]);
    }
    rows
}

#[derive(Serialize)]
struct NoParameters {}

#[derive(Serialize)]
struct Results {
    policies: Vec<Listed>,
}

fn listed() -> Vec<Listed> {
    let send = SendPolicy::LIST.iter().map(|entry| Listed {
        side: "send",
        name: entry.name,
        label: Some(entry.label),
        summary: entry.summary,
        source: format!("{}, {}", entry.origin.label(), entry.section),
        needs: match entry.needs {
            Needs::Nothing => None,
            Needs::State(what) | Needs::Hints(what) => Some(what),
        },
        runs_on: runs_on(entry),
    });
    let ack = AckPolicy::LIST.iter().map(|entry| Listed {
        side: "ack",
        name: entry.name,
        label: None,
        summary: entry.summary,
        source: entry.source.to_owned(),
        needs: None,
        runs_on: all_of(BpfPolicy::named(entry.name).map(|_| "bpf"), None),
    });
    send.chain(ack).collect()
}

/// Returns what runs a send policy.
fn runs_on(entry: &Registered) -> String {
    let as_bpf = BpfPolicy::named(entry.name).map(|_| "bpf");
    let beside = match entry.name {
        "flush-on-block" => Some("run"),
        "flush-on-block-eager" => Some("run --eager"),
        "off" => Some("any kernel (TCP_NODELAY)"),
        "linux" => Some("any Linux"),
        _ => None,
    };
    all_of(as_bpf, beside)
}

fn all_of(as_bpf: Option<&'static str>, beside: Option<&'static str>) -> String {
    let all: Vec<_> = OURS.into_iter().chain(as_bpf).chain(beside).collect();
    all.join(", ")
}

/// The engine's own: every policy runs there.
const OURS: [&str; 2] = ["sim", "stack"];

fn table<'a>(side: &str, policies: impl Iterator<Item = &'a Listed>) -> Table {
    let send = side == "send";
    let heads = [
        "Policy",
        "What it does",
        "Where it is from",
        "What it needs to know",
        "What runs it",
    ];
    let heads = &heads[..if send { 5 } else { 3 }];
    Table {
        title: if send {
            "Send policies: when a segment below the MSS may leave (--variant)".into()
        } else {
            "ACK policies: when the receiver acknowledges (--ack-policy)".into()
        },
        columns: heads.iter().copied().map(Column::words).collect(),
        rows: policies
            .map(|policy| {
                let mut row = vec![
                    Entry::new(policy.label.unwrap_or(policy.name)),
                    Entry::new(policy.summary),
                    Entry::new(&*policy.source),
                ];
                if send {
                    row.push(Entry::new(policy.needs.unwrap_or("nothing more")));
                    row.push(Entry::new(&*policy.runs_on));
                }
                row
            })
            .collect(),
        notes: match send {
            true => vec![
                "sim, stack, bpf: naglemark --backend; bpf also gives a program the policy (tinygram bpf), and has \
                 timed-coalescing and first-of-turn besides; run: tinygram run"
                    .into(),
            ],
            false => Vec::new(),
        },
    }
}

#[cfg(test)]
mod tests {
    use tinygram_report::Ink;

    use super::*;

    #[test]
    fn the_list_fits_a_terminal() {
        let listed = listed();
        for side in ["send", "ack"] {
            let table = table(side, listed.iter().filter(|policy| policy.side == side));
            for width in [60, 80, 100, 132, 200] {
                let drawn = table.to_text(width, Ink::Plain);
                let widest = drawn.lines().map(|line| line.chars().count()).max();
                assert!(widest <= Some(width), "{width}:\n{drawn}");
            }
        }
    }
}
