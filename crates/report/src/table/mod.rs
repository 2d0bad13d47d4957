//! A table as data: grouped columns, rows of entries, notes beneath.

mod html;
mod markdown;
mod text;

/// A table, ready for any exporter.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// One line above the table.
    pub title: String,
    /// The columns; the first names the rows.
    pub columns: Vec<Column>,
    /// The rows, each with one entry per column.
    pub rows: Vec<Row>,
    /// Lines beneath the table: how to read it, and what it does not show.
    pub notes: Vec<String>,
}

/// A column's heading.
#[derive(Clone, Debug)]
pub struct Column {
    /// What this column shares with its neighbours of equal group; empty if nothing.
    pub group: String,
    /// The column's own heading.
    pub head: String,
    /// Where entries stand in the column.
    pub align: Align,
}

/// Where entries stand in their column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Names.
    Left,
    /// Numbers.
    Right,
}

/// One row; as many entries as the table has columns.
pub type Row = Vec<Entry>;

/// One entry of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// What the entry says.
    pub text: String,
    /// A second value to compare with, such as the published one; shown beneath or beside.
    pub beside: Option<String>,
    /// How much the entry deserves the eye: 0 not at all, 1 most. Never the only bearer of meaning.
    pub weight: f64,
    /// What became of the value; the text says it too, so that colour is never alone.
    pub tone: Tone,
    /// The id of what the entry opens on a page, if it opens anything.
    pub opens: Option<String>,
}

/// What became of an entry's value: a page colours it so, as strongly as its weight says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Nothing is claimed of it.
    #[default]
    Plain,
    /// As it should be.
    Good,
    /// As it should be, with help.
    Fair,
    /// Not as it should be, for a reason that is known.
    Odd,
    /// Not as it should be.
    Bad,
}

/// Whether text may carry ANSI styles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Letters only.
    Plain,
    /// Styles too; the text says the same without them.
    Styled,
}

impl Entry {
    /// Returns an entry that only says something.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

impl Table {
    /// Returns the columns after the first, as runs of equal group: (group, first column, one past last).
    ///
    /// Ungrouped columns (an empty group) stand together too.
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
