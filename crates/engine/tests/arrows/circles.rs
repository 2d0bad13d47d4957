//! Circles of modules: siblings that name each other, directly or indirectly. A module is its file
//! and everything below its folder. A module and what is below it may name each other, because they
//! are one thing seen from outside.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::{Module, Sources};

/// Siblings of which each leads to each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Circle {
    /// In order of their names.
    pub(crate) members: Vec<Module>,
    /// Which file of one member names which of another.
    pub(crate) arrows: Vec<(Module, Module)>,
}

/// The circles among modules that name each other as `arrows` say.
pub(crate) fn among(arrows: &[(Module, Module)]) -> Vec<Circle> {
    let mut siblings: BTreeMap<Module, BTreeMap<Module, BTreeSet<Module>>> = BTreeMap::new();
    for (from, to) in arrows {
        let shared = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        // One is above the other.
        if shared == from.len() || shared == to.len() {
            continue;
        }
        let folder = siblings.entry(from[..shared].to_vec()).or_default();
        let named = folder.entry(from[..=shared].to_vec()).or_default();
        named.insert(to[..=shared].to_vec());
    }
    let circles = siblings.values().flat_map(circles_of_a_folder);
    circles
        .map(|members| {
            let inside = |module: &Module| members.iter().find(|one| module.starts_with(one));
            let arrows = arrows.iter().filter(|(from, to)| {
                let (from, to) = (inside(from), inside(to));
                from.is_some() && to.is_some() && from != to
            });
            Circle {
                arrows: arrows.cloned().collect(),
                members,
            }
        })
        .collect()
}

/// Which file of a crate names which.
pub(crate) fn arrows(sources: &Sources) -> Vec<(Module, Module)> {
    let each = sources.files.iter().flat_map(|(module, file)| {
        let named = sources.named_by(module, file);
        named.into_iter().map(|to| (module.clone(), to))
    });
    each.collect()
}

/// The circles among files, with parents and children as files of their own.
pub(crate) fn among_files(sources: &Sources) -> Vec<Vec<Module>> {
    let named = sources.files.iter().map(|(module, file)| {
        let named = sources.files_named_by(module, file);
        (module.clone(), named)
    });
    circles_of_a_folder(&named.collect())
}

/// Those that reach each other, each set once.
fn circles_of_a_folder(names: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<Vec<Module>> {
    let reached: BTreeMap<_, _> = names
        .keys()
        .map(|from| (from, reach(names, from)))
        .collect();
    let mut circles: Vec<Vec<Module>> = Vec::new();
    for (from, to) in &reached {
        let back = |other: &&Module| reached.get(*other).is_some_and(|to| to.contains(*from));
        let members: Vec<Module> = to.iter().filter(back).cloned().collect();
        if members.len() > 1 && !circles.contains(&members) {
            circles.push(members);
        }
    }
    circles
}

fn reach(names: &BTreeMap<Module, BTreeSet<Module>>, from: &Module) -> BTreeSet<Module> {
    let mut reached = BTreeSet::new();
    let mut ahead = vec![from];
    while let Some(at) = ahead.pop() {
        for next in names.get(at).into_iter().flatten() {
            if reached.insert(next.clone()) {
                ahead.push(next);
            }
        }
    }
    reached
}
