//! The modules of a crate, read from its sources: which names which.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;

/// A module's path below the crate; empty for the crate itself.
pub(crate) type Module = Vec<String>;

pub(crate) fn module(path: &[&str]) -> Module {
    path.iter().map(ToString::to_string).collect()
}

/// A crate's files, without tests.
pub(crate) struct Sources {
    pub(crate) files: BTreeMap<Module, syn::File>,
    /// What a module imports, by the name it has there: `BytesConsumed` ->
    /// `bytes_consumed::BytesConsumed`. Other modules may name it there, too.
    imports: BTreeMap<(Module, String), Vec<String>>,
}

impl Sources {
    /// Reads the crate in this folder of `crates/`.
    pub(crate) fn of(folder: &str) -> Self {
        Self::below(&format!("{folder}/src"))
    }

    /// Reads the crate whose root file is in this folder of `crates/`.
    pub(crate) fn below(folder: &str) -> Self {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut files = BTreeMap::new();
        read_folder(&crates.join(folder), &Vec::new(), &mut files);
        let of_tests: Vec<Module> = files
            .iter()
            .flat_map(|(module, file)| modules_of_tests(module, file))
            .collect();
        files.retain(|module, _| !of_tests.iter().any(|tests| module.starts_with(tests)));
        let mut imports = BTreeMap::new();
        for (module, file) in &files {
            for item in &file.items {
                if let syn::Item::Use(item) = item
                    && !is_of_tests(&item.attrs)
                {
                    for (name, path) in flatten(&item.tree, &Vec::new()) {
                        imports.insert((module.clone(), name), path);
                    }
                }
            }
        }
        Self { files, imports }
    }

    /// Returns the modules outside of `module` that `source`, the module's file, names.
    pub(crate) fn named_by(&self, module: &Module, source: &syn::File) -> BTreeSet<Module> {
        let mut named = self.files_named_by(module, source);
        named.retain(|named| !named.starts_with(module));
        named
    }

    /// Returns the other files that `source`, the file of `module`, names, also those below it.
    pub(crate) fn files_named_by(&self, module: &Module, source: &syn::File) -> BTreeSet<Module> {
        let mut paths = Paths::default();
        paths.visit_file(source);
        let named = paths.found.iter().filter_map(|path| {
            let begins_outside = ["crate", "super", "self"].contains(&path.first()?.as_str());
            begins_outside
                .then(|| self.resolve(module, path, DEEPEST))
                .flatten()
        });
        named.filter(|named| named != module).collect()
    }

    /// Returns the module that `path`, written in `at`, leads to; `None` if it leads out of the
    /// crate. The name of an item leads to its module.
    fn resolve(&self, at: &Module, path: &[String], deep: usize) -> Option<Module> {
        let (first, rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => Vec::new(),
            "self" => at.clone(),
            "super" => at.split_last()?.1.to_vec(),
            child => {
                let child = [at.as_slice(), &[child.to_string()]].concat();
                self.files.contains_key(&child).then_some(child)?
            }
        };
        for (index, name) in rest.iter().enumerate() {
            let child = [at.as_slice(), std::slice::from_ref(name)].concat();
            let import = self.imports.get(&(at.clone(), name.clone()));
            if name == "super" {
                at.pop();
            } else if self.files.contains_key(&child) {
                at = child;
            } else if let Some(import) = import.filter(|_| deep > 0) {
                let path = [import.as_slice(), &rest[index + 1..]].concat();
                return self.resolve(&at, &path, deep - 1).or(Some(at));
            } else if name != "self" {
                break;
            }
        }
        Some(at)
    }
}

/// How many imports of imports are followed.
const DEEPEST: usize = 8;

