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

/// Numbers that stand in the code all the same: the file, the number, and why it is no threshold.
const NO_THRESHOLDS: &[(&str, &str, &str)] = &[
    (
        "cli/src/verbs/ps/verdict.rs",
        "1e3",
        "microseconds in a millisecond",
    ),
    (
        "cli/src/verbs/ps/verdict.rs",
        "1e6",
        "nanoseconds in a millisecond",
    ),
    ("preload/src/observe.rs", "62", "a bit"),
    ("preload/src/observe.rs", "63", "a bit"),
    (
        "preload/src/observe.rs",
        "1_000_000",
        "nanoseconds in a millisecond",
    ),
    ("watch/src/judge.rs", "100", "percent"),
    ("watch/src/judge.rs", "200_000", "memory"),
    ("watch/src/packets/mod.rs", "200_000", "memory"),
    (
        "diagnose/src/findings/tinygram_flood.rs",
        "100.0",
        "percent",
    ),
    (
        "diagnose/src/findings/tinygram_flood.rs",
        "3",
        "three checks about a flood of all segments",
    ),
    (
        "diagnose/src/flow/connection.rs",
        "4",
        "bytes that tell a protocol",
    ),
    (
        "diagnose/src/flow/copies.rs",
        "1_000",
        "nanoseconds in a microsecond",
    ),
    ("diagnose/src/flow/copies.rs", "13", "mixing bits"),
    ("diagnose/src/flow/copies.rs", "16", "mixing bits"),
    ("diagnose/src/flow/copies.rs", "24", "mixing bits"),
    ("diagnose/src/flow/copies.rs", "32", "mixing bits"),
    ("diagnose/src/flow/copies.rs", "40", "mixing bits"),
    ("diagnose/src/flow/copies.rs", "8", "mixing bits"),
    (
        "diagnose/src/flow/copies.rs",
        "0x9e37_79b9_7f4a_7c15",
        "mixing bits",
    ),
    (
        "diagnose/src/flow/copies.rs",
        "0xc2b2_ae3d_27d4_eb4f",
        "mixing bits",
    ),
    (
        "diagnose/src/flow/ending.rs",
        "14",
        "the largest shift of a window (RFC 7323, section 2.3)",
    ),
    ("diagnose/src/flow/facts.rs", "100", "an address"),
    ("diagnose/src/flow/facts.rs", "0xc0", "an address"),
    ("diagnose/src/flow/facts.rs", "64", "an address"),
    ("diagnose/src/flow/facts.rs", "198", "an address"),
    ("diagnose/src/flow/facts.rs", "0xfe", "an address"),
    ("diagnose/src/flow/facts.rs", "18", "an address"),
    ("diagnose/src/flow/facts.rs", "23", "TLS's type of a record"),
    (
        "diagnose/src/flow/half/link.rs",
        "16",
        "fixed point: sixteenths of a nanosecond",
    ),
    (
        "diagnose/src/flow/half/numeric.rs",
        "8",
        "an average over eight samples",
    ),
    (
        "diagnose/src/flow/half/path.rs",
        "16",
        "fixed point: sixteenths of a nanosecond",
    ),
    (
        "diagnose/src/flow/half/path.rs",
        "0xffff_fffe",
        "the largest number means unknown",
    ),
    (
        "diagnose/src/flow/half/rounds.rs",
        "255",
        "the largest number of a byte",
    ),
    ("diagnose/src/flow/hold.rs", "100", "percent"),
    ("diagnose/src/flow/odds.rs", "100", "percent"),
    (
        "diagnose/src/flow/odds.rs",
        "1e9",
        "nanoseconds in a second",
    ),
    (
        "diagnose/src/flow/odds.rs",
        "2e-9",
        "seconds in a nanosecond, on both sides",
    ),
    ("diagnose/src/flow/odds.rs", "200", "terms of a series"),
    ("diagnose/src/flow/odds.rs", "3", "quartiles"),
    ("diagnose/src/flow/odds.rs", "4", "quartiles"),
    ("diagnose/src/across/pool.rs", "1_000", "memory"),
    ("diagnose/src/across/pool.rs", "256", "memory"),
    ("diagnose/src/report/sight.rs", "100", "percent"),
    (
        "diagnose/src/report/sight.rs",
        "1_000_000",
        "nanoseconds in a millisecond",
    ),
    (
        "diagnose/src/report/sight.rs",
        "1_000_000_000",
        "nanoseconds in a second",
    ),
    (
        "diagnose/src/verdict/check.rs",
        "0.001",
        "digits that are shown",
    ),
    (
        "diagnose/src/verdict/check.rs",
        "0.1",
        "digits that are shown",
    ),
    ("diagnose/src/verdict/evidence.rs", "100", "percent"),
    ("diagnose/src/verdict/ruled_out.rs", "64", "memory"),
    ("diagnose/src/verdict/story.rs", "16", "memory"),
    ("diagnose/src/verdict/story.rs", "3", "quartiles"),
    ("diagnose/src/verdict/story.rs", "4", "quartiles"),
    ("diagnose/src/verdict/story.rs", "512", "memory"),
    ("diagnose/src/verdict/story.rs", "64", "memory"),
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
            let known = NO_THRESHOLDS
                .iter()
                .find(|(file, known, _)| *file == name && *known == number);
            match known {
                Some(known) => used.push(known),
                None => wrong.push(format!("{name}: {number}")),
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "numbers that belong into crates/stalls/src/thresholds/: {wrong:#?}"
    );
    let gone: Vec<_> = NO_THRESHOLDS
        .iter()
        .filter(|known| !used.contains(known))
        .collect();
    assert!(gone.is_empty(), "in the code no more: {gone:#?}");
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
