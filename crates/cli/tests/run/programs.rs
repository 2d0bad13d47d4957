//! The programs to run, and the counts of `--stats`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use crate::sink::Sink;

/// A check of times may fail on a busy machine, but not three times. A check of bytes fails at
/// once.
pub(crate) fn best_of_three(attempt: impl Fn() -> Result<(), String>) {
    let failures: Vec<_> = (0..3).map_while(|_| attempt().err()).collect();
    assert!(failures.len() < 3, "{failures:#?}");
}

/// A check of how often a process gets a processor fails as long as other tests compile beside it, which takes a minute where
/// nothing was compiled before. So it is tried for about that long.
pub(crate) fn once_it_is_quiet(attempt: impl Fn() -> Result<(), String>) {
    let mut failures = Vec::new();
    for _ in 0..TRIES {
        match attempt() {
            Ok(()) => return,
            Err(failure) => failures.push(failure),
        }
        thread::sleep(PAUSE);
    }
    panic!("{failures:#?}");
}

const TRIES: usize = 15;
const PAUSE: Duration = Duration::from_secs(4);

/// Runs one scenario to its end and checks the sink's verdict; returns the counts of `--stats`.
pub(crate) fn hostile_counts(scenario: &str, options: &[&str], sink: &Sink) -> serde_json::Value {
    counts_of(scenario, &[], options, sink)
}

/// As above, with more arguments for the scenario.
pub(crate) fn counts_of(
    scenario: &str,
    arguments: &[&str],
    options: &[&str],
    sink: &Sink,
) -> serde_json::Value {
    let Some(program) = hostile() else {
        panic!("a C compiler is needed: Rust links with it")
    };
    let folder = tempfile::tempdir().unwrap();
    let stats = folder.path().join("stats.json");
    let output = tinygram()
        .args(["run", "--stats=json", "--stats-to"])
        .arg(&stats)
        .args(options)
        .arg("--")
        .arg(program)
        .args([scenario, &sink.port.to_string()])
        .args(arguments)
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{options:?}, {scenario}: {}",
        text(&output)
    );
    sink.verdict(scenario);
    // A program that has sandboxed itself does not wait until its counts are shown.
    let written = (0..2000).find_map(|_| {
        let document = serde_json::from_slice(&std::fs::read(&stats).unwrap()).ok();
        if document.is_none() {
            thread::sleep(Duration::from_millis(5));
        }
        document
    });
    let document: serde_json::Value = written.expect("statistics");
    assert_eq!(document["schema"], "tinygram.run/1");
    document["counts"].clone()
}

pub(crate) fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

pub(crate) fn tinygram() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    command.env_remove("LD_PRELOAD");
    command
}

/// Copies tinygram.
pub(crate) fn copy_program_to(place: &Path) {
    copy_to(place, Path::new(env!("CARGO_BIN_EXE_tinygram")));
}

/// Copies a program, by another process: what this one has open for writing, a child that another test starts has open,
/// too, and then it cannot be executed.
pub(crate) fn copy_to(place: &Path, program: &Path) {
    let copied = Command::new("cp").arg(program).arg(place).status();
    assert!(copied.unwrap().success());
}

/// Returns the program with all scenarios, compiled once.
pub(crate) fn hostile() -> Option<&'static Path> {
    static PROGRAM: std::sync::OnceLock<Option<PathBuf>> = std::sync::OnceLock::new();
    let compiled = PROGRAM.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run/hostile.c");
        let program =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hostile-{}", std::process::id()));
        compile(
            &source,
            &program,
            &["-O2", "-D_FORTIFY_SOURCE=2", "-pthread"],
        )
        .then_some(program)
    });
    compiled.as_deref()
}

pub(crate) fn compile(source: &Path, program: &Path, flags: &[&str]) -> bool {
    Command::new("cc")
        .args(flags)
        .arg(source)
        .arg("-o")
        .arg(program)
        .output()
        .is_ok_and(|output| output.status.success())
}
