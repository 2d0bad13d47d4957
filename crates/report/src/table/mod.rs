//! Tables as data: grouped columns, rows of entries, and notes.

mod columns;
mod html;
mod markdown;
mod styles;
mod text;

pub use columns::{Columns, cut};
pub use styles::{BOLD, styled};

/// A table, ready for any exporter.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// One line above the table.
    pub title: String,
    /// The columns; the first has the rows' names.
    pub columns: Vec<Column>,
    /// The rows, each with one entry per column.
    pub rows: Vec<Row>,
    /// Lines beneath the table: how to read it, and what it does not show.
    pub notes: Vec<String>,
}

/// A column's heading.
#[derive(Clone, Debug)]
pub struct Column {
    /// The group that this column shares with its neighbours of equal group; empty for none.
    pub group: String,
    /// The column's own heading.
    pub head: String,
    /// The alignment of the column's entries.
    pub align: Align,
}

/// The alignment of entries in their column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// To the left, for names.
    Left,
    /// To the right, for numbers.
    Right,
}

/// One row, with as many entries as the table has columns.
pub type Row = Vec<Entry>;

/// One entry of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// The text.
    pub text: String,
    /// A second value to compare with, such as the published one; shown beneath or beside the text.
    pub beside: Option<String>,
    /// How prominent the entry is: 0 not at all, 1 most. The text has the same meaning without it.
    pub weight: f64,
    /// The judgement of the value. The text has the same meaning, so that colour is never alone.
    pub tone: Tone,
    /// The id of what the entry opens on a page, if it opens anything.
    pub opens: Option<String>,
}

/// The judgement of an entry's value. A page shows it as a colour, as strong as the entry's weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// No judgement.
    #[default]
    Plain,
    /// As expected.
    Good,
    /// As expected, with help.
    Fair,
    /// Not as expected, for a known reason.
    Odd,
    /// Not as expected.
    Bad,
}

/// Whether text may carry ANSI styles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// No styles.
    Plain,
    /// ANSI styles. The text has the same meaning without them.
    Styled,
}

impl Column {
    /// Returns a column that belongs to no group.
    pub fn new(head: impl Into<String>, align: Align) -> Self {
        Self {
            group: String::new(),
            head: head.into(),
            align,
        }
    }

    /// Returns a column of words, to the left.
    pub fn words(head: impl Into<String>) -> Self {
        Self::new(head, Align::Left)
    }

    /// Returns a column of numbers, to the right.
    pub fn numbers(head: impl Into<String>) -> Self {
        Self::new(head, Align::Right)
    }

    /// Returns the column as one of this group.
    #[must_use]
    pub fn in_group(self, group: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            ..self
        }
    }
}

impl Entry {
    /// Returns an entry with only a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

impl Table {
    /// Returns the columns after the first as runs of equal group: (group, first column, one past
    /// last).
    ///
    /// Adjacent columns without a group (an empty one) form a run, too.
    fn groups(&self) -> Vec<(&str, usize, usize)> {
        let mut runs: Vec<(&str, usize, usize)> = Vec::new();
        for (at, column) in self.columns.iter().enumerate().skip(1) {
            match runs.last_mut() {
                Some((group, _, end)) if *group == column.group => *end = at + 1,
                _ => runs.push((&column.group, at, at + 1)),
            }
        }
        runs
    }

    fn is_grouped(&self) -> bool {
        self.columns.iter().any(|column| !column.group.is_empty())
    }
}
