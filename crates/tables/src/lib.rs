//! The tables that tinygram gives: what their columns are, and rows of them as Arrow and Parquet.
//!
//! A [`Table`] is a schema with a name and a version, in Rust constants ([`schemas`]); [`Rows`] are rows of
//! one. The command line, the Python package and the Spark data source all take their schemas from here.
//! With the feature `arrow`, rows become record batches and files; without it the crate depends on
//! nothing, so that the command line can check what was asked for before it says that it was built without.
//!
//! Whole numbers are signed and times are microseconds of UTC throughout: every reader of Parquet and Arrow
//! takes those.

#[cfg(feature = "arrow")]
mod batch;
#[cfg(feature = "arrow")]
mod encode;
mod rows;
mod schema;
pub mod schemas;

#[cfg(feature = "arrow")]
pub use arrow_array;
#[cfg(feature = "arrow")]
pub use batch::{batch, schema};
pub use rows::{Rows, Value};
pub use schema::{Column, Kind, Table};

/// How rows are written to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Parquet, compressed with Snappy.
    Parquet,
    /// Arrow's file format (version 2 of Feather).
    Arrow,
}

/// Rows could not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotWritten(pub String);

impl std::fmt::Display for NotWritten {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotWritten {}

impl Encoding {
    /// True where rows can be written at all: the feature `arrow` is on.
    pub const BUILT: bool = cfg!(feature = "arrow");

    /// Returns the name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }

    /// Returns a file's content.
    ///
    /// # Errors
    /// Without the feature `arrow`, always.
    pub fn of(self, rows: &Rows) -> Result<Vec<u8>, NotWritten> {
        #[cfg(feature = "arrow")]
        return encode::encoded(self, rows).map_err(|error| NotWritten(error.to_string()));
        #[cfg(not(feature = "arrow"))]
        {
            let _ = rows;
            Err(NotWritten("built without the feature `arrow`".to_owned()))
        }
    }
}
