//! What hosts' calls cost: the command line of `naglemark costs`, and the value of `--costs`.

use std::fmt;

use serde::{Deserialize, Serialize};
use tinygram_naglemark::Duration;
use tinygram_naglemark::hosts::{MeasuredCosts, Over};

use crate::flags::{OUTPUT, Output};

/// Measure what calls and segments cost on this machine, for `--costs` of load and reports.
///
/// Over a veth pair, each end on a processor of its own; for some seconds, in which nothing else should run. It makes
/// namespaces, as root or where users may.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Table, value_name = "FORMAT", help_heading = OUTPUT)]
    pub(in super::super) format: Format,

    #[command(flatten)]
    pub(in super::super) results: Output,
}

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(in super::super) enum Format {
    /// For reading in a terminal
    Table,
    /// One document, schema tinygram.host-costs/1, which --costs takes
    Json,
}

/// A cost in microseconds, with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(in super::super) struct Cost {
    pub(in super::super) us: f64,
    pub(in super::super) from: f64,
    pub(in super::super) to: f64,
}

/// Costs, as in the document.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(in super::super) struct HostCosts {
    pub(in super::super) write: Cost,
    pub(in super::super) segment: Cost,
    pub(in super::super) acknowledgment: Cost,
    pub(in super::super) read: Cost,
    pub(in super::super) wakeup: Cost,
}

/// The name and version of the document.
pub(in super::super) const SCHEMA: &str = "tinygram.host-costs/1";

/// The hosts' costs, by name or from a document.
#[derive(Clone, Debug)]
pub(in super::super) struct Costs {
    typed: String,
    pub(in super::super) over: Over,
}

impl Costs {
    /// What they are if none are typed.
    pub(in super::super) const DEFAULT: &'static str = "linux-veth";

    pub(in super::super) fn is_default(&self) -> bool {
        self.typed == Self::DEFAULT
    }
}

/// Writes it as it is typed.
impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.typed)
    }
}

/// Parses a name, or reads a file that `naglemark costs` wrote.
pub(super) fn costs(typed: &str) -> Result<Costs, String> {
    let over = match typed {
        Costs::DEFAULT => Over::Veth,
        "linux-tun" => Over::Tun,
        path => Over::Measured(read(path)?),
    };
    let typed = typed.to_owned();
    Ok(Costs { typed, over })
}

fn read(path: &str) -> Result<MeasuredCosts, String> {
    let accepted = "accepted: linux-veth, linux-tun, or a file that `tinygram naglemark costs --format json` wrote";
    let text = std::fs::read_to_string(path).map_err(|error| format!("{error} ({accepted})"))?;
    meant(&text).ok_or_else(|| format!("these are no costs ({accepted})"))
}

/// Returns the costs of a document: times of at most a second each. What was measured as less than nothing costs nothing.
fn meant(text: &str) -> Option<MeasuredCosts> {
    #[derive(Deserialize)]
    struct Written {
        schema: String,
        #[serde(flatten)]
        costs: HostCosts,
    }
    let Written { schema, costs } = serde_json::from_str(text).ok()?;
    let time = |cost: Cost| {
        (cost.us <= 1e6).then(|| Duration::from_nanos((cost.us.max(0.0) * 1e3).round() as u64))
    };
    (schema == SCHEMA).then_some(())?;
    Some(MeasuredCosts {
        write: time(costs.write)?,
        segment: time(costs.segment)?,
        acknowledgment: time(costs.acknowledgment)?,
        read: time(costs.read)?,
        wakeup: time(costs.wakeup)?,
    })
}

const EXAMPLES: &str = "\
Examples:
  tinygram naglemark costs                                        what they are
  tinygram naglemark costs --format json --output costs.json
  tinygram naglemark load --costs costs.json                      hosts as fast as this machine";

#[cfg(test)]
mod tests {
    use super::*;

    fn document(schema: &str, wakeup: &str) -> String {
        let cost = |us: &str| format!(r#"{{"us": {us}, "from": 0.5, "to": 2}}"#);
        format!(
            r#"{{"schema": "{schema}", "parameters": {{}}, "write": {}, "segment": {}, "acknowledgment": {}, "read": {}, "wakeup": {}}}"#,
            cost("3.6"),
            cost("1.3"),
            cost("-0.1"),
            cost("1"),
            cost(wakeup)
        )
    }

    #[test]
    fn costs_are_read_from_a_document() {
        let costs = meant(&document(SCHEMA, "18.25")).expect("it is one");
        let nanos = [
            costs.write,
            costs.segment,
            costs.acknowledgment,
            costs.read,
            costs.wakeup,
        ]
        .map(Duration::as_nanos);
        assert_eq!(nanos, [3600, 1300, 0, 1000, 18_250]);
        assert_eq!(meant(&document("tinygram.host-costs/2", "1")), None);
        assert_eq!(meant(&document(SCHEMA, "1000001")), None);
        assert_eq!(meant("{}"), None);
    }
}
