//! The allowed arrows of ARCHITECTURE.md, kept by force: which crate may name which, and which
//! module of the engine may name which other. A crate or a module that is not listed here is a
//! failure, so that its arrows are thought about when it is made.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cargo_metadata::{DependencyKind, MetadataCommand};
use syn::visit::Visit;

/// Every crate of ours with the crates of ours that it may depend on. Tests may depend on no more.
const CRATES: &[(&str, &[&str])] = &[
    ("tinygram-engine", &[]),
    ("tinygram-wire", &["tinygram-engine"]),
    ("tinygram-sim", &["tinygram-engine"]),
    ("tinygram-papers", &["tinygram-sim", "tinygram-engine"]),
    ("tinygram-stack", &["tinygram-engine", "tinygram-wire"]),
    ("tinygram-diagnose", &["tinygram-engine", "tinygram-wire"]),
    // Through diagnose to what it stands on, for live packets.
    (
        "tinygram-watch",
        &["tinygram-diagnose", "tinygram-wire", "tinygram-engine"],
    ),
    ("tinygram-link", &[]),
    ("tinygram-preload", &[]),
    ("tinygram-report", &[]),
    ("tinygram-weblog", &[]),
    (
        "tinygram",
        &[
            "tinygram-engine",
            "tinygram-wire",
            "tinygram-sim",
            "tinygram-papers",
            "tinygram-stack",
            "tinygram-diagnose",
            "tinygram-link",
            "tinygram-preload",
            "tinygram-report",
            "tinygram-watch",
            "tinygram-weblog",
        ],
    ),
];

/// The engine's modules below the crate with those they may name besides their own.
const MODULES: &[(&str, &[&str])] = &[
    ("time", &[]),
    ("offset", &[]),
    ("options", &["offset", "time"]),
    ("extensions", &["time"]),
    ("segment", &["offset", "options"]),
    ("outbox", &["segment"]),
    ("socket", &[]),
    (
        "sender",
        &[
            "extensions",
            "offset",
            "options",
            "outbox",
            "segment",
            "time",
        ],
    ),
    ("receiver", &["offset", "options", "segment", "time"]),
    (
        "connection",
        &[
            "extensions",
            "offset",
            "options",
            "outbox",
            "receiver",
            "segment",
            "sender",
            "socket",
            "time",
        ],
    ),
    (
        "profile",
        &["connection", "receiver", "sender", "socket", "time"],
    ),
];

/// Folders whose files are rules that know nothing of each other: the types beside them, these
/// modules of the crate, and the files that serve them all. `mod.rs` and `registry.rs` name them.
struct Rules {
    folder: &'static [&'static str],
    of_the_crate: &'static [&'static str],
    shared: &'static [&'static str],
    /// A rule that is another one and a bit more: which, and why it may name it.
    builds_on: &'static [(&'static str, &'static str, &'static str)],
}

