//! The page of the JSON documents names every field that the program writes.

use std::fs;

use syn::{Attribute, Item};

use crate::pages;

/// The sections of the page, each with the sources that write its document.
const SECTIONS: [(&str, &[&str]); 3] = [
    (
        "diagnose",
        &["diagnosis/src/json.rs", "diagnosis/src/audit.rs"],
    ),
    (
        "cure",
        &[
            "cli/src/verbs/cure/document.rs",
            "cli/src/verbs/cure/expected.rs",
            "cli/src/verbs/cure/floods.rs",
            "cli/src/verbs/cure/owner.rs",
            "cli/src/verbs/ps/changed.rs",
        ],
    ),
    (
        "set",
        &[
            "cli/src/verbs/set/back.rs",
            "cli/src/verbs/set/programs.rs",
            "cli/src/verbs/set/show.rs",
        ],
    ),
];

#[test]
fn every_field_of_a_document_is_explained() {
    let page = pages::project().join("book/src/reference/json.md");
    let page = fs::read_to_string(page).expect("the page");
    for (verb, sources) in SECTIONS {
        let heading = format!("\n## {verb}\n");
        let (_, section) = page.split_once(&heading).expect(verb);
        let section = section.split("\n## ").next().expect("one");
        let mut fields = Vec::new();
        for source in sources {
            let path = pages::project().join("crates").join(source);
            let text = fs::read_to_string(path).expect(source);
            fields.extend(written(&syn::parse_file(&text).expect(source)));
        }
        assert!(fields.len() > 20, "{verb}: {fields:?}");
        // What the sections begin with, and what stands around all.
        let is_inside = |field: &String| !["schema", "parameters"].contains(&field.as_str());
        for field in fields.into_iter().filter(is_inside) {
            let is_named = [format!("`{field}`"), format!("`{field}[]`")];
            assert!(
                is_named.iter().any(|name| section.contains(name)),
                "json.md says nothing of `{field}` of {verb}"
            );
        }
    }
}

/// What becomes of a trial has a word each.
#[test]
fn every_verdict_of_a_trial_is_explained() {
    let read = |path: &str| fs::read_to_string(pages::project().join(path)).expect(path);
    let source = read("crates/cli/src/verbs/cure/document.rs");
    let (_, verdicts) = source.split_once("verdict: match").expect("the verdicts");
    let (verdicts, _) = verdicts.split_once("},").expect("their end");
    let words: Vec<_> = verdicts.split('"').skip(1).step_by(2).collect();
    assert!(words.len() > 8 && words.contains(&"shared"), "{words:?}");
    let page = read("book/src/reference/json.md");
    for word in words {
        assert!(page.contains(&format!("`{word}`")), "{word}");
    }
}

/// Returns the names of the fields that a source's structures are written with.
fn written(file: &syn::File) -> Vec<String> {
    let mut names = Vec::new();
    for item in &file.items {
        let Item::Struct(item) = item else { continue };
        if !item.attrs.iter().any(|it| says(it, "derive", "Serialize")) {
            continue;
        }
        for field in &item.fields {
            let is_left_out =
                |it: &Attribute| says(it, "serde", "flatten") || says(it, "serde", "skip)");
            if field.attrs.iter().any(is_left_out) {
                continue;
            }
            let renamed = field.attrs.iter().find_map(renamed);
            let own = field.ident.as_ref().map(ToString::to_string);
            names.extend(renamed.or(own));
        }
    }
    names
}

/// Returns whether an attribute of this name has these words.
fn says(attribute: &Attribute, name: &str, words: &str) -> bool {
    attribute.path().is_ident(name)
        && quoted(attribute).is_some_and(|it| format!("{it})").contains(words))
}

fn renamed(attribute: &Attribute) -> Option<String> {
    let said = quoted(attribute).filter(|_| attribute.path().is_ident("serde"))?;
    let (_, name) = said.split_once("rename = \"")?;
    Some(name.split('"').next()?.to_owned())
}

/// Returns what stands in an attribute's brackets.
fn quoted(attribute: &Attribute) -> Option<String> {
    let list = attribute.meta.require_list().ok()?;
    Some(list.tokens.to_string())
}
