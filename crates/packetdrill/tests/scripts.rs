//! The scripts of `scenarios/packetdrill`, played by packetdrill against our stack in virtual time.
//!
//! packetdrill is C and not part of this project: if neither `PACKETDRILL` nor `PATH` leads to it,
//! the test says so and is skipped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use tinygram_packetdrill::conformance::{Expectations, Outcome, Run, Under, scripts};

#[test]
fn every_script_of_ours_passes() {
    let Some(packetdrill) = packetdrill() else {
        eprintln!(
            "skipped: no packetdrill in PACKETDRILL or PATH; book/src/evidence/conformance.md says how to build it"
        );
        return;
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/packetdrill");
    let all = scripts(&root).unwrap();
    assert!(!all.is_empty(), "{} has scripts", root.display());
    let outcomes = play(&packetdrill, &root, &all);
    let failed = failures(&outcomes);
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Checks that a run reports failures: a script that expects one octet more than was written fails.
#[test]
fn a_script_that_expects_something_else_fails() {
    let Some(packetdrill) = packetdrill() else {
        eprintln!("skipped: no packetdrill in PACKETDRILL or PATH");
        return;
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/packetdrill");
    let text = fs::read_to_string(root.join("nagle-second-runt-waits.pkt")).unwrap();
    let wrong = text.replace("> P. 1:11(10)", "> P. 1:12(11)");
    assert_ne!(wrong, text, "the script sends 10 octets");
    let folder = scratch("wrong-script");
    fs::write(folder.join("wrong.pkt"), wrong).unwrap();
    let outcomes = play(&packetdrill, &folder, &["wrong.pkt".to_owned()]);
    let failed = failures(&outcomes);
    assert!(
        failed.len() == 1 && failed[0].starts_with("wrong.pkt:14:"),
        "{failed:#?}"
    );
}

/// The profile that users get plays the same scripts, and fails only where it is meant to differ.
#[test]
fn modern_plays_every_script_of_ours() {
    let Some(packetdrill) = packetdrill() else {
        eprintln!("skipped: no packetdrill in PACKETDRILL or PATH");
        return;
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/packetdrill");
    let all = scripts(&root).unwrap();
    let expected = Expectations::parse(include_str!("../expected/ours-modern.txt")).unwrap();
    let scratch = scratch("run-modern");
    let outcomes = play_with(&packetdrill, &root, &all, "profile=modern", scratch);
    assert_eq!(expected.surprises(&outcomes, false), Vec::<String>::new());
}

fn play(packetdrill: &Path, root: &Path, all: &[String]) -> BTreeMap<String, Outcome> {
    play_with(packetdrill, root, all, "", root_scratch(root))
}

fn play_with(
    packetdrill: &Path,
    root: &Path,
    all: &[String],
    flags: &str,
    scratch: PathBuf,
) -> BTreeMap<String, Outcome> {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_tinygram-packetdrill"));
    let object = object(&program);
    let run = Run {
        packetdrill: packetdrill.to_path_buf(),
        under: Under::Ours {
            object,
            flags: flags.to_owned(),
        },
        arguments: Vec::new(),
        defined: Vec::new(),
        jobs: 2,
        program,
        scratch,
    };
    run.all(root, all).unwrap()
}

fn failures(outcomes: &BTreeMap<String, Outcome>) -> Vec<&String> {
    let failed = outcomes.values().filter_map(|outcome| match outcome {
        Outcome::Fail(why) => Some(why),
        Outcome::Pass => None,
    });
    failed.collect()
}

/// Returns the program that `PACKETDRILL` names, or the first of that name in `PATH`.
fn packetdrill() -> Option<PathBuf> {
    if let Some(named) = env::var_os("PACKETDRILL") {
        let named = PathBuf::from(named);
        assert!(
            named.is_file(),
            "PACKETDRILL names no file: {}",
            named.display()
        );
        return Some(named);
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join("packetdrill"))
        .find(|one| one.is_file())
}

/// Returns the shared object, which cargo builds beside the tests or beside the program.
fn object(program: &Path) -> PathBuf {
    let name = "libtinygram_packetdrill.so";
    let beside = program.with_file_name(name);
    let deps = program.with_file_name("deps").join(name);
    let newest = |path: &PathBuf| fs::metadata(path).and_then(|file| file.modified()).ok();
    [beside, deps]
        .into_iter()
        .filter(|path| path.is_file())
        .max_by_key(newest)
        .expect("cargo builds the library with the tests")
}

/// A folder for each run, since tests run at the same time.
fn root_scratch(root: &Path) -> PathBuf {
    let name = root.file_name().expect("a folder has a name");
    scratch(&format!("run-{}", name.to_string_lossy()))
}

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}
