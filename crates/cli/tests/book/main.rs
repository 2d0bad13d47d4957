//! The book keeps its word: its commands are run, its links lead somewhere, its pages are short, and the pages that are
//! made of the program are what the program says today.

mod documents;
mod links;
mod pages;
mod reference;
mod sessions;

/// A page that somebody reads. The generated ones are tables to look things up in.
const MOST_LINES: usize = 300;
const GENERATED: &[&str] = &["evidence/reproduction.md", "reference/"];

#[test]
fn no_page_is_longer_than_somebody_reads() {
    let mut long = Vec::new();
    for page in pages::book().into_iter().chain(pages::beside_the_book()) {
        let is_generated = GENERATED.iter().any(|name| page.name.contains(name));
        let lines = page.text.lines().count();
        if lines > MOST_LINES && !is_generated {
            long.push(format!("{}: {lines} lines", page.name));
        }
    }
    assert!(long.is_empty(), "divide them:\n{}", long.join("\n"));
}

#[test]
fn each_page_of_the_book_is_in_its_summary_and_none_is_missing() {
    let summary = pages::read("book/src/SUMMARY.md");
    let mut named: Vec<&str> = links::targets(&summary.text);
    named.sort_unstable();
    let before = named.len();
    named.dedup();
    assert_eq!(named.len(), before, "a page stands twice in SUMMARY.md");
    let mut there: Vec<String> = pages::book().iter().map(pages::Page::in_the_book).collect();
    there.retain(|name| name != "SUMMARY.md");
    there.sort_unstable();
    assert_eq!(
        named, there,
        "SUMMARY.md (left), the pages there are (right)"
    );
}
