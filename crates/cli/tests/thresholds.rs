//! Checks that where a capture, a live host or a program's calls are judged no number stands in the code: thresholds have
//! their home in the law, with a unit and an origin. What is listed here decides nothing.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// Where holds are observed and judged, below `crates/`.
const ROOMS: &[&str] = &[
    "diagnose/src/flow",
    "diagnose/src/verdict",
    "diagnose/src/findings",
    "diagnose/src/across",
    "diagnose/src/report/sight.rs",
    "watch/src/judge.rs",
    "watch/src/packets/mod.rs",
    "cli/src/verbs/ps/verdict.rs",
    "cli/src/verbs/guard/verdict.rs",
    "preload/src/observe.rs",
];

/// Numbers that stand in the code all the same: the file, why they are no thresholds, and the numbers.
const NO_THRESHOLDS: &[(&str, &str, &[&str])] = &[
    (
        "cli/src/verbs/ps/verdict.rs",
        "microseconds in a millisecond",
        &["1e3"],
    ),
    (
        "cli/src/verbs/ps/verdict.rs",
        "nanoseconds in a millisecond",
        &["1e6"],
    ),
    ("preload/src/observe.rs", "a bit", &["62", "63"]),
    (
        "preload/src/observe.rs",
        "nanoseconds in a millisecond",
        &["1_000_000"],
    ),
    ("watch/src/judge.rs", "percent", &["100"]),
    ("watch/src/judge.rs", "memory", &["200_000"]),
    ("watch/src/packets/mod.rs", "memory", &["200_000"]),
    (
        "diagnose/src/findings/tinygram_flood.rs",
        "percent",
        &["100.0"],
    ),
    (
        "diagnose/src/findings/tinygram_flood.rs",
        "three checks about a flood of all segments",
        &["3"],
    ),
    (
        "diagnose/src/flow/connection.rs",
        "bytes that tell a protocol",
        &["4"],
    ),
    (
        "diagnose/src/flow/copies.rs",
        "nanoseconds in a microsecond",
        &["1_000"],
    ),
    (
        "diagnose/src/flow/copies.rs",
        "mixing bits",
        &[
            "13",
            "16",
            "24",
            "32",
            "40",
            "8",
            "0x9e37_79b9_7f4a_7c15",
            "0xc2b2_ae3d_27d4_eb4f",
        ],
    ),
    (
        "diagnose/src/flow/ending.rs",
        "the largest shift of a window (RFC 7323, section 2.3)",
        &["14"],
    ),
    (
        "diagnose/src/flow/facts.rs",
        "an address",
        &["100", "0xc0", "64", "198", "0xfe", "18"],
    ),
    (
        "diagnose/src/flow/facts.rs",
        "TLS's type of a record",
        &["23"],
    ),
    (
        "diagnose/src/flow/half/link.rs",
        "fixed point: sixteenths of a nanosecond",
        &["16"],
    ),
    (
        "diagnose/src/flow/half/numeric.rs",
        "an average over eight samples",
        &["8"],
    ),
    (
        "diagnose/src/flow/half/path.rs",
        "fixed point: sixteenths of a nanosecond",
        &["16"],
    ),
    (
        "diagnose/src/flow/half/path.rs",
        "the largest number means unknown",
        &["0xffff_fffe"],
    ),
    (
        "diagnose/src/flow/half/rounds.rs",
        "the largest number of a byte",
        &["255"],
    ),
    ("diagnose/src/flow/hold.rs", "percent", &["100"]),
    ("diagnose/src/flow/odds.rs", "percent", &["100"]),
    (
        "diagnose/src/flow/odds.rs",
        "nanoseconds in a second",
        &["1e9"],
    ),
    (
        "diagnose/src/flow/odds.rs",
        "seconds in a nanosecond, on both sides",
        &["2e-9"],
    ),
    ("diagnose/src/flow/odds.rs", "terms of a series", &["200"]),
    ("diagnose/src/flow/odds.rs", "quartiles", &["3", "4"]),
    ("diagnose/src/across/pool.rs", "memory", &["1_000", "256"]),
    ("diagnose/src/report/sight.rs", "percent", &["100"]),
    (
        "diagnose/src/report/sight.rs",
        "nanoseconds in a millisecond",
        &["1_000_000"],
    ),
    (
        "diagnose/src/report/sight.rs",
        "nanoseconds in a second",
        &["1_000_000_000"],
    ),
    (
        "diagnose/src/verdict/check.rs",
        "digits that are shown",
        &["0.001", "0.1"],
    ),
    ("diagnose/src/verdict/evidence.rs", "percent", &["100"]),
    ("diagnose/src/verdict/ruled_out.rs", "memory", &["64"]),
    (
        "diagnose/src/verdict/story.rs",
        "memory",
        &["16", "512", "64"],
    ),
    ("diagnose/src/verdict/story.rs", "quartiles", &["3", "4"]),
];

