//! Checks what a machine can check of how the house reads: each function's comment begins with a verb or with its source,
//! and no file is longer than 500 lines without its own tests. (That no function is longer than 80 is clippy's.)

use std::fs;
use std::path::{Path, PathBuf};

/// First words that name the source by which a function is written.
const SOURCES: &[&str] = &["RFC", "Section", "Figure", "Table"];

/// First words that end like a verb and are none.
const NO_VERBS: &[&str] = &[
    "Acknowledgments",
    "Always",
    "Bytes",
    "Flights",
    "Its",
    "Less",
    "Messages",
    "Others",
    "Segments",
    "Tails",
    "This",
    "Times",
    "Tests",
];

const LONGEST_FILE: usize = 500;

/// A function in a source file.
#[derive(Debug, PartialEq, Eq)]
struct Function {
    name: String,
    /// The line of its name, from 1.
    line: usize,
    /// The first word of its comment, if it has one.
    first_word: Option<String>,
}

#[test]
fn each_functions_comment_begins_with_a_verb() {
    let mut wrong = Vec::new();
    let mut read = 0;
    for (path, text) in files(&["src", "inside"], &["rs"]) {
        for function in functions(&text) {
            let Some(word) = &function.first_word else {
                continue;
            };
            read += 1;
            if !is_verb(word) && !is_source(word) {
                let (name, line) = (&function.name, function.line);
                wrong.push(format!("{path}:{line}: {name}: {word} ..."));
            }
        }
    }
    assert!(read > 3000, "only {read} comments were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_file_is_too_long() {
    let of_crates = ["src", "tests", "benches", "examples", "bpf", "inside"];
    let mut files = files(&of_crates, &["rs", "c", "h"]);
    for folder in [
        "fuzz/fuzz_targets",
        "page/src",
        "python/src",
        "lab/load/src",
    ] {
        files.extend(files_below(&Path::new("../..").join(folder), &["rs"]));
    }
    // What moves out of a file is a noun, not a number of lines.
    let lengths = files
        .iter()
        .map(|(path, text)| (path, text.lines().count()));
    let long = lengths.filter(|(_, lines)| *lines > LONGEST_FILE);
    let wrong: Vec<_> = long
        .map(|(path, lines)| format!("{path}: {lines} lines"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let reaches = ["rs", "c", "h"].map(|it| files.iter().any(|(path, _)| has_extension(path, it)));
    assert!(reaches.iter().all(|one| *one) && files.iter().any(|(path, _)| path.contains("page/")));
}

/// The tests above would be worthless if they saw no functions.
#[test]
fn functions_are_seen() {
    let text = "
impl Half {
    /// Returns one.
    ///
    /// More of it.
    #[inline]
    pub(crate) const fn one(self) -> u32 {
        let f = || {
            1
        };
        f()
    }

    /// The other one.
    fn other();
}
fn bare() {}
";
    let function = |name: &str, line, word: Option<&str>| Function {
        name: name.to_owned(),
        line,
        first_word: word.map(str::to_owned),
    };
    assert_eq!(
        functions(text),
        [
            function("one", 7, Some("Returns")),
            function("other", 15, Some("The")),
            function("bare", 17, None),
        ]
    );
    assert!(is_verb("Returns") && is_verb("Judges"));
    assert!(is_source("RFC") && is_source("`tcp_fin`") && !is_source("The"));
    assert!(!is_verb("The") && !is_verb("This") && !is_verb("What") && !is_verb("returns"));
}

/// Returns the files below these folders of every crate with their text, without a file's own tests. The names begin with
/// the crate's.
fn files(folders: &[&str], extensions: &[&str]) -> Vec<(String, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut all = Vec::new();
    for entry in fs::read_dir(&crates).expect("the crates' folder") {
        let of_crate = Path::new("..").join(entry.expect("an entry").file_name());
        for folder in folders.iter().map(|folder| of_crate.join(folder)) {
            all.extend(files_below(&folder, extensions));
        }
    }
    all.sort();
    all
}

/// Returns the files below a folder, which is named from this crate's, if it is there.
fn files_below(folder: &Path, extensions: &[&str]) -> Vec<(String, String)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    if here.join(folder).is_dir() {
        collect(&here.join(folder), extensions, &mut paths);
    }
    let read = paths.into_iter().map(|path| {
        let text = fs::read_to_string(&path).expect("a source file");
        let tests = text.find("\n#[cfg(test)]\nmod ");
        let text = text[..tests.unwrap_or(text.len())].to_owned();
        let short = path.strip_prefix(here).expect("it is below");
        let short = short.display().to_string();
        (short.trim_start_matches("../").to_owned(), text)
    });
    read.collect()
}

/// Collects the source files in a folder and below it.
fn collect(path: &Path, extensions: &[&str], files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("a folder of sources");
        for entry in entries {
            collect(&entry.expect("an entry").path(), extensions, files);
        }
    } else if extensions.iter().any(|it| has_extension(path, it)) && !path.ends_with("tests.rs") {
        files.push(path.to_owned());
    }
}

fn has_extension(path: impl AsRef<Path>, extension: &str) -> bool {
    path.as_ref().extension().is_some_and(|it| it == extension)
}

/// Returns the functions in a file.
fn functions(text: &str) -> Vec<Function> {
    let lines: Vec<&str> = text.lines().collect();
    let named = lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| Some((at, name(line)?)));
    named
        .map(|(at, name)| Function {
            name,
            line: at + 1,
            first_word: first_word(&lines[..at]),
        })
        .collect()
}

/// Returns the name of the function that a line begins.
fn name(line: &str) -> Option<String> {
    let (before, after) = line.split_once("fn ")?;
    let is_word = |word: &str| {
        ["const", "async", "unsafe"].contains(&word)
            || word.starts_with("pub")
            || (word.starts_with("in ") && word.ends_with(')'))
    };
    let begins = before.trim().is_empty()
        || before.trim().starts_with("pub(in ")
        || before.split_whitespace().all(is_word);
    let end = after.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    (begins && end > 0).then(|| after[..end].to_owned())
}

/// Returns the first word of the comment that ends before the function, whatever attributes stand between.
fn first_word(before: &[&str]) -> Option<String> {
    let mut lines = before.iter().rev().map(|line| line.trim());
    let mut line = lines.next()?;
    while line.starts_with("#[") || line.ends_with(")]") {
        line = lines.next()?;
    }
    let mut first = None;
    while let Some(comment) = line.strip_prefix("///") {
        first = Some(comment);
        line = lines.next().unwrap_or_default();
    }
    // A heading alone, such as that of an unsafe function's conditions, says nothing of the function.
    let word = first?
        .split_whitespace()
        .next()
        .filter(|word| *word != "#")?;
    Some(word.trim_end_matches([',', ':']).to_owned())
}

/// Returns whether a word is a verb in the third person, as far as its letters tell.
fn is_verb(word: &str) -> bool {
    let begins = word.chars().next().is_some_and(char::is_uppercase);
    let is_plain = word.chars().skip(1).all(|c| c.is_ascii_lowercase());
    begins && is_plain && word.ends_with('s') && !NO_VERBS.contains(&word)
}

/// Returns whether a word begins to name what a function follows: a document, a function of another program, or a quotation.
fn is_source(word: &str) -> bool {
    SOURCES.contains(&word) || word.starts_with(['`', '"'])
}
