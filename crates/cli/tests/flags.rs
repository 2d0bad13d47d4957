//! Compares the table of CONTRIBUTING.md with the flags that several verbs have, by the book's reference, which is made of
//! the help.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Flags that clap gives every verb.
const OF_CLAP: [&str; 2] = ["--help", "--version"];

#[test]
fn contributing_lists_the_flags_that_several_verbs_have() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let flags = flags(&project.join("book/src/reference"));
    let shared: BTreeMap<_, _> = flags
        .into_iter()
        .filter(|(flag, verbs)| verbs.len() > 1 && !OF_CLAP.contains(&flag.as_str()))
        .collect();
    assert!(shared.contains_key("--json"), "the reference has flags");
    let text = fs::read_to_string(project.join("CONTRIBUTING.md")).expect("it is there");
    let listed = listed(&text);
    let wrong: Vec<_> = shared
        .keys()
        .chain(listed.keys())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .filter(|flag| shared.get(*flag) != listed.get(*flag))
        .map(|flag| {
            format!(
                "{flag}: {:?}; listed: {:?}",
                shared.get(flag),
                listed.get(flag)
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns each flag with the verbs that have it.
fn flags(reference: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut flags: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in fs::read_dir(reference).expect("the reference") {
        let path = entry.expect("an entry").path();
        let verb = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let text = fs::read_to_string(&path).expect("a page");
        for flag in text.lines().filter_map(flag) {
            flags.entry(flag).or_default().insert(verb.clone());
        }
    }
    flags
}

/// Returns the flag that a line of help begins with.
fn flag(line: &str) -> Option<String> {
    let words = line.trim_start();
    let indent = line.len() - words.len();
    let long = match words.split_once(", ") {
        Some((short, long)) if short.len() == 2 && short.starts_with('-') => long,
        _ => words,
    };
    let name: String = long
        .chars()
        .take_while(|c| c.is_ascii_lowercase() || *c == '-')
        .collect();
    ((2..=6).contains(&indent) && name.len() > 2 && name.starts_with("--")).then_some(name)
}

/// Returns the rows of the table: each flag with its verbs.
fn listed(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let (_, section) = text
        .split_once("## Flags that several verbs have")
        .expect("the section");
    let (section, _) = section.split_once("\n## ").expect("another section");
    let rows = section.lines().filter(|line| line.starts_with("| `--"));
    rows.map(|row| {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let flag = cells[0].trim_matches('`').to_owned();
        let verbs = cells[cells.len() - 1].split(", ").map(str::to_owned);
        (flag, verbs.collect())
    })
    .collect()
}

/// The test above would be worthless if it saw no flags.
#[test]
fn flags_are_seen() {
    let seen = |line| flag(line);
    assert_eq!(seen("      --junit <FILE>"), Some("--junit".to_owned()));
    assert_eq!(
        seen("  -i, --interface <INTERFACE>"),
        Some("--interface".to_owned())
    );
    assert_eq!(seen("          --not a flag"), None);
    assert_eq!(seen("  tinygram guard --junit guard.xml"), None);
}
