//! Others beside a cure: a second one on the same connections, and connections that come while a knob is tried.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::answering::Service;
use crate::hosting::{may_set, said};

/// Starts a cure that looks for this long.
fn begun(service: &Service, look: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    command.args([
        "cure",
        &service.port.to_string(),
        "--look",
        look,
        "--journal",
    ]);
    command.arg(service.journal.path().join("state"));
    command.stderr(Stdio::null()).stdout(Stdio::null());
    command.spawn().unwrap()
}

/// Returns whether a trial is written beside the journal.
fn is_under_way(state: &Path) -> bool {
    let entries = std::fs::read_dir(state).into_iter().flatten().flatten();
    entries
        .into_iter()
        .any(|entry| entry.file_name().to_string_lossy().starts_with("trial-"))
}

/// Each would measure what the other sets.
#[test]
fn a_second_cure_of_the_same_connections_is_refused_while_the_first_goes_on() {
    if !may_set() {
        return;
    }
    let service = Service::start();
    let state = service.journal.path().join("state");
    let mut first = begun(&service, "1m");
    while !is_under_way(&state) {
        assert_eq!(first.try_wait().unwrap(), None, "it ended before");
        std::thread::sleep(Duration::from_millis(20));
    }
    let port = service.port.to_string();
    let second = service.tinygram("cure", &[&port, "--look", "500ms"]);
    let text = said(&second);
    assert_eq!(second.status.code(), Some(2), "{text}");
    let trying = format!(
        "process {} is trying remedies on some of these connections (tinygram cure {port}",
        first.id()
    );
    assert!(text.contains(&trying), "{text}");
    assert!(text.contains("nothing was changed"), "{text}");
    assert!(!service.server.nodelay().unwrap());
    // What would be tried is said all the same.
    let dry = service.tinygram("cure", &[&port, "--look", "500ms", "--dry-run"]);
    assert_eq!(dry.status.code(), Some(0), "{}", said(&dry));
    // SAFETY: a process of this test's.
    unsafe { libc::kill(first.id().cast_signed(), libc::SIGTERM) };
    first.wait().unwrap();
    assert!(!is_under_way(&state));
    let mut third = begun(&service, "1m");
    while !is_under_way(&state) {
        assert_eq!(third.try_wait().unwrap(), None, "it is free again");
        std::thread::sleep(Duration::from_millis(20));
    }
    // SAFETY: as above.
    unsafe { libc::kill(third.id().cast_signed(), libc::SIGTERM) };
    third.wait().unwrap();
}

/// Asserts that a remedy that helped was put back, for others use by now what it changes.
pub(crate) fn assert_shared(document: &Value, setting: &str) {
    let remedies = document["remedies"].as_array().unwrap();
    let tried = remedies.iter().find(|remedy| remedy["setting"] == setting);
    let trial = &tried.unwrap_or_else(|| panic!("{document:#}"))["trial"];
    assert_eq!(trial["verdict"], "shared", "{document:#}");
    assert_eq!(trial["changes"], serde_json::json!([]), "{document:#}");
}
