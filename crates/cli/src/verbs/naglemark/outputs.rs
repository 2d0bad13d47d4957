//! The outputs of a run: opened before the work, filled after it.

use std::path::PathBuf;

use serde::Serialize;
use tinygram_report::{Destination, Document, Folder, Ink, Table, csv, facts, json};
use tinygram_sim::medium::{MediumFrame, Side};
use tinygram_tables::{Rows, schemas};

use super::args::{Args, Format};
use super::show::{Contents, Panel, Record, SCHEMA, page, row};
use crate::capture::{self, Kept};
use crate::files::{each_its_own, failed, opened};
use crate::outcome::{Done, Failure};
use crate::shown::{self, Rendered};
use crate::{stop, terminal};

/// Every output of a run, checked to be writable.
pub(crate) struct Outputs {
    format: Format,
    published: bool,
    /// Standard output if absent.
    results: Option<(PathBuf, Destination)>,
    html: Option<(PathBuf, Destination)>,
    svg: Option<(PathBuf, Folder)>,
    capture: Kept,
}

impl Outputs {
    /// Opens the outputs that the arguments name, or says which cannot be written.
    pub(crate) fn open(args: &Args) -> Result<Self, Failure> {
        shown::check(args.format, args.results.output.as_deref())?;
        let files = [
            ("--output", &args.results.output),
            ("--html", &args.html),
            ("--pcapng", &args.packets.pcapng),
            ("--trace", &args.packets.trace),
        ];
        each_its_own(&files)?;
        Ok(Self {
            format: args.format,
            published: args.paper,
            results: opened(args.results.output.as_deref(), Destination::open)?,
            html: opened(args.html.as_deref(), Destination::open)?,
            svg: opened(args.svg.as_deref(), Folder::open)?,
            capture: Kept::open(
                args.packets.pcapng.as_deref(),
                args.packets.trace.as_deref(),
            )?,
        })
    }

    /// Returns whether single transfers are shown, so that they must be kept.
    pub(crate) fn shows_transfers(&self) -> bool {
        self.html.is_some() || self.svg.is_some()
    }

    /// Returns whether single segments of some transfers are shown.
    pub(crate) fn shows_ladders(&self) -> bool {
        self.html.is_some()
    }

    /// Shows the results. Files come first, so that they are complete even if the reader of
    /// standard output goes away.
    ///
    /// `parameters` is everything that the results depend on; `seen` has the frames of a capture.
    pub(crate) fn show(
        self,
        parameters: &impl Serialize,
        appendix: &Appendix,
        panels: &[Panel],
        seen: &[(Side, MediumFrame)],
    ) -> Result<Done, Failure> {
        let shown = Shown {
            panels,
            parameters,
            appendix,
            published: self.published,
        };
        // A file is read in an editor or a pager, whatever the terminal is.
        let canvas = match self.results {
            Some(_) => (Ink::Plain, terminal::WIDTH),
            None => terminal::canvas(terminal::WIDTH),
        };
        let results = match shown::encoding(self.format) {
            Some(encoding) => Rendered::rows(&rows(panels), encoding)?,
            None => Rendered::Text(shown.rendered(self.format, canvas)),
        };
        let traces_to_stdout = self.capture.goes_to_stdout();
        let in_file = stop::shielded(|| self.write_files(&shown, &results, seen))?;
        if traces_to_stdout {
            capture::print(seen)
        } else if in_file {
            Ok(Done::Well)
        } else {
            results.print()
        }
    }

    /// Writes every file; returns whether the results are in one of them.
    fn write_files<P: Serialize>(
        self,
        shown: &Shown<'_, P>,
        results: &Rendered,
        seen: &[(Side, MediumFrame)],
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
        self.capture.write_files(seen, &shown.captured())?;
        match self.results {
            Some((path, file)) => {
                file.write(results.bytes())
                    .map_err(|error| failed(&path, error))?;
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

/// Returns the cells of all panels.
pub(super) fn rows(panels: &[Panel]) -> Rows {
    let mut rows = Rows::of(&schemas::NAGLEMARK);
    for cell in panels.iter().flat_map(|panel| &panel.cells) {
        rows.push(row(cell));
    }
    rows
}

/// The data of all exporters.
struct Shown<'a, P> {
    panels: &'a [Panel],
    parameters: &'a P,
    appendix: &'a Appendix,
    published: bool,
}

/// The tables after the panels.
pub(crate) struct Appendix {
    /// For output of limited width.
    pub(crate) terminal: Vec<Table>,
    /// For a document or a page.
    pub(crate) document: Vec<Table>,
}

impl Appendix {
    /// Returns an appendix with the same tables everywhere.
    pub(crate) fn same(tables: Vec<Table>) -> Self {
        Self {
            terminal: tables.clone(),
            document: tables,
        }
    }
}

#[derive(Serialize)]
struct Results<'a> {
    cells: Vec<&'a Record>,
}

impl<P: Serialize> Shown<'_, P> {
    fn rendered(&self, format: Format, (ink, width): (Ink, usize)) -> String {
        let cells = self.panels.iter().flat_map(|panel| &panel.cells);
        match format {
            // The other formats are rows, not text.
            Format::Table | Format::Parquet | Format::Arrow => {
                let tables =
                    self.tables(&self.appendix.terminal, |table| table.to_text(width, ink));
                format!("{}{tables}", self.sentences(width, ink))
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

    /// Returns the results in sentences, one per panel.
    fn sentences(&self, width: usize, ink: Ink) -> String {
        let sentence = |panel: &Panel| {
            let alone = Table {
                title: panel.sentence()?,
                ..Table::default()
            };
            Some(alone.to_text(width, ink) + "\n")
        };
        self.panels.iter().filter_map(sentence).collect()
    }

    /// Returns the tables of all panels, and those after them.
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

    /// Returns the description of a capture of the only cell.
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
            origin: shown::origin(),
            appendix: self.appendix.document.clone(),
        };
        page(self.panels, &contents).to_html()
    }
}
