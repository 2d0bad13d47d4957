//! The tables that tinygram writes: their columns, and their rows as Arrow and Parquet.
//!
//! A [`Table`] is a schema with a name and a version; the schemas are Rust constants ([`schemas`]).
//! [`Rows`] are the rows of one table. The command line, the Python package and the Spark data
//! source all take their schemas from here. With the feature `arrow`, rows become record batches
//! and files; without it the crate depends on nothing. So a command line that was built without the
//! feature can still check a request before it says that it lacks the feature.
//!
//! All whole numbers are signed and all times are microseconds of UTC, because every reader of
//! Parquet and Arrow accepts those.

#[cfg(feature = "arrow")]
mod batch;
mod csv;
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

/// A file format for rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Parquet, compressed with Snappy.
    Parquet,
    /// Arrow's file format (version 2 of Feather).
    Arrow,
}

/// The error that rows could not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotWritten(pub String);

impl std::fmt::Display for NotWritten {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotWritten {}

impl Encoding {
    /// Whether rows can be written at all: true if the feature `arrow` is on.
    pub const BUILT: bool = cfg!(feature = "arrow");

    /// Returns the name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }

    /// Returns the rows as the content of a file.
    ///
    /// # Errors
    /// Always fails without the feature `arrow`.
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
