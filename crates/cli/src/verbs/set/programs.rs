//! The programs that have sockets.

use std::collections::BTreeMap;

use serde::Serialize;
use tinygram_host::scope::Owned;

/// A program, and how many of the sockets it has.
#[derive(Serialize)]
pub(super) struct Program {
    program: String,
    sockets: usize,
}

/// Returns the programs that have these sockets, those with the most first.
pub(super) fn of<'a>(sockets: impl IntoIterator<Item = &'a Owned>) -> Vec<Program> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for owned in sockets {
        let name = owned.owner.as_ref().map(ToString::to_string);
        *counts
            .entry(name.unwrap_or_else(|| "no process".to_owned()))
            .or_default() += 1;
    }
    let mut programs: Vec<_> = counts
        .into_iter()
        .map(|(program, sockets)| Program { program, sockets })
        .collect();
    programs.sort_by_key(|program| std::cmp::Reverse(program.sockets));
    programs
}

/// Returns them in words: `nginx (431) (12), mosquitto (77) (3)`.
pub(super) fn in_words<'a>(sockets: impl IntoIterator<Item = &'a Owned>) -> String {
    let programs = of(sockets);
    let told = |program: &Program| format!("{} ({})", program.program, program.sockets);
    few(programs.iter().map(told).collect())
}

/// Joins names, of many the first ones.
pub(super) fn few(mut names: Vec<String>) -> String {
    if names.len() > MOST_NAMES {
        let others = names.len() - MOST_NAMES;
        names.truncate(MOST_NAMES);
        names.push(format!("{others} others"));
    }
    names.join(", ")
}

const MOST_NAMES: usize = 5;
