//! Children by vfork, which share the program's memory and have descriptors of their own.

use std::time::Duration;

use crate::gates::lookalike;
use crate::grafted::{segments_per_answer, started};
use crate::programs::tinygram;

/// What a child closes stays open in the program: it is still the one connection, whose segments are counted once.
#[test]
fn what_a_child_closes_is_not_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let program = lookalike(folder.path(), &[]);
    let shown = folder.path().join("shown.json");
    let mut command = tinygram();
    command.args(["run", "--stats=json", "--stats-to"]);
    command
        .arg(&shown)
        .arg("--")
        .arg(&program)
        .env("KIND", "spawns");
    let (server, address) = started(command);
    segments_per_answer(&address);
    drop(server);
    let document = (0..200).find_map(|_| {
        std::thread::sleep(Duration::from_millis(50));
        let text = std::fs::read(&shown).unwrap_or_default();
        serde_json::from_slice::<serde_json::Value>(&text).ok()
    });
    let document = document.expect("statistics");
    let peers = document["counts"]["peers"].as_array().unwrap();
    assert_eq!(peers.len(), 1, "{document:#}");
    assert_eq!(peers[0]["connections"], 1, "{document:#}");
}
