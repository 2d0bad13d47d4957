//! What is shown, and where: opened before the work, filled after it.

use std::path::PathBuf;

use serde::Serialize;
use tinygram_report::naglemark::{Cell, Contents, Panel, SCHEMA, page};
use tinygram_report::{Destination, Document, Folder, Ink, Table, csv, facts, json};

use super::args::{Args, Format};
use crate::exit::{Done, Failure};
use crate::files::{failed, opened};
use crate::{interrupt, terminal};

/// Every place that a run writes to, known to be writable.
pub(crate) struct Outputs {
    format: Format,
    published: bool,
    /// Standard output if absent.
    results: Option<(PathBuf, Destination)>,
    html: Option<(PathBuf, Destination)>,
    svg: Option<(PathBuf, Folder)>,
}

impl Outputs {
    /// Opens what the arguments name, or says what cannot be written.
    pub(crate) fn open(args: &Args) -> Result<Self, Failure> {
        if args.output.is_some() && args.output == args.html {
            let line = "--output and --html name the same file; each needs its own";
            return Err(Failure::Input(line.into()));
        }
        Ok(Self {
            format: args.format,
            published: args.paper,
            results: opened(args.output.as_deref(), Destination::open)?,
            html: opened(args.html.as_deref(), Destination::open)?,
            svg: opened(args.svg.as_deref(), Folder::open)?,
        })
    }

    /// Whether single transfers are shown, so that they must be kept.
    pub(crate) fn shows_transfers(&self) -> bool {
        self.html.is_some() || self.svg.is_some()
    }

    /// Shows what came out: files first, so that a reader who goes away spoils nothing.
    ///
    /// `parameters` is everything that the results depend on.
    pub(crate) fn show(
        self,
        parameters: &impl Serialize,
        appendix: &Appendix,
        panels: &[Panel],
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
        let in_file = interrupt::shielded(|| self.write_files(&shown, &text))?;
        if in_file {
            Ok(Done::Well)
        } else {
            terminal::print(text.as_bytes())
        }
    }

    /// Writes every file; says whether the results are in one of them.
    fn write_files<P: Serialize>(self, shown: &Shown<'_, P>, text: &str) -> Result<bool, Failure> {
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

    fn page(&self) -> String {
        let contents = Contents {
            parameters: facts(self.parameters),
            published: self.published,
            appendix: self.appendix.document.clone(),
        };
        page(self.panels, &contents).to_html()
    }
}
