//! `tinygram page`: what a build was given is what the command writes, and only the page can be given.

#[path = "../build/page.rs"]
mod build;

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs the program in a folder; returns its exit code, its output and what it said.
fn page(folder: &Path, file: &str) -> (Option<i32>, Vec<u8>, String) {
    let program = env!("CARGO_BIN_EXE_tinygram");
    let ran = Command::new(program)
        .args(["page", file])
        .current_dir(folder)
        .output();
    let ran = ran.expect("it runs");
    let said = String::from_utf8(ran.stderr).expect("it says text");
    (ran.status.code(), ran.stdout, said)
}

/// With `TINYGRAM_PAGE` the page comes out octet for octet; without, the command says how a build gets one.
#[test]
fn the_command_writes_the_page_that_the_build_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    let (code, printed, _) = page(folder.path(), "-");
    let (written_code, _, said) = page(folder.path(), "page.html");
    assert_eq!(code, written_code);
    match option_env!("TINYGRAM_PAGE").filter(|it| !it.is_empty()) {
        Some(named) => {
            let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            let given = std::fs::read(checkout.join(named)).unwrap();
            assert_eq!((code, said.as_str()), (Some(0), ""));
            assert!(printed == given, "the printed page differs");
            assert!(
                std::fs::read(file).unwrap() == given,
                "the written page differs"
            );
        }
        None => {
            assert_eq!((code, printed), (Some(2), Vec::new()));
            assert!(
                said.contains("carries no page") && said.contains("page/build"),
                "{said}"
            );
            assert_eq!(said.lines().count(), 1, "{said}");
            assert!(!file.exists());
        }
    }
}

#[test]
fn a_build_carries_the_page_it_is_told_of() {
    let checkout = tempfile::tempdir().unwrap();
    let text = format!("<!doctype html>\n<!-- tinygram {VERSION}. -->\n<script id=\"module\">");
    std::fs::create_dir(checkout.path().join("page")).unwrap();
    let file = checkout.path().join("page/tinygram.html");
    std::fs::write(&file, &text).unwrap();
    let carried = |named: &OsStr| build::to_carry(Some(named), checkout.path(), VERSION);
    assert_eq!(
        carried("page/tinygram.html".as_ref()),
        Ok(text.clone().into_bytes())
    );
    assert_eq!(
        carried(file.as_os_str()),
        Ok(text.into_bytes()),
        "an absolute path is one, too"
    );
    assert_eq!(
        carried("".as_ref()),
        Ok(Vec::new()),
        "as if it were not set"
    );
    assert_eq!(
        build::to_carry(None, checkout.path(), VERSION),
        Ok(Vec::new())
    );
}

#[test]
fn a_build_refuses_what_is_not_its_page() {
    let checkout = tempfile::tempdir().unwrap();
    let refused = |text: Option<&str>| {
        let file = checkout.path().join("given.html");
        match text {
            Some(text) => std::fs::write(&file, text).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        build::to_carry(Some("given.html".as_ref()), checkout.path(), VERSION).unwrap_err()
    };
    assert!(refused(Some("A text.")).contains("is not the page"));
    let other = "<!doctype html>\n<!-- tinygram 0.0.1. -->\n<script id=\"module\">";
    assert!(refused(Some(other)).contains("of another version"));
    assert!(refused(None).contains("reading"));
}

/// The page is built with `--locked` and outside the workspace, so cargo does not keep its lock file up to date.
#[test]
fn the_page_s_lock_file_follows_the_crates_it_is_built_from() {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let locked = std::fs::read_to_string(checkout.join("page/Cargo.lock")).unwrap();
    let mut compared = 0;
    for package in locked.split("[[package]]\n") {
        let Some(name) = package.strip_prefix("name = \"tinygram-") else {
            continue;
        };
        let (name, rest) = name.split_once('"').unwrap();
        let folder = match name {
            "page" => checkout.join("page"),
            of => checkout.join("crates").join(of),
        };
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let wanted = of_ours(manifest.split("\n[dependencies]\n").nth(1).unwrap_or(""));
        assert_eq!(
            of_ours(rest),
            wanted,
            "tinygram-{name}: cargo metadata --manifest-path page/Cargo.toml"
        );
        compared += 1;
    }
    assert!(compared > 8, "only {compared} crates compared");
}

/// Returns our crates that the lines name, up to the next section.
fn of_ours(lines: &str) -> Vec<&str> {
    let section = lines.lines().take_while(|line| !line.starts_with('['));
    let names = section.filter_map(|line| {
        let name = line.trim_start_matches([' ', '"']);
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '-')?;
        name[..end].strip_prefix("tinygram-")
    });
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}
