//! Turns data into text, JSON, CSV, Markdown, SVG and HTML.
//!
//! Everything shown is data first: a [`Table`], a [`Chart`] or rows that serde can serialise.
//! Exporters turn that data into bytes. Nothing here prints or asks the terminal. Of TCP it
//! knows what a ladder draws: two ends, segments, acknowledgments.
//!
//! | to write | call |
//! |---|---|
//! | a table for a terminal | [`Table::to_text`] |
//! | a list in columns | [`Columns::lines`] |
//! | a table for a document | [`Table::to_markdown`] |
//! | one versioned JSON document | [`json`] with a [`Document`] |
//! | rows as CSV | [`csv()`] |
//! | a chart as SVG | [`Chart::to_svg`] |
//! | tables and charts as one HTML page | [`Page::to_html`] |
//! | any of them into a file, whole or not at all | [`Destination`], [`Folder`] |
//!
//! SVG needs the feature `svg`, and files need the feature `files`; a browser has neither.

mod chart;
#[cfg(feature = "files")]
mod destination;
mod markup;
mod page;
mod rows;
mod table;
pub mod units;

pub use anstyle::{AnsiColor, Style};
pub use chart::{Axis, Band, By, Chart, Choice, Ladder, Line, Mark, Point, Scale, Series, Step};
#[cfg(feature = "files")]
pub use destination::{Destination, Folder};
pub use page::{Article, Badge, Page, Part, Place, Reason, Reasons, Section, facts};
pub use rows::{Document, csv, json};
pub use table::{Align, BOLD, Column, Columns, Entry, Ink, Row, Table, Tone, cut, styled};
