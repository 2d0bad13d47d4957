//! What `tinygram set` refuses, in one line: what cannot be meant, a journal that is not to be trusted, and whoever lacks
//! the rights.

use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use super::Sockets;
use super::hosting::{may_set, said};

#[test]
fn what_cannot_be_meant_is_refused_in_one_line() {
    let sockets = Sockets::open();
    for (words, part) in [
        (&["PORT"][..], "OPTION=VALUE"),
        (&["nodelay=on"], "no target"),
        (&["PORT", "nodelay=perhaps"], "on or off"),
        (&["PORT", "maxseg=500"], "there is no option maxseg"),
        (&["PORT", "nodelay=on", "nodelay=off"], "twice"),
        (&["PORT", "nodelay=on", "--all"], "--all and a target"),
        (
            &["PORT", "nodelay=on", "--peer", "nowhere"],
            "--peer nowhere",
        ),
        (&["PORT", "nodelay=on", "--for", "5"], "length of time"),
        (&["/no/such/group", "nodelay=on"], "no control group"),
        (&["--undo", "77"], "no change with that number"),
    ] {
        let output = sockets.set(words);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(part) && said.lines().count() == 1, "{said}");
    }
    assert_eq!(sockets.nodelay(), [false, false]);
}

#[test]
fn a_journal_that_others_could_write_is_refused() {
    if !may_set() {
        return;
    }
    let sockets = Sockets::open();
    let folder = sockets.journal.path().join("state");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
    let output = sockets.set(&["PORT", "nodelay=on"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains("not to be trusted"),
        "{}",
        said(&output)
    );
    assert_eq!(sockets.nodelay(), [false, false]);
}

#[test]
fn without_the_rights_one_line_says_what_it_takes() {
    // SAFETY: a number.
    if unsafe { libc::getuid() } != 0 {
        eprintln!("skipped: only root can become somebody else");
        return;
    }
    let sockets = Sockets::open();
    let (folder, program) = for_anybody();
    let mut command = Command::new(&program);
    command.args(["set", &sockets.port.to_string(), "nodelay=on", "--journal"]);
    command
        .arg(folder.path().join("state"))
        .uid(65_534)
        .gid(65_534);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    let said = said(&output);
    assert!(
        said.contains("it takes root, or CAP_NET_ADMIN") && said.lines().count() == 1,
        "{said}"
    );
    assert_eq!(sockets.nodelay(), [false, false]);
}

/// Names of containers are in files of root's: whoever may not read them does not hear that there is none.
#[test]
fn who_may_not_see_all_names_is_not_told_that_there_is_none() {
    // SAFETY: a number.
    if unsafe { libc::getuid() } != 0 {
        eprintln!("skipped: only root can become somebody else");
        return;
    }
    let (folder, program) = for_anybody();
    let state = folder.path().join("state").display().to_string();
    for words in [
        &["cure", "no-such-container", "--journal", &state][..],
        &["whatif", "no-such-container"],
    ] {
        let mut command = Command::new(&program);
        command.args(words).uid(65_534).gid(65_534);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        let said = said(&output);
        assert!(
            said.contains("it takes root") && !said.contains("there is no"),
            "{words:?}: {said}"
        );
    }
}

/// Returns a place that anybody may enter, with the program.
fn for_anybody() -> (TempDir, PathBuf) {
    let folder = tempfile::Builder::new()
        .prefix("tinygram")
        .tempdir_in("/tmp")
        .unwrap();
    let program = folder.path().join("tinygram");
    // By another process: what this one has open for writing, a child that another test starts has open, too, and then it
    // cannot be executed.
    let copied = Command::new("cp")
        .arg(env!("CARGO_BIN_EXE_tinygram"))
        .arg(&program)
        .status();
    assert!(copied.unwrap().success());
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    (folder, program)
}

/// The journal is its owner's. Whoever may not read it does not hear that nothing is in force.
#[test]
fn who_may_not_read_the_journal_is_told_that_it_cannot_be_told() {
    // SAFETY: no argument, cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("skipped: it takes root to become another user");
        return;
    }
    let sockets = Sockets::open();
    let folder = sockets.journal.path().join("state");
    DirBuilder::new().mode(0o700).create(&folder).unwrap();
    let (_place, program) = for_anybody();
    for (words, code) in [
        (&["--list"][..], 3),
        (&["--list", "--json"], 3),
        (&["--undo"], 2),
        (&["--undo", "1"], 2),
    ] {
        let mut command = Command::new(&program);
        command.arg("set").args(words).arg("--journal").arg(&folder);
        let output = command.uid(65_534).gid(65_534).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        let said = said(&output);
        assert!(said.contains("cannot tell what is in force"), "{said}");
        assert!(said.contains("it takes root"), "{said}");
        assert!(!said.contains("os error"), "{said}");
    }
}
