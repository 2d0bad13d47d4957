//! The meaning of the arguments, checked before any work.

use std::path::PathBuf;

use tinygram_diagnose::{Filter, Parameters};

use tinygram_report::{Destination, Folder};
use tinygram_tables::{Table, schemas};

use super::args::{Args, Format};
use super::fail_on::Condition;
use crate::files::{Input, each_its_own, opened, refuse_overwriting};
use crate::outcome::Failure;
use crate::shown;

pub(super) struct Plan {
    pub(super) inputs: Vec<Input>,
    /// Why captures that were named besides cannot be read.
    pub(super) unread: Vec<Failure>,
    pub(super) format: Format,
    /// The table that is written if the format has rows.
    pub(super) table: &'static Table,
    /// The output, checked to be writable; standard output if absent.
    pub(super) output: Option<(PathBuf, Destination)>,
    pub(super) html: Option<(PathBuf, Destination)>,
    pub(super) annotate: Option<(PathBuf, Destination)>,
    pub(super) xplot: Option<(PathBuf, Folder)>,
    pub(super) fail_on: Vec<Condition>,
    pub(super) verbose: bool,
    pub(super) parameters: Parameters,
}

impl Plan {
    pub(super) fn of(args: Args) -> Result<Self, Failure> {
        let format = if args.json { Format::Json } else { args.format };
        shown::check(format, args.results.output.as_deref())?;
        if args.table.is_some() && !is_of_rows(format) {
            let line = "--table belongs to --format csv, --format parquet and --format arrow";
            return Err(Failure::Input(line.to_owned()));
        }
        each_its_own(&[
            ("--output", &args.results.output),
            ("--html", &args.html),
            ("--annotate", &args.annotate),
        ])?;
        let mut captures = args.captures;
        captures.extend(args.read);
        let (inputs, mut unread) = Input::readable(&captures, "capture files")?;
        if inputs.is_empty()
            && let Some(first) = unread.pop()
        {
            unread.iter().for_each(Failure::say);
            return Err(first);
        }
        let (from_ns, to_ns) = period(args.from, args.to)?;
        let filter = Filter {
            hosts: args.host,
            ports: args.port,
            from_ns,
            to_ns,
            kinds: args.kind,
        };
        if inputs.iter().any(|i| matches!(i, Input::Stdin)) {
            refuse_second_reading(&[
                ("--html", args.html.is_some()),
                ("--annotate", args.annotate.is_some()),
                ("--xplot", args.xplot.is_some()),
            ])?;
        }
        let of_one_capture = [
            ("--annotate writes the copy", args.annotate.is_some()),
            ("--explain tells of a frame", args.explain.is_some()),
        ];
        for (flag_does, asked) in of_one_capture {
            if asked && tinygram_diagnosis::streams(&inputs, Input::name).len() > 1 {
                return Err(Failure::Input(format!(
                    "{flag_does} of one capture (accepted: one CAPTURE, or the files of one ring buffer)"
                )));
            }
        }
        for out in [&args.results.output, &args.html, &args.annotate]
            .into_iter()
            .flatten()
        {
            refuse_overwriting(out, &captures, "capture")?;
        }
        Ok(Self {
            inputs,
            unread,
            format,
            table: args.table.map_or(&schemas::FINDINGS, |it| it.table()),
            output: opened(args.results.output.as_deref(), Destination::open)?,
            html: opened(args.html.as_deref(), Destination::open)?,
            annotate: opened(args.annotate.as_deref(), Destination::open)?,
            xplot: opened(args.xplot.as_deref(), Folder::open)?,
            fail_on: args.fail_on,
            verbose: args.verbose,
            parameters: Parameters {
                connection_limit: args.connection_limit as usize,
                finding_limit: args.finding_limit as usize,
                // A table has a row for every connection that was kept, not only for the first ten
                // thousand.
                listed_limit: match is_of_rows(format) {
                    true => args.connection_limit as usize,
                    false => Parameters::default().listed_limit,
                },
                explain: args.explain,
                filter: (!filter.is_empty()).then_some(filter),
            },
        })
    }
}

/// Returns whether a format has rows of a table.
fn is_of_rows(format: Format) -> bool {
    format == Format::Csv || shown::encoding(format).is_some()
}

/// Refuses flags that are asked for and read a capture twice, which standard input cannot be.
fn refuse_second_reading(flags: &[(&str, bool)]) -> Result<(), Failure> {
    match flags.iter().find(|(_, asked)| *asked) {
        None => Ok(()),
        Some((flag, _)) => Err(Failure::Input(format!(
            "{flag} reads the capture twice and standard input can be read once \
             (accepted: a file; tcpdump -w FILE, then tinygram diagnose FILE {flag} ...)"
        ))),
    }
}

/// Returns what `--from` and `--to` say, in nanoseconds.
fn period(from: Option<f64>, to: Option<f64>) -> Result<(Option<i64>, Option<i64>), Failure> {
    if let (Some(from), Some(to)) = (from, to)
        && from > to
    {
        return Err(Failure::Input(format!(
            "--from {from} is later than --to {to}: nothing is between them"
        )));
    }
    Ok((
        from.map(|s| nanoseconds("--from", s)).transpose()?,
        to.map(|s| nanoseconds("--to", s)).transpose()?,
    ))
}

fn nanoseconds(flag: &str, seconds: f64) -> Result<i64, Failure> {
    match (0.0..1e9).contains(&seconds) {
        true => Ok((seconds * 1e9) as i64),
        false => Err(Failure::Input(format!(
            "{flag} {seconds} is no time in a capture (accepted: seconds since its first frame, 0 or more)"
        ))),
    }
}
