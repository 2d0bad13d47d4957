//! Children started in every way that the C library offers: each has the library, or, if that would
//! do harm, runs without it and is named.

use std::path::{Path, PathBuf};

use crate::programs::{compile, text, tinygram};

/// Prints its arguments, and whether it has the library.
const CHILD: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
    const char *list = getenv("LD_PRELOAD");
    for (int i = 1; i < argc; i++) printf("%s ", argv[i]);
    return puts(list && strstr(list, "libtinygram") ? "covered" : "not covered") < 0;
}
"#;
const ARGUMENTS: &str = "first second third fourth fifth sixth seventh ";

#[test]
fn a_child_has_the_library_whatever_way_it_was_started() {
    let Some(programs) = Programs::compiled(&[]) else {
        return;
    };
    for way in programs.ways() {
        let said = programs.start(&way);
        let expected = format!("{ARGUMENTS}covered\n");
        assert!(said.starts_with(&expected), "{way}: {said}");
        assert!(!said.contains("not covered: child"), "{way}: {said}");
    }
}

#[test]
fn a_child_that_the_library_would_harm_runs_without_it_whatever_way_it_was_started() {
    let Some(programs) = Programs::compiled(&["-fsanitize=address"]) else {
        return;
    };
    for way in programs.ways() {
        let said = programs.start(&way);
        let expected = format!("{ARGUMENTS}not covered\n");
        assert!(said.starts_with(&expected), "{way}: {said}");
        assert!(
            said.contains("not covered: child (built with a sanitizer"),
            "{way}: {said}"
        );
    }
}

/// A program that starts others, and one to be started.
struct Programs {
    folder: tempfile::TempDir,
    starts: PathBuf,
}

impl Programs {
    /// Returns `None` if there is no compiler, or none with these flags.
    fn compiled(flags: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("child.c");
        std::fs::write(&source, CHILD).unwrap();
        let starts = folder.path().join("starts");
        let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run/starts.c");
        if compile(&ours, &starts, &["-O2"])
            && compile(&source, &folder.path().join("child"), flags)
        {
            return Some(Self { folder, starts });
        }
        eprintln!("skipped: the C compiler here cannot build with {flags:?}");
        None
    }

    fn ways(&self) -> Vec<String> {
        let list = std::process::Command::new(&self.starts).output().unwrap();
        let ways: Vec<_> = text(&list).split_whitespace().map(str::to_owned).collect();
        assert!(ways.len() > 10);
        ways
    }

    /// Returns the output of the child, followed by the statistics.
    fn start(&self, way: &str) -> String {
        let path = std::env::var("PATH").unwrap_or_default();
        let output = tinygram()
            .env("PATH", format!("{}:{path}", self.folder.path().display()))
            .args(["run", "--stats", "--"])
            .args([&self.starts, &PathBuf::from(way)])
            .arg(self.folder.path().join("child"))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{way}: {}", text(&output));
        text(&output)
    }
}
