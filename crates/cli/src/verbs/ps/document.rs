//! The versioned documents: of connections, and of the processes that have them.

use std::collections::BTreeSet;

use serde::Serialize;
use tinygram_watch::seen::Seen;

use super::connection::Connection;
use super::summary::Process;
use super::table::Table;

#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: &'static str,
    target: Option<&'a str>,
    /// How much was looked at, before anything was left out.
    seen: Seen,
    processes_not_readable: &'a BTreeSet<i32>,
    #[serde(flatten)]
    rows: Rows<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Rows<'a> {
    Connections(&'a [Connection]),
    Processes(&'a [Process]),
}

impl<'a> Document<'a> {
    /// Returns the document of a table: of its processes, if they were added up, or of its connections.
    pub(super) fn of(
        table: &'a Table,
        processes: Option<&'a [Process]>,
        target: Option<&'a str>,
        seen: Seen,
    ) -> Self {
        let (schema, rows) = match processes {
            Some(processes) => ("tinygram.ps-summary/1", Rows::Processes(processes)),
            None => ("tinygram.ps/1", Rows::Connections(&table.connections)),
        };
        Self {
            schema,
            target,
            seen,
            processes_not_readable: &table.hidden_processes,
            rows,
        }
    }
}
