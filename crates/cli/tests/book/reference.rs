//! The reference is what the program says: a page for each verb, made of its help.
//! `UPDATE=1 cargo test -p tinygram --test book reference` writes the pages.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use crate::pages;

const RENEW: &str = "UPDATE=1 cargo test -p tinygram --test book reference";

#[test]
fn reference_is_what_the_program_says() {
    let help = said(&["help"]);
    let groups = groups(&help);
    assert!(
        groups.iter().map(|group| group.verbs.len()).sum::<usize>() > 15,
        "{help}"
    );
    let mut overview = String::from(
        "# The verbs\n\nOne page for each verb, made of the program's own help (`tinygram help VERB`). The columns of all tables are in\n\
         [Tables](tables.md), the documents of `--json` in [JSON](json.md), the exit codes in [Exit codes](exit-codes.md).\n",
    );
    for group in &groups {
        write!(
            overview,
            "\n## {}\n\n| verb | what it does |\n|---|---|\n",
            group.name
        )
        .expect("a string");
        for (verb, about) in &group.verbs {
            writeln!(
                overview,
                "| [`{verb}`]({verb}.md) | {} |",
                about.replace('|', "\\|")
            )
            .expect("a string");
            let help = said(&["help", verb]);
            let mut text = format!(
                "# {verb}\n\n{about}.\n\n```text\n{}\n```\n",
                help.trim_end()
            );
            for within in commands(&help) {
                let help = said(&["help", verb, within]);
                write!(
                    text,
                    "\n## {verb} {within}\n\n```text\n{}\n```\n",
                    help.trim_end()
                )
                .expect("a string");
            }
            keep(&format!("book/src/reference/{verb}.md"), &text);
        }
    }
    keep("book/src/reference/index.md", &overview);
}

/// Verbs under one heading of the help.
struct Group {
    name: String,
    /// Each with what it does.
    verbs: Vec<(String, String)>,
}

/// Reads the verbs from the help, in their groups.
fn groups(help: &str) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for line in help.lines() {
        if let Some(name) = line.strip_suffix(':').filter(|name| !name.starts_with(' ')) {
            groups.push(Group {
                name: name.to_owned(),
                verbs: Vec::new(),
            });
        } else if let (Some((verb, about)), Some(group)) = (
            line.strip_prefix("  ")
                .and_then(|line| line.split_once("  ")),
            groups.last_mut(),
        ) && !verb.starts_with(['-', ' '])
            && verb != "help"
        {
            group.verbs.push((verb.to_owned(), about.trim().to_owned()));
        }
    }
    groups.retain(|group| !group.verbs.is_empty());
    groups
}

/// Returns the commands that a verb's help lists.
fn commands(help: &str) -> Vec<&str> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = list.take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").collect()
}

/// Returns what the program prints.
fn said(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_tinygram"))
        .args(arguments)
        .env("COLUMNS", "100")
        .output();
    let output = output.expect("tinygram starts");
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Compares a page with what it must be, or writes it.
fn keep(name: &str, text: &str) {
    let path = pages::project().join(name);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(path, text).unwrap_or_else(|error| panic!("{name}: {error}"));
        return;
    }
    let kept = fs::read_to_string(path).unwrap_or_default();
    for (at, (kept, now)) in kept.lines().zip(text.lines()).enumerate() {
        assert_eq!(kept, now, "{name}, line {}; {RENEW}", at + 1);
    }
    assert_eq!(kept.len(), text.len(), "{name}; {RENEW}");
}
