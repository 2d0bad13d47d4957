//! A program's life under `run`, from start to end: signals, exit codes, what is left behind, and
//! what can be changed meanwhile.

use std::io::{Read, Write};

use crate::programs::{compile, text, tinygram};

#[test]
fn a_program_ends_as_it_would_have_ended() {
    let run = |arguments: &[&str]| tinygram().args(arguments).output().unwrap();
    for stats in [None, Some("--stats")] {
        let with = |script: &str| {
            let mut arguments = vec!["run"];
            arguments.extend(stats);
            arguments.extend(["--", "sh", "-c", script]);
            run(&arguments).status
        };
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(with("exit 7").code(), Some(7));
        assert_eq!(with("kill -TERM $$").signal(), Some(15));
        assert_eq!(with("kill -KILL $$").signal(), Some(9));
    }
}

#[test]
fn a_signal_sent_to_the_supervisor_reaches_the_program() {
    let mut child = tinygram()
        .args([
            "run",
            "--stats",
            "--",
            "sh",
            "-c",
            "trap 'exit 3' TERM; echo ready; while :; do sleep 0.05; done",
        ])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut ready = [0; 5];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut ready)
        .unwrap();
    // SAFETY: a signal to our own child.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

/// A run with --stats leaves no page behind; it once did.
#[test]
fn nothing_is_left_in_the_temporary_directory() {
    let folder = tempfile::tempdir().unwrap();
    for script in ["exit 0", "exit 3", "kill -KILL $$"] {
        let output = tinygram()
            .env("TMPDIR", folder.path())
            .args(["run", "--stats", "--", "sh", "-c", script])
            .output()
            .unwrap();
        assert!(
            text(&output).contains("tinygram run: policy"),
            "{script}: {}",
            text(&output)
        );
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_signal_to_the_group_reaches_the_program_once() {
    use std::os::unix::process::CommandExt;
    let script = "trap 'echo got' USR1; trap 'echo io' IO; trap 'exit 4' TERM; echo ready; while :; do sleep 0.05; done";
    let mut child = tinygram()
        .args(["run", "--stats", "--", "sh", "-c", script])
        .process_group(0)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    let mut next = move || {
        line.clear();
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        line.trim().to_owned()
    };
    assert_eq!(next(), "ready");
    let group = -(child.id() as libc::pid_t);
    for (signal, said) in [
        (libc::SIGUSR1, "got"),
        (libc::SIGUSR1, "got"),
        (libc::SIGIO, "io"),
    ] {
        // Such a signal ends the shell's children, the sleeps, too, so they get a group of their
        // own.
        // SAFETY: a signal to a group that we made.
        unsafe { libc::kill(group, signal) };
        assert_eq!(next(), said);
    }
    // SAFETY: a signal to a group that we made.
    unsafe { libc::kill(group, libc::SIGTERM) };
    assert_eq!(next(), "", "nothing twice");
    assert_eq!(child.wait().unwrap().code(), Some(4));
}

#[test]
fn a_running_program_is_seen_and_switched() {
    let mut child = tinygram()
        .args(["run", "--", "sh", "-c", "echo ready; read line; exit 0"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut [0; 5])
        .unwrap();
    let pid = child.id().to_string();
    let switched = |policy: &str| {
        let output = tinygram()
            .args(["run", "--switch", &pid, "--policy", policy])
            .output()
            .unwrap();
        (output.status.code(), text(&output))
    };
    let (code, said) = switched("nodelay");
    if said.contains("may not be looked into") {
        eprintln!("skipped: this user may not look into processes of its own");
    } else {
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("flush-on-block -> nodelay"), "{said}");
        assert!(
            switched("flush-on-block")
                .1
                .contains("nodelay -> flush-on-block")
        );
        assert_eq!(switched("observe").0, Some(2));
    }
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let (code, said) = switched("nodelay");
    assert_eq!(code, Some(2), "{said}");
}

#[test]
fn a_daemon_that_forks_away_is_said_to_run_on() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("daemon.c");
    std::fs::write(
        &source,
        "#include <unistd.h>\nint main(void) { return daemon(1, 0) || sleep(2); }",
    )
    .unwrap();
    let program = folder.path().join("daemon");
    if !compile(&source, &program, &[]) {
        eprintln!("skipped: there is no C compiler");
        return;
    }
    let stats = folder.path().join("stats");
    let ended = tinygram()
        .args(["run", "--stats", "--stats-to"])
        .arg(&stats)
        .arg("--")
        .arg(&program)
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", text(&ended));
    let said = (0..1000).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        std::fs::read_to_string(&stats)
            .ok()
            .filter(|said| !said.is_empty())
    });
    let said = said.expect("statistics");
    assert!(said.contains("1 covered process still running"), "{said}");
}
