//! Rows in; text, JSON, CSV, Markdown, SVG and HTML out.
//!
//! What is shown is data first: a [`Table`], a [`Figure`] or rows that serde knows. Exporters
//! turn that data into bytes, and nothing here prints, asks the terminal or knows TCP.
//!
//! | to write | call |
//! |---|---|
//! | a table for a terminal | [`Table::to_text`] |
//! | a table for a document | [`Table::to_markdown`] |
//! | one versioned JSON document | [`json`] with a [`Document`] |
//! | rows as CSV | [`csv()`] |
//! | a figure as SVG | [`Figure::to_svg`] |
//! | tables and plots as one HTML page | [`Page::to_html`] |
//! | any of them into a file, whole or not at all | [`Destination`], [`Folder`] |
//!
//! [`prevalence`] lays out the numbers of Mogul & Minshall's Table 1.

mod destination;
mod figure;
mod markup;
mod page;
pub mod prevalence;
mod rows;
mod table;
pub mod units;

pub use destination::{Destination, Folder};
pub use figure::{Figure, Line, Point};
pub use page::{
    Article, Axis, Badge, Chart, Curve, Mark, Page, Part, Place, Plot, Reason, Reasons, Section,
    Series, facts,
};
pub use rows::{Document, csv, json};
pub use table::{Align, Column, Entry, Ink, Row, Table, Tone};