#[test]
fn the_numbers_of_verdicts_stand_in_the_law() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for room in ROOMS {
        collect(&root.join(room), &mut files);
    }
    files.sort();
    assert!(files.len() > 60, "only {} files were found", files.len());
    let (mut wrong, mut used) = (Vec::new(), Vec::new());
    for path in files {
        let name = path.strip_prefix(&root).expect("below it");
        let name = name.to_string_lossy();
        for number in numbers(&fs::read_to_string(&path).expect("a source file")) {
            match exempt().find(|it| *it == (&*name, &*number)) {
                Some(known) => used.push(known),
                None => wrong.push(format!("{name}: {number}")),
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "numbers that belong into crates/stalls/src/thresholds/: {wrong:#?}"
    );
    let gone: Vec<_> = exempt().filter(|it| !used.contains(it)).collect();
    assert!(gone.is_empty(), "in the code no more: {gone:#?}");
}

/// Returns each file with each of its numbers that is no threshold.
fn exempt() -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_each = |(file, _, numbers): &(&'static str, &str, &'static [&'static str])| {
        let file = *file;
        numbers.iter().map(move |number| (file, *number))
    };
    NO_THRESHOLDS.iter().flat_map(of_each)
}

/// The test above would be worthless if it overlooked numbers.
#[test]
fn numbers_are_seen_wherever_they_stand() {
    let text = "
        const LEAST: u32 = 7;
        struct Kept { of: [u8; 99] }
        impl Kept {
            fn is(&self, len: u32) -> bool {
                matches!(len, 8..=9) || len * 10 > 0x0b || self.of.len() > 12_usize && f(1.5, 2.0)
            }
        }
        fn f(a: f64, b: f64) -> bool { match a as u32 { 13 => true, 1 => a > b, _ => false } }
        #[cfg(test)]
        mod tests { fn t() { assert!(14 > 3); } }
    ";
    assert_eq!(
        numbers(text),
        ["7", "8", "9", "10", "0x0b", "12_usize", "1.5", "13"]
    );
}

/// Returns the numbers in the code of a file, but for none, one and two, and but for its tests.
fn numbers(text: &str) -> Vec<String> {
    let mut found = Numbers::default();
    found.visit_file(&syn::parse_file(text).expect("Rust"));
    found.all
}

#[derive(Default)]
struct Numbers {
    all: Vec<String>,
}

impl Numbers {
    fn note(&mut self, literal: &str) {
        let is_number = literal.starts_with(|c: char| c.is_ascii_digit());
        let plain = ["0", "1", "2", "0.0", "1.0", "2.0"];
        let value = literal.trim_end_matches("_f64").trim_end_matches("_u64");
        if is_number && !plain.contains(&value) {
            self.all.push(literal.to_owned());
        }
    }

    fn tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Literal(literal) => self.note(&literal.to_string()),
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Numbers {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !module.attrs.iter().any(|it| it.path().is_ident("cfg")) {
            visit::visit_item_mod(self, module);
        }
    }

    /// Attributes tell of layout and lints.
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    /// The length of an array is how much is kept.
    fn visit_type_array(&mut self, _: &'ast syn::TypeArray) {}

    fn visit_lit_int(&mut self, literal: &'ast syn::LitInt) {
        self.note(&literal.to_string());
    }

    fn visit_lit_float(&mut self, literal: &'ast syn::LitFloat) {
        self.note(&literal.to_string());
    }

    /// The places of tuples are no numbers.
    fn visit_member(&mut self, _: &'ast syn::Member) {}

    fn visit_macro(&mut self, invoked: &'ast syn::Macro) {
        self.tokens(invoked.tokens.clone());
    }
}

/// Collects the source files in a folder and below it, but for tests.
fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a folder of sources") {
            collect(&entry.expect("an entry").path(), files);
        }
    } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs") {
        files.push(path.to_owned());
    }
}
