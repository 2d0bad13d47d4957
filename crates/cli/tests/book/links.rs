//! Links within the project lead to files that are there, and to headings that are there.

use crate::pages::{self, Page};

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    let pages = pages::book().into_iter().chain(pages::beside_the_book());
    for page in pages.chain([pages::read("CHANGELOG.md")]) {
        for target in targets(&page.text) {
            seen += 1;
            if let Err(why) = follow(&page, target) {
                wrong.push(format!("{}: {target}: {why}", page.name));
            }
        }
    }
    assert!(seen > 100, "only {seen} links were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns what the links of a text lead to within the project.
pub(crate) fn targets(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        for (at, _) in line.match_indices("](") {
            let rest = &line[at + 2..];
            let Some(target) = rest.split(')').next() else {
                continue;
            };
            if !target.contains("://") && !target.starts_with("mailto:") && !target.contains(' ') {
                found.push(target);
            }
        }
    }
    found
}

/// Says why a link does not lead anywhere.
fn follow(from: &Page, target: &str) -> Result<(), String> {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = from.name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let name = if path.is_empty() {
        from.name.clone()
    } else {
        normal(&format!("{folder}/{path}"))
    };
    if !pages::project().join(&name).exists() {
        return Err(format!("there is no {name}"));
    }
    let of_the_book = |name: &str| name.starts_with("book/src/");
    let is_page = of_the_book(&name) || !name.ends_with(".md");
    if of_the_book(&from.name) && !is_page {
        return Err("mdBook makes a link to .html of it: write its path as code".to_owned());
    }
    if name.ends_with("/README.md") && of_the_book(&name) {
        return Err("mdBook makes an index.html of it: name it index.md".to_owned());
    }
    if anchor.is_empty() || !name.ends_with(".md") {
        return Ok(());
    }
    let there = pages::read(&name);
    let has = there
        .text
        .lines()
        .filter(|line| line.starts_with('#'))
        .any(|line| anchor_of(line) == anchor);
    if has {
        Ok(())
    } else {
        Err(format!("{name} has no such heading"))
    }
}

/// Returns a path without `..` and empty parts.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns the anchor of a heading, as mdBook and GitHub make it.
fn anchor_of(heading: &str) -> String {
    heading
        .trim_start_matches('#')
        .trim()
        .to_lowercase()
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            c if c.is_alphanumeric() => Some(c),
            _ => None,
        })
        .collect()
}

#[test]
fn anchors_are_those_of_the_readers() {
    assert_eq!(anchor_of("## How it is put back"), "how-it-is-put-back");
    assert_eq!(anchor_of("# `tinygram ps`"), "tinygram-ps");
    assert_eq!(
        normal("book/src/mend/../choose/x.md"),
        "book/src/choose/x.md"
    );
}
