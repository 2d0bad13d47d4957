//! `tinygram bpf`: a program has the policy, and the program's end is ours.
#![cfg(target_os = "linux")]

use std::process::{Command, Output};

fn bpf(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    command.arg("bpf").args(words).output().unwrap()
}

fn said(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

/// Returns whether policies may be loaded here; says why not.
fn may_load() -> bool {
    let output = bpf(&["--policy", "off", "--", "true"]);
    if output.status.code() == Some(2) {
        eprintln!("skipped: {}", said(&output.stderr));
    }
    output.status.success()
}

#[test]
fn a_program_has_the_policy_and_ends_as_it_ends() {
    if !may_load() {
        return;
    }
    let script = "import socket\n\
                  s = socket.create_server(('127.0.0.1', 0))\n\
                  c = socket.create_connection(s.getsockname())\n\
                  print(c.getsockopt(6, 13, 16).rstrip(b'\\0').decode(), c.getsockopt(6, 1))\n\
                  raise SystemExit(7)";
    let output = bpf(&[
        "--policy", "min+more", "--base", "reno", "--", "python3", "-c", script,
    ]);
    assert_eq!(output.status.code(), Some(7), "{}", said(&output.stderr));
    let (name, errors) = (said(&output.stdout), said(&output.stderr));
    assert!(name.starts_with("tg_") && name.ends_with(" 1\n"), "{name}");
    let name = name.split(' ').next().unwrap();
    assert!(
        errors.contains("min+more on reno") && errors.contains(name),
        "{errors}"
    );
    assert!(errors.contains("2 connections had the policy"), "{errors}");
    let listed = bpf(&["--list"]);
    assert!(listed.status.success() && !said(&listed.stdout).contains(name));
}

#[test]
fn what_cannot_be_meant_is_refused_in_a_line() {
    for (words, expected) in [
        (
            &["--policy", "dldet", "--", "true"][..],
            "accepted: nagle, off, minshall",
        ),
        (
            &["--policy", "nagle", "--naglim", "5", "--", "true"],
            "--naglim belongs to --policy naglim",
        ),
        (
            &[
                "--policy",
                "timed-coalescing",
                "--interval",
                "2s",
                "--",
                "true",
            ],
            "from 1us to 1s",
        ),
        (
            &["--policy", "nagle", "--cgroup", "/"],
            "not a control group",
        ),
        (&["--policy", "nagle"], "not provided"),
    ] {
        let output = bpf(words);
        let errors = said(&output.stderr);
        assert_eq!(
            (output.status.code(), errors.lines().count()),
            (Some(2), 1),
            "{errors}"
        );
        assert!(errors.contains(expected), "{words:?}: {errors}");
    }
}
