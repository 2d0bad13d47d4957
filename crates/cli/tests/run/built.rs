//! Programs that are built for a test, each in a folder of its own. Where the compiler is not there, the test says so and
//! passes.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A program, and the folder that it is in as long as this is kept.
pub(super) type Built = (TempDir, PathBuf);

/// Builds a program in Go, static and without symbols; `None`, with the reason, if there is no Go here.
pub(super) fn in_go(source: &str) -> Option<Built> {
    let folder = tempfile::tempdir().unwrap();
    let mut go = Command::new("go");
    go.args(["build", "-ldflags=-s -w"])
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "")
        .env("GOCACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/go"))
        .current_dir(folder.path());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    into(folder, go, &source)
}

/// Builds a program with this compiler; `None`, with the reason, if it cannot.
pub(super) fn by(compiler: &str, source: &Path, arguments: &[&str]) -> Option<Built> {
    let mut command = Command::new(compiler);
    command.args(arguments);
    into(tempfile::tempdir().unwrap(), command, source)
}

/// Returns the path of a program in C or Rust that waits and writes in its own way.
pub(super) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/run/musl_programs")
        .join(name)
}

fn into(folder: TempDir, mut compiler: Command, source: &Path) -> Option<Built> {
    let program = folder.path().join("server");
    compiler.arg("-o").arg(&program).arg(source);
    let is_built = compiler.output().is_ok_and(|it| it.status.success());
    if !is_built {
        eprintln!("skipped: {compiler:?} does not build here");
    }
    is_built.then_some((folder, program))
}
