//! The outputs of a run: opened before the work, filled after it.

use std::path::PathBuf;

use tinygram_report::{Destination, Document, Ink, Table, csv, facts, json};

use super::args::{Args, Format, TableName};
use super::cost::conditions;
use super::found::Prevalence;
use super::plan::Plan;
use super::show::SCHEMA;
use super::tables;
use crate::files::{failed, opened, refuse_overwriting};
use crate::outcome::{Done, Failure};
use crate::shown::{self, Rendered};
use crate::{stop, terminal};

/// Every output of a run, checked to be writable.
pub(super) struct Outputs {
    format: Format,
    /// The table that is written if the format has rows.
    table: TableName,
    /// Standard output if absent.
    results: Option<(PathBuf, Destination)>,
    html: Option<(PathBuf, Destination)>,
}

impl Outputs {
    /// Opens the outputs that the arguments name, or says which cannot be written.
    pub(super) fn open(args: &Args) -> Result<Self, Failure> {
        shown::check(args.format, args.results.output.as_deref())?;
        if args.table.is_some() && shown::encoding(args.format).is_none() {
            let line = "--table belongs to --format parquet and --format arrow";
            return Err(Failure::Input(line.into()));
        }
        if args.results.output.is_some() && args.results.output == args.html {
            let line = "--output and --html name the same file; each needs its own";
            return Err(Failure::Input(line.into()));
        }
        for out in [&args.results.output, &args.html].into_iter().flatten() {
            refuse_overwriting(out, &args.logs, "log")?;
        }
        Ok(Self {
            format: args.format,
            table: args.table.unwrap_or(match args.no_cost {
                true => TableName::Shares,
                false => TableName::Costs,
            }),
            results: opened(args.results.output.as_deref(), Destination::open)?,
            html: opened(args.html.as_deref(), Destination::open)?,
        })
    }

    /// Shows the results. Files come first, so that they are complete even if the reader of
    /// standard output goes away.
    pub(super) fn show(self, plan: &Plan, prevalence: &Prevalence) -> Result<Done, Failure> {
        // A file is read in an editor or a pager, whatever the terminal is.
        let canvas = match self.results {
            Some(_) => (Ink::Plain, terminal::WIDTH),
            None => terminal::canvas(terminal::WIDTH),
        };
        let shown = match shown::encoding(self.format) {
            Some(encoding) => {
                Rendered::rows(&tables::of(self.table.table(), prevalence), encoding)?
            }
            None => Rendered::Text(rendered(self.format, plan, prevalence, canvas)),
        };
        if let Some((path, file)) = self.html {
            let page = prevalence
                .page(&conditions(plan), facts(plan), shown::origin())
                .to_html();
            stop::shielded(|| file.write(page.as_bytes())).map_err(|error| failed(&path, error))?;
        }
        match self.results {
            Some((path, file)) => stop::shielded(|| file.write(shown.bytes()))
                .map(|()| Done::Well)
                .map_err(|error| failed(&path, error)),
            None => shown.print(),
        }
    }
}

fn rendered(
    format: Format,
    plan: &Plan,
    prevalence: &Prevalence,
    (ink, width): (Ink, usize),
) -> String {
    let joined = |render: &dyn Fn(&Table) -> String| {
        let tables = prevalence.tables(&conditions(plan));
        let rendered: Vec<_> = tables.iter().map(render).collect();
        rendered.join("\n")
    };
    match format {
        // The other formats are rows, not text.
        Format::Text | Format::Parquet | Format::Arrow => {
            joined(&|table| table.to_text(width, ink))
        }
        Format::Markdown => joined(&Table::to_markdown),
        Format::Csv => csv(&prevalence.rows()),
        Format::Json => json(&Document {
            schema: SCHEMA,
            parameters: plan,
            results: prevalence,
        }),
    }
}
