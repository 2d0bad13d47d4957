//! All tables. book/src/reference/tables.md is generated from these constants.

mod diagnose;
mod prevalence;
mod simulated;

pub use diagnose::{CONNECTIONS, ERRORS, FINDINGS, RULED_OUT, VERDICT};
pub use prevalence::{PREVALENCE_COSTS, PREVALENCE_LOG, PREVALENCE_SHARES, RESPONSES};
pub use simulated::{DEADLOCK, NAGLEMARK, POLICIES, REPRODUCE};

use crate::schema::Table;

/// All tables, in the order of the document.
pub const ALL: [&Table; 13] = [
    &FINDINGS,
    &CONNECTIONS,
    &RULED_OUT,
    &VERDICT,
    &ERRORS,
    &PREVALENCE_LOG,
    &PREVALENCE_SHARES,
    &PREVALENCE_COSTS,
    &RESPONSES,
    &NAGLEMARK,
    &REPRODUCE,
    &DEADLOCK,
    &POLICIES,
];

/// Returns the table with this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Table> {
    ALL.into_iter().find(|table| table.name == name)
}

/// Returns all schemas as a document in Markdown.
#[must_use]
pub fn document() -> String {
    let mut out = INTRODUCTION.to_owned();
    for table in ALL {
        out += &format!(
            "\n## {}\n\n{}. Schema `{}`.\n\n| column | type | what it says |\n|---|---|---|\n",
            table.name,
            table.about,
            table.id()
        );
        for column in table.columns {
            let null = if column.nullable { ", or null" } else { "" };
            out += &format!(
                "| `{}` | {}{null} | {} |\n",
                column.name,
                column.kind.name().replace('<', "\\<"),
                column.about
            );
        }
    }
    out
}

const INTRODUCTION: &str = "\
# Tables

The columns of every table that `--format parquet` and `--format arrow`, the Python package and the Spark
data source give; all three have the same. `diagnose --format csv` has them, too. This page is made of the schemas in `crates/tables`
(`UPDATE=1 cargo test -p tinygram-tables` writes it).

A schema's version grows when a column changes its meaning or goes away, not when one is added at the
end. Files carry name and version as the metadata `tinygram.schema`, and each field of an Arrow schema has what is
said here as `about`. Whole numbers are signed and times are microseconds of UTC, which every reader takes;
times finer than that are rounded down, lengths of time are exact.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_their_own() {
        for table in ALL {
            assert_eq!(named(table.name), Some(table));
            for (at, column) in table.columns.iter().enumerate() {
                let earlier = &table.columns[..at];
                assert!(
                    earlier.iter().all(|it| it.name != column.name),
                    "{} has two columns {}",
                    table.name,
                    column.name
                );
            }
        }
    }

    #[test]
    fn the_document_is_what_the_schemas_are() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../book/src/reference/tables.md"
        );
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, document()).expect("the document can be written");
        }
        let written = std::fs::read_to_string(path).expect("book/src/reference/tables.md is there");
        assert!(
            written == document(),
            "book/src/reference/tables.md is out of date: UPDATE=1 cargo test -p tinygram-tables"
        );
    }
}
