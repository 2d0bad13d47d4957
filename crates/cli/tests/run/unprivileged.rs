//! Programs that look like one of Go's, run by a user without privileges, whose watchdog has none either.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::gates::{lookalike, refused, statistics};
use crate::grafted::{segments_per_answer, started};
use crate::programs::copy_program_to;

/// Returns a folder that everybody may use, with the program and tinygram in it; `None` if this user cannot become another.
fn for_everybody() -> Option<(TempDir, PathBuf)> {
    // SAFETY: no arguments, cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("skipped: it takes root to become another user");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(folder.path(), open).unwrap();
    let program = lookalike(folder.path(), &["-static"]);
    let binary = folder.path().join("tinygram");
    copy_program_to(&binary);
    Some((folder, program))
}

/// Returns `tinygram run` as that user.
fn run_by_another(folder: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.arg(folder.join("tinygram")).arg("run");
    command
}

/// A process that cannot be dumped may not be looked into by its user's other processes: a watchdog without privileges
/// could not send what is held for too long, so nothing is held any more.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn what_hides_from_its_watchdog_is_left_alone() {
    let Some((folder, program)) = for_everybody() else {
        return;
    };
    for (kind, why) in [
        ("hidden", "may not be looked into"),
        ("unseen", "the watchdog was gone"),
    ] {
        let shown = folder.path().join(kind);
        let mut command = run_by_another(folder.path());
        command.args(["--stats=json", "--stats-to"]).arg(&shown);
        command.arg("--").arg(&program).env("KIND", kind);
        let (server, address) = started(command);
        let segments = segments_per_answer(&address);
        drop(server);
        assert!(segments > 7.9, "{kind}: {segments}");
        let said = statistics(&shown);
        assert!(said.contains(why), "{kind}: {said}");
    }
}

#[test]
fn a_file_with_capabilities_is_refused() {
    let Some((folder, program)) = for_everybody() else {
        return;
    };
    let capable = Command::new("setcap")
        .arg("cap_net_bind_service+ep")
        .arg(&program)
        .status();
    if !capable.is_ok_and(|status| status.success()) {
        eprintln!("skipped: a file cannot be given capabilities here");
        return;
    }
    let output = run_by_another(folder.path())
        .arg("--")
        .arg(&program)
        .output()
        .unwrap();
    refused(
        &output,
        "has file capabilities, and nothing may be put into",
    );
}
