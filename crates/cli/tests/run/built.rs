//! Programs that are built for tests: each once, and a copy for each test, in a folder of its own. Where the compiler is not
//! there, the test says so and passes.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tempfile::TempDir;

use crate::programs::copy_to;

/// A program, and the folder that it is in as long as this is kept.
pub(super) type Built = (TempDir, PathBuf);

/// Builds a program in Go, static and without symbols; `None`, with the reason, if there is no Go here.
pub(super) fn in_go(source: &str) -> Option<Built> {
    let mut go = Command::new("go");
    go.args(["build", "-ldflags=-s -w"])
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "")
        .env("GOCACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/go"))
        // No module is looked for above.
        .current_dir(env!("CARGO_TARGET_TMPDIR"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    built_once(go, &source)
}

/// Builds a program with this compiler; `None`, with the reason, if it cannot.
pub(super) fn by(compiler: &str, source: &Path, arguments: &[&str]) -> Option<Built> {
    let mut command = Command::new(compiler);
    command.args(arguments);
    built_once(command, source)
}

/// Returns the path of a program in C or Rust that waits and writes in its own way.
pub(super) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/run/musl_programs")
        .join(name)
}

fn built_once(compiler: Command, source: &Path) -> Option<Built> {
    /// By what builds them.
    static PROGRAMS: Mutex<BTreeMap<String, Arc<OnceLock<Option<PathBuf>>>>> =
        Mutex::new(BTreeMap::new());
    let how = format!("{compiler:?} {}", source.display());
    let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let program = programs.entry(how.clone()).or_default().clone();
    drop(programs);
    let program = program
        .get_or_init(|| built(compiler, source, &how))
        .as_ref()?;
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("server");
    copy_to(&copy, program);
    Some((folder, copy))
}

/// Builds a program, which takes the place of the one that an earlier run of the tests built in the same way.
fn built(mut compiler: Command, source: &Path, how: &str) -> Option<PathBuf> {
    let mut number = DefaultHasher::new();
    how.hash(&mut number);
    let all = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = tempfile::tempdir_in(all).unwrap();
    let new = folder.path().join("server");
    compiler.arg("-o").arg(&new).arg(source);
    if !compiler.output().is_ok_and(|it| it.status.success()) {
        eprintln!("skipped: {compiler:?} does not build here");
        return None;
    }
    let program = all.join(format!("built-{:016x}", number.finish()));
    fs::rename(new, &program).unwrap();
    Some(program)
}
