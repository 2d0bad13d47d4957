//! Checks the allowed arrows of ARCHITECTURE.md: which crate may name which. A crate that is not
//! listed here fails, so that its arrows are considered when it is made. And in no crate may modules
//! name each other in a circle. The arrows inside the engine are checked by its own tests
//! (`crates/engine/tests/arrows.rs`).

#[path = "../../engine/tests/arrows/circles.rs"]
mod circles;
#[path = "../../engine/tests/arrows/sources.rs"]
mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use cargo_metadata::{DependencyKind, MetadataCommand};
use sources::{Module, Sources, module};

/// Every crate of this project and the crates it may depend on. Tests may depend on no others.
const CRATES: &[(&str, &[&str])] = &[
    ("tinygram-coalesce", &[]),
    ("tinygram-engine", &["tinygram-coalesce"]),
    ("tinygram-wire", &["tinygram-engine"]),
    ("tinygram-sim", &["tinygram-engine"]),
    ("tinygram-naglemark", &["tinygram-sim", "tinygram-engine"]),
    (
        "tinygram-naglemark-live",
        &[
            "tinygram-naglemark",
            "tinygram-stack",
            "tinygram-link",
            "tinygram-engine",
            "tinygram-kernel",
        ],
    ),
    (
        "tinygram-papers",
        &[
            "tinygram-naglemark",
            "tinygram-sim",
            "tinygram-engine",
            "tinygram-stalls",
        ],
    ),
    ("tinygram-tcp", &["tinygram-engine", "tinygram-wire"]),
    (
        "tinygram-packetdrill",
        &["tinygram-engine", "tinygram-tcp", "tinygram-wire"],
    ),
    (
        "tinygram-stack",
        &["tinygram-engine", "tinygram-tcp", "tinygram-wire"],
    ),
    ("tinygram-stalls", &[]),
    (
        "tinygram-diagnose",
        &["tinygram-engine", "tinygram-stalls", "tinygram-wire"],
    ),
    (
        "tinygram-diagnosis",
        &[
            "tinygram-diagnose",
            "tinygram-engine",
            "tinygram-report",
            "tinygram-stalls",
            "tinygram-tables",
            "tinygram-wire",
        ],
    ),
    // Through diagnose to the crates it is built on, for live packets.
    (
        "tinygram-watch",
        &[
            "tinygram-diagnose",
            "tinygram-host",
            "tinygram-stalls",
            "tinygram-wire",
            "tinygram-engine",
        ],
    ),
    ("tinygram-host", &["tinygram-link"]),
    ("tinygram-kernel", &["tinygram-host"]),
    ("tinygram-link", &["tinygram-sim"]),
    ("tinygram-mcp", &[]),
    ("tinygram-load", &["tinygram-link"]),
    (
        "tinygram-preload",
        &["tinygram-coalesce", "tinygram-stalls"],
    ),
    ("tinygram-graft", &["tinygram-coalesce"]),
    (
        "tinygram-remedy",
        &[
            "tinygram-host",
            "tinygram-stalls",
            "tinygram-watch",
            "tinygram-whatif",
        ],
    ),
    ("tinygram-report", &[]),
    ("tinygram-tables", &[]),
    ("tinygram-weblog", &[]),
    (
        "tinygram-whatif",
        &[
            "tinygram-diagnose",
            "tinygram-engine",
            "tinygram-sim",
            "tinygram-stalls",
            "tinygram-wire",
        ],
    ),
    (
        "tinygram",
        &[
            "tinygram-coalesce",
            "tinygram-engine",
            "tinygram-graft",
            "tinygram-host",
            "tinygram-kernel",
            "tinygram-wire",
            "tinygram-sim",
            "tinygram-naglemark",
            "tinygram-naglemark-live",
            "tinygram-papers",
            "tinygram-stack",
            "tinygram-stalls",
            "tinygram-tcp",
            "tinygram-diagnose",
            "tinygram-diagnosis",
            "tinygram-link",
            "tinygram-mcp",
            "tinygram-preload",
            "tinygram-remedy",
            "tinygram-report",
            "tinygram-tables",
            "tinygram-watch",
            "tinygram-weblog",
            "tinygram-whatif",
        ],
    ),
];

