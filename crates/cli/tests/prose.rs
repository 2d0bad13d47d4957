//! Checks what a machine can check of how the rooms of stalls read: each function's comment begins with a verb, no function
//! is longer than 80 lines, and no file longer than 500 without its tests.

use std::fs;
use std::path::{Path, PathBuf};

/// The sources that are read, below `crates/`.
const SOURCES: &[&str] = &[
    "stalls/src",
    "diagnose/src",
    "diagnosis/src",
    "watch/src/judge.rs",
    "watch/src/who.rs",
    "watch/src/finding.rs",
    "watch/src/seen.rs",
];

/// First words that end like a verb and are none.
const NO_VERBS: &[&str] = &[
    "Acknowledgments",
    "Always",
    "Answers",
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

const LONGEST_FUNCTION: usize = 80;
const LONGEST_FILE: usize = 500;

/// A function in a source file.
#[derive(Debug, PartialEq, Eq)]
struct Function {
    name: String,
    /// The line of its name, from 1.
    line: usize,
    /// How many lines it has.
    len: usize,
    /// The first word of its comment, if it has one.
    first_word: Option<String>,
}

#[test]
fn each_functions_comment_begins_with_a_verb() {
    let mut wrong = Vec::new();
    let mut read = 0;
    for (path, text) in sources() {
        for function in functions(&text) {
            let Some(word) = &function.first_word else {
                continue;
            };
            read += 1;
            if !is_verb(word) {
                let (name, line) = (&function.name, function.line);
                wrong.push(format!("{}:{line}: {name}: {word} ...", path.display()));
            }
        }
    }
    assert!(read > 300, "only {read} comments were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_function_and_no_file_is_too_long() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let lines = text.lines().count();
        if lines > LONGEST_FILE {
            wrong.push(format!("{}: {lines} lines", path.display()));
        }
        let long = functions(&text)
            .into_iter()
            .filter(|it| it.len > LONGEST_FUNCTION);
        wrong.extend(long.map(|it| {
            let (name, len) = (it.name, it.len);
            format!("{}:{}: {name} has {len} lines", path.display(), it.line)
        }));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
    let function = |name: &str, line, len, word: Option<&str>| Function {
        name: name.to_owned(),
        line,
        len,
        first_word: word.map(str::to_owned),
    };
    assert_eq!(
        functions(text),
        [
            function("one", 7, 6, Some("Returns")),
            function("other", 15, 1, Some("The")),
            function("bare", 17, 1, None),
        ]
    );
    assert!(is_verb("Returns") && is_verb("Judges"));
    assert!(!is_verb("The") && !is_verb("This") && !is_verb("What") && !is_verb("returns"));
}

/// Returns the files with their text, without tests.
fn sources() -> Vec<(PathBuf, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for source in SOURCES {
        collect(&crates.join(source), &mut files);
    }
    files.sort();
    let read = files.into_iter().map(|path| {
        let text = fs::read_to_string(&path).expect("a source file");
        let tests = text.find("\n#[cfg(test)]\nmod ");
        let text = text[..tests.unwrap_or(text.len())].to_owned();
        (path, text)
    });
    read.collect()
}

/// Collects the source files in a folder and below it.
fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("a folder of sources");
        for entry in entries {
            collect(&entry.expect("an entry").path(), files);
        }
    } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs") {
        files.push(path.to_owned());
    }
}

/// Returns the functions in a file that is formatted: a function ends with a brace that is indented as it is.
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
            len: len(&lines[at..]),
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

/// Returns how many lines the function has that begins here.
fn len(lines: &[&str]) -> usize {
    let first = lines[0];
    if first.ends_with(';') || first.ends_with('}') {
        return 1;
    }
    let indent = &first[..first.len() - first.trim_start().len()];
    let ends = |line: &&str| {
        let rest = line.strip_prefix(indent);
        rest.is_some_and(|rest| {
            rest == "}" || rest == ");" || rest.starts_with(") -> ") && rest.ends_with(';')
        })
    };
    let end = lines.iter().skip(1).position(ends);
    end.map_or(lines.len(), |end| end + 2)
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
    let word = first?.split_whitespace().next()?;
    Some(word.trim_end_matches([',', ':']).to_owned())
}

/// Returns whether a word is a verb in the third person, as far as its letters tell.
fn is_verb(word: &str) -> bool {
    let begins = word.chars().next().is_some_and(char::is_uppercase);
    let is_plain = word.chars().skip(1).all(|c| c.is_ascii_lowercase());
    begins && is_plain && word.ends_with('s') && !NO_VERBS.contains(&word)
}
