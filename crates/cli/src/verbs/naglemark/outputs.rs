//! What is shown, and where: opened before the work, filled after it.

use std::path::{Path, PathBuf};

use serde::Serialize;
use tinygram_report::naglemark::{Cell, Contents, Panel, SCHEMA, page};
use tinygram_report::{Destination, Document, Folder, Ink, Table, csv, facts, json};
use tinygram_sim::medium::{Frame, Side};

use super::args::{Args, Format};
use crate::exit::{Done, Failure};
use crate::files::{failed, opened};
use crate::{capture, interrupt, terminal};

/// Every place that a run writes to, known to be writable.
pub(crate) struct Outputs {
    format: Format,
    published: bool,
    /// Standard output if absent.
    results: Option<(PathBuf, Destination)>,
    html: Option<(PathBuf, Destination)>,
    svg: Option<(PathBuf, Folder)>,
    pcapng: Option<(PathBuf, Destination)>,
    trace: Option<TraceTo>,
}

/// Where the text of a capture goes.
enum TraceTo {
    /// In place of the results.
    Stdout,
    File(PathBuf, Destination),
}

impl Outputs {
    /// Opens what the arguments name, or says what cannot be written.
    pub(crate) fn open(args: &Args) -> Result<Self, Failure> {
        let files = [
            ("--output", &args.output),
            ("--html", &args.html),
            ("--pcapng", &args.pcapng),
            ("--trace", &args.trace),
        ];
        for (at, (flag, path)) in files.iter().enumerate() {
            let same = |(_, other): &&(&str, &Option<PathBuf>)| path.is_some() && other == path;
            if let Some((other, _)) = files[..at].iter().find(same) {
                let line = format!("{other} and {flag} name the same file; each needs its own");
                return Err(Failure::Input(line));
            }
        }
        Ok(Self {
            format: args.format,
            published: args.paper,
            results: opened(args.output.as_deref(), Destination::open)?,
            html: opened(args.html.as_deref(), Destination::open)?,
            svg: opened(args.svg.as_deref(), Folder::open)?,
            pcapng: opened(args.pcapng.as_deref(), Destination::open)?,
            trace: match args.trace.as_deref() {
                Some(path) if path == Path::new("-") => Some(TraceTo::Stdout),
                path => {
                    opened(path, Destination::open)?.map(|(path, file)| TraceTo::File(path, file))
                }
            },
        })
    }

    /// Whether single transfers are shown, so that they must be kept.
    pub(crate) fn shows_transfers(&self) -> bool {
        self.html.is_some() || self.svg.is_some()
    }

    /// Shows what came out: files first, so that a reader who goes away spoils nothing.
    ///
    /// `parameters` is everything that the results depend on, `seen` what a capture holds.
    pub(crate) fn show(
        self,
        parameters: &impl Serialize,
        appendix: &Appendix,
        panels: &[Panel],
        seen: &[(Side, Frame)],
    ) -> Result<Done, Failure> {
        let shown = Shown {
            panels,
            parameters,
            appendix,
            published: self.published,
        };
        // A file is read by an editor or a pager, whatever the terminal is.
        let canvas = match self.results {
            Some(_) => (Ink::Plain, terminal::WIDTH),
            None => terminal::canvas(terminal::WIDTH),
        };
        let text = shown.rendered(self.format, canvas);
        let traces_to_stdout = matches!(self.trace, Some(TraceTo::Stdout));
        let in_file = interrupt::shielded(|| self.write_files(&shown, &text, seen))?;
        if traces_to_stdout {
            let mut trace = Vec::new();
            capture::write_text(seen, &mut trace).expect("memory takes every write");
            terminal::print(&trace)
        } else if in_file {
            Ok(Done::Well)
        } else {
            terminal::print(text.as_bytes())
        }
    }

    /// Writes every file; says whether the results are in one of them.
    fn write_files<P: Serialize>(
        self,
        shown: &Shown<'_, P>,
        text: &str,
        seen: &[(Side, Frame)],
    ) -> Result<bool, Failure> {
        if let Some((path, folder)) = self.svg {
            for (stem, figure) in shown.panels.iter().flat_map(Panel::figures) {
                let name = format!("{stem}.svg");
                folder
                    .write(&name, figure.to_svg().as_bytes())
                    .map_err(|error| failed(&path.join(&name), error))?;
            }
        }
        if let Some((path, file)) = self.html {
            file.write(shown.page().as_bytes())
                .map_err(|error| failed(&path, error))?;
        }
        if let Some((path, file)) = self.pcapng {
            file.fill(|into| capture::write_pcapng(seen, &shown.captured(), into))
                .map_err(|error| failed(&path, error))?;
        }
        if let Some(TraceTo::File(path, file)) = self.trace {
            file.fill(|into| capture::write_text(seen, into))
                .map_err(|error| failed(&path, error))?;
        }
        match self.results {
            Some((path, file)) => {
                file.write(text.as_bytes())
                    .map_err(|error| failed(&path, error))?;
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

/// What every exporter shows.
struct Shown<'a, P> {
    panels: &'a [Panel],
    parameters: &'a P,
    appendix: &'a Appendix,
    published: bool,
}

/// Tables after the panels.
pub(crate) struct Appendix {
    /// Where width is scarce.
    pub(crate) terminal: Vec<Table>,
    /// In a document or a page.
    pub(crate) document: Vec<Table>,
}

impl Appendix {
    /// The same everywhere.
    pub(crate) fn same(tables: Vec<Table>) -> Self {
        Self {
            terminal: tables.clone(),
            document: tables,
        }
    }
}

#[derive(Serialize)]
struct Results<'a> {
    cells: Vec<&'a Cell>,
}

impl<P: Serialize> Shown<'_, P> {
    fn rendered(&self, format: Format, (ink, width): (Ink, usize)) -> String {
        let cells = self.panels.iter().flat_map(|panel| &panel.cells);
        match format {
            Format::Table => {
                self.tables(&self.appendix.terminal, |table| table.to_text(width, ink))
            }
            Format::Markdown => self.tables(&self.appendix.document, Table::to_markdown),
            Format::Csv => csv(cells),
            Format::Json => json(&Document {
                schema: SCHEMA,
                parameters: self.parameters,
                results: Results {
                    cells: cells.collect(),
                },
            }),
        }
    }

    /// The tables of every panel, and those after them.
    fn tables(&self, appendix: &[Table], rendered: impl Fn(&Table) -> String) -> String {
        let of_panels = self
            .panels
            .iter()
            .flat_map(|panel| [panel.scores(self.published), panel.distances()]);
        let all: Vec<_> = of_panels
            .chain(appendix.iter().cloned())
            .map(|table| rendered(&table))
            .collect();
        all.join(
            "
",
        )
    }

    /// What a capture of the only cell is of.
    fn captured(&self) -> String {
        let cells = self.panels.iter().flat_map(|panel| &panel.cells);
        let of = cells.map(|cell| {
            format!(
                "tinygram naglemark, simulated: {}, {}, application buffer {}, socket buffer {}, trial \
                 {}, first repetition; payload is zeros; the trial begins after the opening",
                cell.variant, cell.medium, cell.app_buffer, cell.socket_buffer, cell.trial
            )
        });
        of.collect()
    }

    fn page(&self) -> String {
        let contents = Contents {
            parameters: facts(self.parameters),
            published: self.published,
            appendix: self.appendix.document.clone(),
        };
        page(self.panels, &contents).to_html()
    }
}
