//! Checks which module of the engine may name which other. A module that is not listed here fails, so
//! that its arrows are considered when it is made: policies never name the sender or each other, parts
//! of the sender never name the sender, sender and receiver meet only in `connection/`, and no modules
//! name each other in a circle.

#[allow(dead_code)] // the test of the whole workspace also looks for circles of files
#[path = "arrows/circles.rs"]
mod circles;
#[path = "arrows/sources.rs"]
mod sources;

use sources::{Module, Sources, module};

/// The engine's top-level modules and the modules each may name besides its own.
const MODULES: &[(&str, &[&str])] = &[
    ("time", &[]),
    ("offset", &[]),
    ("queues", &["time"]),
    ("options", &["offset", "queues", "time"]),
    ("extensions", &["registry", "time"]),
    ("segment", &["offset", "options"]),
    ("outbox", &["segment"]),
    ("registry", &[]),
    ("socket", &[]),
    (
        "sender",
        &[
            "extensions",
            "offset",
            "options",
            "outbox",
            "queues",
            "registry",
            "segment",
            "time",
        ],
    ),
    (
        "receiver",
        &["offset", "options", "registry", "segment", "time"],
    ),
    (
        "connection",
        &[
            "extensions",
            "offset",
            "options",
            "outbox",
            "queues",
            "receiver",
            "segment",
            "sender",
            "socket",
            "time",
        ],
    ),
    (
        "profile",
        &[
            "connection",
            "extensions",
            "receiver",
            "registry",
            "sender",
            "socket",
            "time",
        ],
    ),
];

/// Folders whose files are rules independent of each other. A rule may name the types beside it,
/// these modules of the crate, and the files that serve all rules. `mod.rs` and `registry.rs` name
/// the rules.
struct Rules {
    folder: &'static [&'static str],
    of_the_crate: &'static [&'static str],
    shared: &'static [&'static str],
    /// Rules that extend another one: which, and the reason it is allowed.
    builds_on: &'static [(&'static str, &'static str, &'static str)],
}

const RULES: &[Rules] = &[
    Rules {
        folder: &["sender", "send_policy"],
        of_the_crate: &["offset", "queues", "registry", "time"],
        shared: &["memory", "reasons", "trials"],
        builds_on: &[],
    },
    Rules {
        folder: &["receiver", "ack_policy"],
        of_the_crate: &["offset", "registry", "time"],
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
        of_the_crate: &["registry", "time"],
        shared: &[],
        builds_on: &[],
    },
];

/// The parts of the sender, and the other parts that each may name: to read them or to change them.
/// Only the conductors name the sender.
const PARTS: &[(&str, &[&str])] = &[
    ("config", &["congestion", "rtt", "send_policy"]),
    ("sequence", &[]),
    ("rtt", &[]),
    ("counters", &["send_policy"]),
    ("hints", &[]),
    ("context", &["rtt", "sequence"]),
    ("timers", &["rtt"]),
    ("send_policy", &[]),
    ("congestion", &[]),
    ("buffer", &["config", "sequence"]),
    ("path", &["config", "context"]),
    ("window", &["config", "congestion", "context"]),
    (
        "view",
        &[
            "buffer",
            "hints",
            "rtt",
            "send_policy",
            "sequence",
            "window",
        ],
    ),
    (
        "small_segment",
        &[
            "config",
            "counters",
            "hints",
            "send_policy",
            "sequence",
            "view",
        ],
    ),
    ("loss", &["context", "counters", "path", "timers", "window"]),
];

/// The modules that let the parts of the sender work together.
const CONDUCTORS: &[&str] = &[
    "acknowledgment",
    "news",
    "pass",
    "probe",
    "retransmit",
    "wakeup",
];

#[test]
fn modules_name_only_what_they_may() {
    let engine = Sources::of("engine");
    let mut wrong = Vec::new();
    for (module, source) in &engine.files {
        for named in engine.named_by(module, source) {
            if let Some(why) = forbids(module, &named) {
                let (from, to) = (module.join("::"), named.join("::"));
                wrong.push(format!("{from} -> {to}: {why}"));
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The test above would be worthless if it found no arrows.
#[test]
fn the_arrows_are_seen() {
    let engine = Sources::of("engine");
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
    // Also through the folder's `pub use`.
    assert!(sees(
        &["receiver", "ack_policy", "linux"],
        "use super::BytesConsumed;",
        &["receiver", "ack_policy", "bytes_consumed"]
    ));
    let nagle = module(&["sender", "send_policy", "nagle"]);
    assert!(forbids(&module(&dldet), &nagle).is_some());
    let of_the_receiver = module(&["receiver"]);
    assert!(forbids(&module(&["sender", "rtt"]), &of_the_receiver).is_some());
    // A part of the sender knows neither the sender nor a part that it was not given.
    let path = module(&["sender", "path"]);
    let to_the_sender = module(&["sender"]);
    assert!(sees(
        &["sender", "path"],
        "fn f(sender: &mut super::Sender) {}",
        &["sender"]
    ));
    assert!(forbids(&path, &to_the_sender).is_some());
    let undo = module(&["sender", "loss", "undo"]);
    assert!(forbids(&undo, &module(&["sender", "buffer"])).is_some());
    assert!(forbids(&undo, &module(&["sender", "window"])).is_none());
}

/// Every module of the sender is a part or one of those that let the parts work together.
#[test]
fn every_module_of_the_sender_is_listed() {
    let engine = Sources::of("engine");
    let of_the_sender = engine.files.keys().filter(|it| it.len() == 2);
    for module in of_the_sender.filter(|it| it[0] == "sender") {
        let name = module[1].as_str();
        let is_part = PARTS.iter().any(|(part, _)| *part == name);
        assert!(
            is_part != CONDUCTORS.contains(&name),
            "sender::{name} is listed neither among the parts nor among the conductors"
        );
    }
}

#[test]
fn no_modules_name_each_other_in_a_circle() {
    let engine = Sources::of("engine");
    let circles = circles::among(&circles::arrows(&engine));
    let found: Vec<_> = circles
        .iter()
        .map(|it| format!("{:?}", it.arrows))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Returns why `from` may not name `to`, or `None` if it may.
fn forbids(from: &Module, to: &Module) -> Option<String> {
    if let Some(why) = RULES.iter().find_map(|rules| rules.forbid(from, to)) {
        return Some(why);
    }
    let (Some(mine), Some(theirs)) = (from.first(), to.first()) else {
        // The crate's root file may name every module; no module needs the root's short names.
        let of_the_root = to.is_empty() && !from.is_empty();
        return of_the_root.then(|| "name the module, not the crate's short name".into());
    };
    if mine == theirs {
        return forbids_a_part(from, to);
    }
    let listed = MODULES.iter().find(|(name, _)| name == mine);
    let Some((_, may)) = listed else {
        return Some(format!("{mine} is not listed in {}", file!()));
    };
    let meet = "not among what it may name; sender and receiver meet in connection";
    (!may.contains(&theirs.as_str())).then(|| meet.into())
}

/// Returns why a part of the sender may not name another module of it, or `None` if it may, or if
/// `from` is no part.
fn forbids_a_part(from: &Module, to: &Module) -> Option<String> {
    let [sender, part, ..] = from.as_slice() else {
        return None;
    };
    let (_, may) = PARTS
        .iter()
        .find(|(name, _)| sender == "sender" && name == part)?;
    match to.get(1) {
        None => Some("a part never names the sender".into()),
        Some(other) if other == part || may.contains(&other.as_str()) => None,
        Some(_) => Some("not among the parts that it may read or change".into()),
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
