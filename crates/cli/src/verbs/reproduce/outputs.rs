//! The outputs of a run: opened before the work, filled after it.

use std::path::PathBuf;

use tinygram_report::{Destination, Folder, Ink};

use super::args::{Args, Format};
use super::done::Reproduced;
use super::plan::Plan;
use super::show;
use crate::files::{failed, opened};
use crate::outcome::{Done, Failure};
use crate::shown::{self, Rendered};
use crate::{stop, terminal};

/// Every output of a run, checked to be writable.
pub(crate) struct Outputs {
    format: Format,
    /// Standard output if absent.
    results: Option<(PathBuf, Destination)>,
    html: Option<(PathBuf, Destination)>,
    traces: Option<(PathBuf, Folder)>,
}

impl Outputs {
    /// Opens the outputs that the arguments name, or says which cannot be written.
    pub(crate) fn open(args: &Args) -> Result<Self, Failure> {
        shown::check(args.format, args.results.output.as_deref())?;
        if args.results.output.is_some() && args.results.output == args.html {
            let line = "--output and --html name the same file; each needs its own";
            return Err(Failure::Input(line.into()));
        }
        Ok(Self {
            format: args.format,
            results: opened(args.results.output.as_deref(), Destination::open)?,
            html: opened(args.html.as_deref(), Destination::open)?,
            traces: opened(args.traces.as_deref(), Folder::open)?,
        })
    }

    /// Lists the experiments.
    pub(crate) fn list(self, plan: &Plan) -> Result<Done, Failure> {
        // Without a terminal each experiment has one line, for grep.
        let text = show::list(plan, self.format, self.canvas(usize::MAX));
        self.results_to_their_place(&Rendered::Text(text))
    }

    /// Shows the results. Files come first, so that they are complete even if the reader of
    /// standard output goes away.
    pub(crate) fn show(mut self, plan: &Plan, reproduced: &[Reproduced]) -> Result<Done, Failure> {
        let results = match shown::encoding(self.format) {
            Some(encoding) => Rendered::rows(&show::rows(reproduced), encoding)?,
            None => {
                let canvas = self.canvas(terminal::WIDTH);
                Rendered::Text(show::results(plan, reproduced, self.format, canvas))
            }
        };
        stop::shielded(|| self.write_files(plan, reproduced))?;
        self.results_to_their_place(&results)
    }

    /// Returns styles and width: a file is read in an editor or a pager, whatever the terminal is.
    fn canvas(&self, otherwise: usize) -> (Ink, usize) {
        match self.results {
            Some(_) => (Ink::Plain, otherwise),
            None => terminal::canvas(otherwise),
        }
    }

    fn write_files(&mut self, plan: &Plan, reproduced: &[Reproduced]) -> Result<(), Failure> {
        if let Some((path, folder)) = &self.traces {
            for (name, trace) in show::traces(reproduced) {
                let text = (format!("{name}.txt"), show::as_text(trace));
                let capture = (format!("{name}.pcapng"), show::as_pcapng(trace));
                for (name, contents) in [text, capture] {
                    folder
                        .write(&name, &contents)
                        .map_err(|error| failed(&path.join(&name), error))?;
                }
            }
        }
        if let Some((path, file)) = self.html.take() {
            let page = show::page(plan, reproduced).to_html();
            file.write(page.as_bytes())
                .map_err(|error| failed(&path, error))?;
        }
        Ok(())
    }

    fn results_to_their_place(self, results: &Rendered) -> Result<Done, Failure> {
        let Some((path, file)) = self.results else {
            return results.print();
        };
        stop::shielded(|| file.write(results.bytes())).map_err(|error| failed(&path, error))?;
        Ok(Done::Well)
    }
}
