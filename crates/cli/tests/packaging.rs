//! What a release is made by agrees with what the program and the dependencies are.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    fs::read_to_string(checkout().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the strings of an array in a file of TOML.
fn strings(path: &str, keys: &[&str]) -> BTreeSet<String> {
    let document: toml::Table = text(path).parse().unwrap();
    let (last, tables) = keys.split_last().unwrap();
    let table = tables
        .iter()
        .fold(&document, |table, key| table[*key].as_table().unwrap());
    let array = table[*last].as_array().unwrap();
    array
        .iter()
        .map(|it| it.as_str().unwrap().to_owned())
        .collect()
}

/// Returns rustc's targets that programs are released for.
fn released() -> BTreeSet<String> {
    let script = text("packaging/parts/build.py");
    let table = script.split("TARGETS = {").nth(1).unwrap();
    let rows = table.split('}').next().unwrap().lines();
    rows.filter_map(|row| row.split("(\"").nth(1)?.split('"').next())
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_licences_that_are_shipped_are_those_that_are_allowed() {
    let allowed = strings("deny.toml", &["licenses", "allow"]);
    let shipped = strings("packaging/about.toml", &["accepted"]);
    // Of all targets together there is one more, which no program has.
    let never: Vec<_> = allowed.difference(&shipped).collect();
    assert!(
        shipped.is_subset(&allowed) && never == ["ISC"],
        "{shipped:?}, {never:?}"
    );
}

#[test]
fn every_target_of_a_release_is_looked_at_for_licences_and_installed_by_the_workflow() {
    let released = released();
    assert!(released.len() > 3, "{released:?}");
    let windows = "x86_64-pc-windows-gnu";
    let mut looked_at = strings("packaging/about.toml", &["targets"]);
    // Its licences are made apart.
    assert!(text("packaging/parts/inventory.py").contains("x86_64-windows"));
    assert!(looked_at.insert(windows.to_owned()));
    assert_eq!(looked_at, released);
    assert_eq!(strings("deny.toml", &["graph", "targets"]), released);
    let workflow = text(".github/workflows/release.yml");
    // Its machine's own is there.
    for target in released
        .iter()
        .filter(|it| *it != "x86_64-unknown-linux-gnu")
    {
        assert!(workflow.contains(target.as_str()), "{target}");
    }
}

#[test]
fn the_package_puts_the_libraries_where_run_looks() {
    let script = text("packaging/parts/bundle.py");
    let looks = text("crates/cli/src/verbs/run/library.rs");
    assert!(looks.contains("\"/usr/lib/tinygram\""));
    let program = text("crates/cli/src/verbs/run/c_library.rs");
    assert!(script.contains("lib/tinygram/libtinygram{suffix}.so"));
    for name in ["libtinygram.so", "libtinygram-musl.so"] {
        assert!(program.contains(&format!("\"{name}\"")), "{name}");
    }
    // They are read by the names that the build script gives them.
    let build = text("crates/cli/build.rs");
    for name in ["preload-glibc.so", "preload-musl.so"] {
        assert!(build.contains(name) && program.contains(name), "{name}");
    }
}

#[test]
fn the_stand_in_for_libgcc_has_what_the_library_takes_from_it() {
    let map = text("packaging/gcc_s.map");
    // With the versions that each has in libgcc_s.so.1 since GCC 4.2.
    for (version, names) in [
        (
            "GCC_3.0 {",
            [
                "_Unwind_Resume;",
                "_Unwind_RaiseException;",
                "_Unwind_GetIP;",
            ],
        ),
        (
            "GCC_3.3 {",
            [
                "_Unwind_Backtrace;",
                "_Unwind_GetCFA;",
                "_Unwind_Resume_or_Rethrow;",
            ],
        ),
    ] {
        let block = map
            .split(version)
            .nth(1)
            .unwrap()
            .split('}')
            .next()
            .unwrap();
        for name in names {
            assert!(block.contains(name), "{version} {name}");
        }
    }
}

/// Cargo packs what a link leads to, but only within a checkout; the licences, which lie beside every crate, are the only
/// ones.
#[test]
fn no_source_of_a_crate_is_a_link() {
    let mut folders = vec![checkout().join("crates")];
    let (mut links, mut files) = (Vec::new(), 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let is_licence = entry.file_name().to_string_lossy().starts_with("LICENSE-");
            if kind.is_symlink() && !is_licence {
                links.push(path);
            } else if kind.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else {
                files += 1;
            }
        }
    }
    assert!(files > 1000, "only {files} files were seen");
    assert!(links.is_empty(), "{links:?}");
}