/// What the program depends on for its tests and the examples in the READMEs alone.
const IN_EXAMPLES: [&str; 2] = ["tinygram-stack", "tinygram-tcp"];

#[test]
fn crates_name_only_what_they_may() {
    let workspace = MetadataCommand::new()
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .no_deps()
        .exec()
        .expect("cargo metadata");
    let allowed: BTreeMap<_, _> = CRATES.iter().copied().collect();
    let mut wrong = Vec::new();
    for package in &workspace.packages {
        let name = package.name.as_str();
        let Some(may) = allowed.get(name) else {
            wrong.push(format!("{name} is not listed in {}", file!()));
            continue;
        };
        for dependency in &package.dependencies {
            let other = dependency.name.as_str();
            // The program's tests name itself, with all features.
            let ours = dependency.path.is_some() && other != name;
            if ours && !may.contains(&other) {
                wrong.push(format!("{name} -> {other} ({})", dependency.kind));
            }
            let of_the_program = name == "tinygram" && IN_EXAMPLES.contains(&other);
            if of_the_program && dependency.kind != DependencyKind::Development {
                wrong.push(format!("{name} -> {other} ({})", dependency.kind));
            }
            // The engine is pure: of our crates it uses the predictor, and of others only those
            // that need no more than an allocator, except in its tests.
            let of_the_engine =
                name == "tinygram-engine" && !ours && !["libm", "thiserror"].contains(&other);
            if of_the_engine && dependency.kind != DependencyKind::Development {
                wrong.push(format!("{name} -> {other} ({})", dependency.kind));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_first_build_needs_no_library_of_mcp() {
    let tree = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["tree", "--locked", "--edges=normal,build", "--prefix=none"])
        .output()
        .expect("cargo tree");
    let tree = String::from_utf8_lossy(&tree.stdout);
    assert!(
        tree.contains("tinygram-sim") && !tree.contains("rmcp"),
        "{tree}"
    );
}

/// Among modules; and among files, where a parent and its child count each as one.
#[test]
fn no_modules_and_no_files_name_each_other_in_a_circle() {
    let mut wrong = Vec::new();
    for folder in roots() {
        let sources = Sources::below(&folder);
        let names = |members: &[Module]| -> String {
            let names: Vec<_> = members.iter().map(|it| it.join("::")).collect();
            names.join(", ")
        };
        for circle in circles::among(&circles::arrows(&sources)) {
            let members = names(&circle.members);
            wrong.push(format!("{folder}: a circle of modules: {members}"));
            for (from, to) in &circle.arrows {
                wrong.push(format!("    {} -> {}", from.join("::"), to.join("::")));
            }
        }
        for circle in circles::among_files(&sources) {
            wrong.push(format!("{folder}: a circle of files: {}", names(&circle)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// As above: the search finds the circles that exist.
#[test]
fn circles_are_seen() {
    let arrow = |from: &str, to: &str| {
        let path = |text: &str| {
            text.split("::")
                .map(ToString::to_string)
                .collect::<Module>()
        };
        (path(from), path(to))
    };
    let members = |arrows: &[(Module, Module)]| -> Vec<String> {
        let found = circles::among(arrows);
        let names = found.iter().map(|circle| circle.members.iter());
        names
            .map(|one| one.map(|it| it.join("::")).collect::<Vec<_>>().join(" "))
            .collect()
    };
    let line = [arrow("a", "b"), arrow("b", "c"), arrow("a", "c")];
    assert!(members(&line).is_empty());
    let round_about = [arrow("a", "b"), arrow("b::x", "c"), arrow("c", "a::y")];
    assert_eq!(members(&round_about), ["a b c"]);
    // A module and those below it count as one; those below it may still form a circle.
    let below = [
        arrow("a", "a::x"),
        arrow("a::x", "a"),
        arrow("a::x", "a::y"),
        arrow("a::y", "a::x"),
    ];
    assert_eq!(members(&below), ["a::x a::y"]);
    // A macro's arguments and imports of imports are searched; tests are not.
    let engine = Sources::of("engine");
    let named = |source| {
        let file = syn::parse_file(source).expect("Rust");
        engine.named_by(&module(&["time"]), &file)
    };
    let outbox = module(&["outbox"]);
    assert!(named("fn f() { assert_eq!(crate::outbox::Outbox::new(), x); }").contains(&outbox));
    assert!(named("mod inner { use super::super::outbox; }").contains(&outbox));
    assert!(!named("#[cfg(test)] mod tests { use crate::outbox::Outbox; }").contains(&outbox));
    assert!(!named("mod inner { use super::Outbox; }").contains(&outbox));
    let flag = "struct Args { #[arg(long, value_parser = crate::outbox::parse)] it: u8 }";
    assert!(named(flag).contains(&outbox));
}

/// What the maps of diagnose's rooms, and of the files in its `run`, say of who names whom.
#[test]
fn the_maps_of_diagnose_say_which_rooms_its_files_name() {
    let sources = Sources::of("diagnose");
    let arrows = circles::arrows(&sources);
    for at in [module(&[]), module(&["run"])] {
        let mut named: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let below = |module: &Module| Some(module.strip_prefix(&*at)?.first()?.clone());
        let rooms: BTreeSet<String> = sources.files.keys().filter_map(below).collect();
        for room in &rooms {
            named.entry(room).or_default();
        }
        for (from, to) in arrows.iter().map(|(from, to)| (below(from), below(to))) {
            let known = |it: Option<String>| rooms.get(&it?).map(String::as_str);
            if let (Some(from), Some(to)) = (known(from), known(to))
                && from != to
            {
                named.entry(from).or_default().insert(to);
            }
        }
        let file = if at.is_empty() {
            "lib.rs"
        } else {
            "run/mod.rs"
        };
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../diagnose/src/");
        let text = fs::read_to_string(format!("{folder}{file}")).expect("a room's head");
        assert_eq!(mapped(&text), named, "{file}");
    }
}

/// Returns the rows of the table at a file's head: the name in the first cell, and those in the third.
fn mapped(text: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let rows = text.lines().filter(|line| line.starts_with("//! | `"));
    rows.map(|row| {
        let cells: Vec<_> = row.split('|').collect();
        let name = cells[1].trim().trim_matches('`');
        (name, cells[3].split('`').skip(1).step_by(2).collect())
    })
    .collect()
}

/// Names of public types that stand in several crates: a new one needs a name of its own, or a line in ARCHITECTURE.md that
/// says what it means in each.
#[test]
fn names_of_types_that_stand_in_two_crates_are_counted() {
    let mut crates_with: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for name in crates() {
        for file in Sources::of(&name).files.values() {
            for of_type in public_types(file) {
                crates_with.entry(of_type).or_default().insert(name.clone());
            }
        }
    }
    let shared: Vec<_> = crates_with
        .iter()
        .filter(|(_, crates)| crates.len() > 1)
        .collect();
    let all = crates_with.len();
    assert!(all > 500, "only {all} names were found");
    let map = fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../ARCHITECTURE.md"
    ));
    let said = format!(
        "{} names of public types stand in two crates or more",
        shared.len()
    );
    assert!(
        map.expect("a map").contains(&said),
        "of {all}, {said}, and ARCHITECTURE.md does not say so: {shared:#?}"
    );
}

/// Returns the names of the public types of a file, without those in its inline modules.
fn public_types(file: &syn::File) -> Vec<String> {
    let is_public = |it: &syn::Visibility| matches!(it, syn::Visibility::Public(_));
    let named = file.items.iter().filter_map(|item| match item {
        syn::Item::Struct(it) => is_public(&it.vis).then_some(&it.ident),
        syn::Item::Enum(it) => is_public(&it.vis).then_some(&it.ident),
        syn::Item::Union(it) => is_public(&it.vis).then_some(&it.ident),
        syn::Item::Trait(it) => is_public(&it.vis).then_some(&it.ident),
        syn::Item::Type(it) => is_public(&it.vis).then_some(&it.ident),
        _ => None,
    });
    named.map(ToString::to_string).collect()
}

/// Returns the folders below `crates/` that have a crate's root file: of each crate, and of what is put into programs, which
/// no manifest names.
fn roots() -> Vec<String> {
    let sources = crates().into_iter().map(|name| format!("{name}/src"));
    sources.chain(["graft/inside".to_owned()]).collect()
}

/// Returns the folders below `crates/`.
fn crates() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let entries = fs::read_dir(folder).expect("the crates' folder");
    let mut names: Vec<_> = entries
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.path().join("src").is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
