//! The pages: those of the book, and the documents beside it.

use std::fs;
use std::path::{Path, PathBuf};

/// A document in Markdown.
#[derive(Debug)]
pub(crate) struct Page {
    /// Its path below the project's folder.
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Page {
    /// Returns its path below the book's sources.
    pub(crate) fn in_the_book(&self) -> String {
        self.name.trim_start_matches("book/src/").to_owned()
    }
}

/// Returns the project's folder.
pub(crate) fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reads one document.
pub(crate) fn read(name: &str) -> Page {
    let text =
        fs::read_to_string(project().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    Page {
        name: name.to_owned(),
        text,
    }
}

/// Reads all pages of the book.
pub(crate) fn book() -> Vec<Page> {
    let pages = below("book/src");
    assert!(pages.len() > 30, "{} pages", pages.len());
    pages
}

/// Reads the documents that stand beside the book.
pub(crate) fn beside_the_book() -> Vec<Page> {
    let mut pages: Vec<Page> = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "page/README.md",
        "python/README.md",
        "lab/README.md",
        "scenarios/README.md",
    ]
    .map(read)
    .into();
    pages.extend(below("docs"));
    pages
}

/// Reads all documents below a folder, in the order of their names.
fn below(folder: &str) -> Vec<Page> {
    let mut pages = Vec::new();
    let Ok(entries) = fs::read_dir(project().join(folder)) else {
        return pages;
    };
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("a name in UTF-8")
        })
        .collect();
    names.sort_unstable();
    for name in names {
        let path = format!("{folder}/{name}");
        if project().join(&path).is_dir() {
            pages.extend(below(&path));
        } else if path.ends_with(".md") {
            pages.push(read(&path));
        }
    }
    pages
}
