use crate::schema::{Kind, Table};

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// A value of [`Kind::Text`].
    Text(String),
    /// A value of [`Kind::Bool`].
    Bool(bool),
    /// A value of [`Kind::Int`].
    Int(i64),
    /// A value of [`Kind::Float`].
    Float(f64),
    /// A value of [`Kind::Time`], in microseconds.
    Time(i64),
    /// A value of [`Kind::Texts`].
    Texts(Vec<String>),
    /// A value of [`Kind::Ints`].
    Ints(Vec<i64>),
}

/// Rows of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    table: &'static Table,
    rows: Vec<Vec<Value>>,
}

impl Rows {
    /// Returns a table's rows: none yet.
    #[must_use]
    pub fn of(table: &'static Table) -> Self {
        Self {
            table,
            rows: Vec::new(),
        }
    }

    /// Adds one row: each column by name, in the table's order.
    ///
    /// # Panics
    /// Panics if the row's columns are not the table's, which is a bug of the caller.
    pub fn push<'a>(&mut self, row: impl IntoIterator<Item = (&'a str, Value)>) {
        let mut cells = Vec::with_capacity(self.table.columns.len());
        for (name, value) in row {
            let column = self.table.columns.get(cells.len());
            let column = column.unwrap_or_else(|| panic!("{} has no {name}", self.table.name));
            assert_eq!(column.name, name, "in {}", self.table.name);
            let fits = match value.kind() {
                None => column.nullable,
                Some(kind) => kind == column.kind,
            };
            assert!(fits, "{}.{name} takes no {value:?}", self.table.name);
            cells.push(value);
        }
        assert_eq!(cells.len(), self.table.columns.len(), "{}", self.table.name);
        self.rows.push(cells);
    }

    /// Returns the table that the rows belong to.
    #[must_use]
    pub fn table(&self) -> &'static Table {
        self.table
    }

    /// Returns the rows, each with its cells in the columns' order.
    #[must_use]
    pub fn rows(&self) -> &[Vec<Value>] {
        &self.rows
    }
}

impl Value {
    /// Converts nanoseconds since 1970 to a time cell, rounded down to the microsecond.
    #[must_use]
    pub fn time_ns(ns: i64) -> Self {
        Self::Time(ns.div_euclid(1_000))
    }

    /// Converts a length of time in nanoseconds to a cell in milliseconds.
    #[must_use]
    pub fn ms(ns: i64) -> Self {
        Self::Float(ns as f64 / 1e6)
    }

    fn kind(&self) -> Option<Kind> {
        Some(match self {
            Self::Null => return None,
            Self::Text(_) => Kind::Text,
            Self::Bool(_) => Kind::Bool,
            Self::Int(_) => Kind::Int,
            Self::Float(_) => Kind::Float,
            Self::Time(_) => Kind::Time,
            Self::Texts(_) => Kind::Texts,
            Self::Ints(_) => Kind::Ints,
        })
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<Vec<String>> for Value {
    fn from(texts: Vec<String>) -> Self {
        Self::Texts(texts)
    }
}

impl From<Vec<u64>> for Value {
    fn from(numbers: Vec<u64>) -> Self {
        Self::Ints(numbers.into_iter().map(signed).collect())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Int(signed(number))
    }
}

macro_rules! from_small_numbers {
    ($($number:ty),*) => {$(
        impl From<$number> for Value {
            fn from(number: $number) -> Self {
                Self::Int(number.into())
            }
        }
    )*};
}

from_small_numbers!(u8, u16, u32, i64);

/// Returns the largest signed number for counts that exceed it.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{always, perhaps};

    static TABLE: Table = Table {
        name: "test",
        version: 1,
        about: "A row of a test",
        columns: &[
            always("host", Kind::Text, "who"),
            perhaps("cost_ms", Kind::Float, "what it cost"),
        ],
    };

    #[test]
    fn a_row_is_taken_in_the_order_of_its_columns() {
        let mut rows = Rows::of(&TABLE);
        rows.push([("host", "a".into()), ("cost_ms", Value::ms(40_000_000))]);
        rows.push([("host", "b".into()), ("cost_ms", None::<f64>.into())]);
        assert_eq!(rows.rows()[0][1], Value::Float(40.0));
        assert_eq!(rows.rows()[1][1], Value::Null);
    }

    #[test]
    #[should_panic(expected = "test.host takes no Null")]
    fn what_must_be_there_is_missed() {
        Rows::of(&TABLE).push([("host", Value::Null), ("cost_ms", Value::Null)]);
    }

    #[test]
    #[should_panic(expected = "in test")]
    fn a_column_of_another_name_is_refused() {
        Rows::of(&TABLE).push([("client", "a".into())]);
    }

    #[test]
    fn numbers_beyond_what_is_signed_end_there() {
        assert_eq!(Value::from(u64::MAX), Value::Int(i64::MAX));
        assert_eq!(Value::time_ns(-1), Value::Time(-1));
    }
}