fn read_folder(folder: &Path, at: &Module, files: &mut BTreeMap<Module, syn::File>) {
    for entry in fs::read_dir(folder).expect("a crate's sources") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().expect("a name").to_string_lossy();
        let mut module = at.clone();
        if path.is_dir() {
            module.push(stem.into_owned());
            read_folder(&path, &module, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let of_the_folder = stem == "mod" || at.is_empty() && (stem == "lib" || stem == "main");
            if !of_the_folder {
                module.push(stem.into_owned());
            }
            let source = fs::read_to_string(&path).expect("a source file");
            files.insert(module, syn::parse_file(&source).expect("Rust"));
        }
    }
}

/// Returns the modules that exist for tests alone: `#[cfg(test)] mod tests;`.
fn modules_of_tests(module: &Module, file: &syn::File) -> Vec<Module> {
    let of_tests = file.items.iter().filter_map(|item| match item {
        syn::Item::Mod(item) if is_of_tests(&item.attrs) => Some(item.ident.to_string()),
        _ => None,
    });
    of_tests
        .map(|name| [module.as_slice(), &[name]].concat())
        .collect()
}

fn is_of_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let list = attribute.meta.require_list();
        list.is_ok_and(|list| list.path.is_ident("cfg") && list.tokens.to_string() == "test")
    })
}

/// Collects every path that a file names, in `use`, in macros' arguments and elsewhere.
#[derive(Default)]
struct Paths {
    found: Vec<Vec<String>>,
    /// How many inline modules of the file enclose the current place.
    inside: usize,
}

impl Paths {
    /// `super` first leads out of the inline modules.
    fn add(&mut self, path: &[String]) {
        let ups = path.iter().take_while(|name| *name == "super").count();
        let within = ups.min(self.inside);
        let from_file = path[within..].to_vec();
        self.found.push(match within {
            0 => from_file,
            _ => [&["self".to_string()], from_file.as_slice()].concat(),
        });
    }

    /// Adds what looks like a path among a macro's tokens.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) if colons == 2 || path.is_empty() => {
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => {
                    colons += 1;
                }
                other => {
                    self.add(&std::mem::take(&mut path));
                    colons = 0;
                    match other {
                        TokenTree::Group(group) => self.add_tokens(group.stream()),
                        TokenTree::Ident(name) => path.push(name.to_string()),
                        _ => {}
                    }
                }
            }
        }
        self.add(&path);
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Use(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Mod(item) => &item.attrs,
            _ => return syn::visit::visit_item(self, item),
        };
        // Tests may name anything.
        if !is_of_tests(attributes) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        for (_, path) in flatten(&item.tree, &Vec::new()) {
            self.add(&path);
        }
    }

    /// `pub(crate)` and `pub(super)` restrict access; they name nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.inside += 1;
        syn::visit::visit_item_mod(self, item);
        self.inside -= 1;
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter().map(|one| one.ident.to_string());
        self.add(&names.collect::<Vec<_>>());
        syn::visit::visit_path(self, path);
    }

    /// Adds what an attribute names, as a flag's parser in `#[arg(value_parser = super::address)]`.
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.add_tokens(list.tokens.clone());
        }
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.add_tokens(called.tokens.clone());
        syn::visit::visit_macro(self, called);
    }
}

/// Returns the paths of a `use`, each with the name it introduces.
fn flatten(tree: &syn::UseTree, before: &Vec<String>) -> Vec<(String, Vec<String>)> {
    let with = |name: &syn::Ident| [before.as_slice(), &[name.to_string()]].concat();
    match tree {
        syn::UseTree::Path(path) => flatten(&path.tree, &with(&path.ident)),
        syn::UseTree::Name(name) if name.ident == "self" => {
            let last = before.last().cloned().unwrap_or_default();
            vec![(last, before.clone())]
        }
        syn::UseTree::Name(name) => vec![(name.ident.to_string(), with(&name.ident))],
        syn::UseTree::Rename(name) => vec![(name.rename.to_string(), with(&name.ident))],
        syn::UseTree::Glob(_) => vec![("*".into(), before.clone())],
        syn::UseTree::Group(group) => {
            let each = group.items.iter();
            each.flat_map(|tree| flatten(tree, before)).collect()
        }
    }
}