const RULES: &[Rules] = &[
    Rules {
        folder: &["sender", "send_policy"],
        of_the_crate: &["offset", "time"],
        shared: &["memory"],
        builds_on: &[],
    },
    Rules {
        folder: &["receiver", "ack_policy"],
        of_the_crate: &["offset", "time"],
        shared: &[],
        builds_on: &[(
            "inference",
            "bytes_consumed",
            "Tru64's inference acknowledges sooner than BSD's rule, never later (section 9)",
        )],
    },
    Rules {
        folder: &["socket", "copy_rule"],
        of_the_crate: &[],
        shared: &[],
        builds_on: &[],
    },
    Rules {
        folder: &["sender", "congestion"],
        of_the_crate: &["time"],
        shared: &[],
        builds_on: &[],
    },
];

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
            let ours = dependency.path.is_some();
            if ours && !may.contains(&other) {
                wrong.push(format!("{name} -> {other} ({})", dependency.kind));
            }
            // The engine is pure: nothing of ours and nothing of anybody's but in its tests.
            let of_the_engine = name == "tinygram-engine";
            if of_the_engine && dependency.kind != DependencyKind::Development {
                wrong.push(format!("{name} -> {other} ({})", dependency.kind));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn modules_of_the_engine_name_only_what_they_may() {
    let engine = Engine::read();
    let mut wrong = Vec::new();
    for (module, source) in &engine.files {
        for named in engine.named_by(module, source) {
            if let Some(why) = engine.forbids(module, &named) {
                let (from, to) = (module.join("::"), named.join("::"));
                wrong.push(format!("{from} -> {to}: {why}"));
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The test above would be worth nothing if it saw nothing.
#[test]
fn the_arrows_are_seen() {
    let engine = Engine::read();
    let sees = |from: &[&str], source: &str, to: &[&str]| {
        let from = module(from);
        let file = syn::parse_file(source).expect("Rust");
        engine.named_by(&from, &file).contains(&module(to))
    };
    let dldet = ["sender", "send_policy", "dldet"];
    assert!(sees(
        &dldet,
        "use super::{Offer, nagle::Nagle};",
        &["sender", "send_policy", "nagle"]
    ));
    assert!(sees(
        &dldet,
        "fn f() { super::super::Sender::new(); }",
        &["sender"]
    ));
    assert!(sees(
        &["receiver"],
        "type T = crate::sender::pass::Stamp;",
        &["sender", "pass"]
    ));
    // Through a `pub use` of the folder, too.
    assert!(sees(
        &["receiver", "ack_policy", "linux"],
        "use super::BytesConsumed;",
        &["receiver", "ack_policy", "bytes_consumed"]
    ));
    let nagle = module(&["sender", "send_policy", "nagle"]);
    assert!(engine.forbids(&module(&dldet), &nagle).is_some());
    let of_the_receiver = module(&["receiver"]);
    assert!(
        engine
            .forbids(&module(&["sender", "rtt"]), &of_the_receiver)
            .is_some()
    );
}

/// A module's path below the crate; empty for the crate itself.
type Module = Vec<String>;

fn module(path: &[&str]) -> Module {
    path.iter().map(ToString::to_string).collect()
}

struct Engine {
    files: BTreeMap<Module, syn::File>,
    /// Names that a module hands on from one of its children: `BytesConsumed` -> `bytes_consumed`.
    handed_on: BTreeMap<(Module, String), String>,
}

impl Engine {
    fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/src");
        let mut files = BTreeMap::new();
        read_folder(&root, &Vec::new(), &mut files);
        let mut handed_on = BTreeMap::new();
        for (module, file) in &files {
            for item in &file.items {
                if let syn::Item::Use(item) = item {
                    for path in flatten(&item.tree, &Vec::new()) {
                        if let [child, name] = path.as_slice() {
                            let key = (module.clone(), name.clone());
                            handed_on.insert(key, child.clone());
                        }
                    }
                }
            }
        }
        Self { files, handed_on }
    }

    /// The modules outside of `module` that `source`, standing there, names.
    fn named_by(&self, module: &Module, source: &syn::File) -> Vec<Module> {
        let mut paths = Paths::default();
        paths.visit_file(source);
        let resolved = paths.0.iter().filter_map(|path| self.resolve(module, path));
        let mut named: Vec<_> = resolved
            .filter(|named| !named.starts_with(module))
            .collect();
        named.sort();
        named.dedup();
        named
    }

    /// The module that `path` leads to from `module`; `None` for names that lead nowhere in the
    /// crate (imported ones are seen where they are imported).
    fn resolve(&self, module: &Module, path: &[String]) -> Option<Module> {
        let mut at = match path.first()?.as_str() {
            "crate" => Vec::new(),
            "super" | "self" => module.clone(),
            _ => return None,
        };
        for name in path {
            match name.as_str() {
                "crate" | "self" => {}
                "super" => {
                    at.pop();
                }
                name => {
                    let handed_on = self.handed_on.get(&(at.clone(), name.into()));
                    let child = handed_on.map_or(name, String::as_str);
                    at.push(child.into());
                    if !self.files.contains_key(&at) {
                        at.pop();
                        break;
                    }
                }
            }
        }
        Some(at)
    }

    /// Why `from` may not name `to`, if it may not.
    fn forbids(&self, from: &Module, to: &Module) -> Option<String> {
        if let Some(why) = RULES.iter().find_map(|rules| rules.forbid(from, to)) {
            return Some(why);
        }
        let (Some(mine), Some(theirs)) = (from.first(), to.first()) else {
            // The crate's own file names all; nobody needs its short names.
            let of_the_root = to.is_empty() && !from.is_empty();
            return of_the_root.then(|| "name the module, not the crate's short name".into());
        };
        if mine == theirs {
            return None;
        }
        let listed = MODULES.iter().find(|(name, _)| name == mine);
        let Some((_, may)) = listed else {
            return Some(format!("{mine} is not listed in {}", file!()));
        };
        let meet = "not among what it may name; sender and receiver meet in connection";
        (!may.contains(&theirs.as_str())).then(|| meet.into())
    }
}

impl Rules {
    fn forbid(&self, from: &Module, to: &Module) -> Option<String> {
        let folder = module(self.folder);
        let rest = from.strip_prefix(folder.as_slice())?;
        let [rule, ..] = rest else {
            return None;
        };
        if rule == "registry" || *to == folder {
            return None;
        }
        if let Some(sibling) = to.strip_prefix(folder.as_slice()) {
            let named = sibling.first().map_or("", String::as_str);
            let excused = |(who, whom, _): &(&str, &str, &str)| *who == rule && *whom == named;
            let may = self.shared.contains(&named) || self.builds_on.iter().any(excused);
            return (!may).then(|| "rules never name each other".into());
        }
        let of_the_crate = to.first().map_or("", String::as_str);
        let may = self.of_the_crate.contains(&of_the_crate);
        (!may).then(|| "a rule reads its view and nothing else".into())
    }
}

fn read_folder(folder: &Path, at: &Module, files: &mut BTreeMap<Module, syn::File>) {
    for entry in fs::read_dir(folder).expect("the engine's sources") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().expect("a name").to_string_lossy();
        let mut module = at.clone();
        if path.is_dir() {
            module.push(stem.into_owned());
            read_folder(&path, &module, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            if stem != "mod" && stem != "lib" {
                module.push(stem.into_owned());
            }
            let source = fs::read_to_string(&path).expect("a source file");
            files.insert(module, syn::parse_file(&source).expect("Rust"));
        }
    }
}

/// Collects every path that a file names, in `use` and elsewhere.
#[derive(Default)]
struct Paths(Vec<Vec<String>>);

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.0.extend(flatten(&item.tree, &Vec::new()));
    }

    /// `pub(crate)` and `pub(super)` say who may look in; they name nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    /// Tests may name what they like.
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let of_tests = item.attrs.iter().any(|attribute| {
            let list = attribute.meta.require_list();
            list.is_ok_and(|list| list.path.is_ident("cfg") && list.tokens.to_string() == "test")
        });
        if !of_tests {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string());
        self.0.push(names.collect());
        syn::visit::visit_path(self, path);
    }
}

/// The paths of a `use`: one for each name it brings.
fn flatten(tree: &syn::UseTree, before: &Vec<String>) -> Vec<Vec<String>> {
    let with = |name: String| {
        let mut path = before.clone();
        path.push(name);
        path
    };
    match tree {
        syn::UseTree::Path(path) => flatten(&path.tree, &with(path.ident.to_string())),
        syn::UseTree::Name(name) => vec![with(name.ident.to_string())],
        syn::UseTree::Rename(name) => vec![with(name.ident.to_string())],
        syn::UseTree::Glob(_) => vec![before.clone()],
        syn::UseTree::Group(group) => {
            let each = group.items.iter();
            each.flat_map(|tree| flatten(tree, before)).collect()
        }
    }
}
