//! `tinygram naglemark costs`: what calls cost on this machine.

use serde::Serialize;
use tinygram_report::{Column, Destination, Document, Entry, Ink, Table, json};

use super::args::costs::{Args, Cost, Format, HostCosts, SCHEMA};
use super::real;
use crate::files::{failed, opened};
use crate::outcome::{Done, Failure};
use crate::{stop, terminal};

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let results = opened(args.results.output.as_deref(), Destination::open)?;
    stop::at_once();
    let costs = real::costs(BATCHES, ROUNDS)?;
    let (ink, width) = match results {
        Some(_) => (Ink::Plain, terminal::WIDTH),
        None => terminal::canvas(terminal::WIDTH),
    };
    let text = match args.format {
        Format::Table => table(&costs).to_text(width, ink),
        Format::Json => document(costs),
    };
    match results {
        Some((path, file)) => stop::shielded(|| file.write(text.as_bytes()))
            .map_err(|error| failed(&path, error))
            .map(|()| Done::Well),
        None => terminal::print(text.as_bytes()),
    }
}

fn document(costs: HostCosts) -> String {
    #[derive(Serialize)]
    struct Parameters {
        batches: usize,
        rounds: usize,
    }
    json(&Document {
        schema: SCHEMA,
        parameters: Parameters {
            batches: BATCHES,
            rounds: ROUNDS,
        },
        results: costs,
    })
}

fn table(costs: &HostCosts) -> Table {
    let row = |(what, cost): (&str, Cost)| {
        let shown = [cost.us, cost.from, cost.to].map(|us| format!("{us:.2}"));
        let [us, from, to] = shown;
        [what.to_owned(), us, from, to].map(Entry::new).into()
    };
    Table {
        title: "What calls cost on this machine, over a veth pair".into(),
        columns: vec![
            Column::words("Cost"),
            Column::numbers("us"),
            Column::numbers("from"),
            Column::numbers("to"),
        ],
        rows: [
            ("a write, besides its segments", costs.write),
            ("a segment of 1448 bytes sent", costs.segment),
            ("an acknowledgment sent", costs.acknowledgment),
            ("a read", costs.read),
            ("a wake-up", costs.wakeup),
        ]
        .map(row)
        .into(),
        notes: vec![format!(
            "us: the median of {BATCHES} batches, each the median of {ROUNDS} rounds; from, to: the second from either end of them, \
             between which the true median is in 98 of 100 measurements. On veth the sender's processor does the receiver's work \
             on a segment."
        )],
    }
}

const BATCHES: usize = 10;
const ROUNDS: usize = 200;
