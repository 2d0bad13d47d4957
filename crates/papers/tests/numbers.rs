//! Checks that every number of the five papers has its row, or the reason why it has none:
//! `numbers/*.tsv`.
//!
//! A line there has a line of the paper's text, numbers of it in their order, and either rows
//! (`experiment`, or `experiment: words of the row's cell`, several separated by `; `) or `- ` and
//! a reason.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tinygram_papers::experiment::{Effort, Row};
use tinygram_papers::value::PaperValue;

/// A paper's list, and the name of its text.
struct List {
    text: String,
    entries: Vec<Entry>,
}

struct Entry {
    line: usize,
    numbers: Vec<String>,
    target: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("numbers")
}

fn lists() -> Vec<List> {
    let mut paths: Vec<_> = std::fs::read_dir(folder())
        .expect("the lists are there")
        .map(|entry| entry.expect("a file").path())
        .collect();
    paths.sort();
    paths.iter().map(|path| List::read(path)).collect()
}

impl List {
    fn read(path: &Path) -> Self {
        let tsv = std::fs::read_to_string(path).expect("a list");
        let (head, lines) = tsv.split_once('\n').expect("a head");
        let text = head.trim_start_matches("# ").split(':').next();
        let entry = |line: &str| {
            let [number, numbers, target] = line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{}: {line}", path.display());
            };
            Entry {
                line: number.parse().expect("a line's number"),
                numbers: numbers.split(' ').map(String::from).collect(),
                target: target.into(),
            }
        };
        Self {
            text: text.expect("a name").into(),
            entries: lines.lines().map(entry).collect(),
        }
    }
}

impl Entry {
    /// Returns the rows it names, each an experiment's id and words of a cell.
    fn rows(&self) -> impl Iterator<Item = (&str, &str)> {
        let named = (!self.target.starts_with("- ")).then_some(self.target.as_str());
        let each = named.into_iter().flat_map(|all| all.split("; "));
        each.map(|one| one.split_once(": ").unwrap_or((one, "")))
    }
}

/// Digits, and points and commas between them.
fn numbers_of(line: &str) -> Vec<String> {
    let mut numbers: Vec<String> = Vec::new();
    let mut pending = None;
    let mut open = false;
    for char in line.chars() {
        match char {
            '0'..='9' => {
                if !open {
                    numbers.push(String::new());
                }
                let last = numbers.last_mut().expect("one is open");
                last.extend(pending.take());
                last.push(char);
                open = true;
            }
            '.' | ',' if open && pending.is_none() => pending = Some(char),
            _ => (open, pending) = (false, None),
        }
    }
    numbers
}

#[test]
fn a_number_ends_where_its_digits_do() {
    assert_eq!(
        numbers_of("1,565,207 of 8.7% (N=3)."),
        ["1,565,207", "8.7", "3"]
    );
    assert_eq!(
        numbers_of("1460, 1460,1176.. 5"),
        ["1460", "1460,1176", "5"]
    );
}

#[test]
fn no_number_of_the_papers_is_forgotten() {
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/papers");
    for list in lists() {
        let Ok(text) = std::fs::read_to_string(papers.join(&list.text)) else {
            println!("skipped: no ../shared/papers/{}", list.text);
            continue;
        };
        let mut listed: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for entry in &list.entries {
            let of_line = listed.entry(entry.line).or_default();
            of_line.extend(entry.numbers.iter().cloned());
        }
        for (at, line) in (1..).zip(text.lines()) {
            let wanted = numbers_of(line);
            let of_line = listed.remove(&at).unwrap_or_default();
            assert_eq!(of_line, wanted, "{}, line {at}", list.text);
        }
        assert!(listed.is_empty(), "{}: {listed:?}", list.text);
    }
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn every_row_that_a_list_names_is_there() {
    let lists = lists();
    assert_eq!(lists.len(), 5);
    let named = lists.iter().flat_map(|list| &list.entries);
    let named: Vec<(&str, &str)> = named.flat_map(Entry::rows).collect();
    let effort = Effort {
        repetitions: 1,
        ..Effort::PAPER
    };
    let mut cells: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for experiment in tinygram_papers::experiments() {
        if named.iter().any(|(id, _)| *id == experiment.id) {
            let rows = (experiment.run)(&effort).rows;
            let held = rows.iter().filter(|row| row.standard.is_some());
            cells.insert(experiment.id, held.map(cell).collect());
        }
    }
    let is_there = |(id, words): &&(&str, &str)| {
        let cells = cells.get(id);
        cells.is_some_and(|cells| cells.iter().any(|cell| cell.contains(words)))
    };
    let missing: Vec<_> = named.iter().filter(|row| !is_there(row)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(named.len() > 300, "{}", named.len());
}

/// Returns a row's cell, in one line.
fn cell(row: &Row) -> String {
    let words = row.cell.iter().map(|(name, value)| match value {
        PaperValue::Text(text) => text.clone(),
        PaperValue::Count(octets) if *octets >= 1024 && octets.is_multiple_of(1024) => {
            format!("{name} {}K", octets / 1024)
        }
        other => format!("{name} {other}"),
    });
    words.collect::<Vec<_>>().join(", ")
}
