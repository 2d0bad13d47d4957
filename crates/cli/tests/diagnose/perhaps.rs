//! Who an accused end perhaps is, and where that is known from.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tinygram_stalls::Program;

use crate::{corpus, diagnose, json, scratch, text};

/// A server of Python's whose head is cut off behind "Server: BaseH"; with nginx's name in that place it is perhaps nginx.
#[test]
fn who_is_accused_is_perhaps_what_it_says_of_itself() {
    let capture = fs::read(corpus("rare/python-header-and-body-far.pcap")).unwrap();
    let unknown = diagnose(&[], &[&corpus("rare/python-header-and-body-far.pcap")]);
    assert!(!text(&unknown.stdout).contains("is perhaps"));
    let renamed = replaced(&capture, b"Server: BaseH", b"Server: nginx");
    let path = scratch("perhaps.pcap");
    fs::write(&path, renamed).unwrap();
    let said = text(&diagnose(&[], &[&path]).stdout);
    let line = said.lines().nth(1);
    assert_eq!(
        line,
        Some("10.66.0.2:8000 is perhaps nginx: atlas/pages/nginx.md"),
        "{said}"
    );
    let document = json(&diagnose(&["--json"], &[&path]));
    assert_eq!(
        document["summary"]["perhaps"],
        serde_json::json!([{"end": "10.66.0.2:8000", "name": "nginx", "page": "atlas/pages/nginx.md"}])
    );
    // A client that says the same is none.
    let swapped = replaced(&capture, b"Server: BaseH", b"User-Agent: c");
    fs::write(&path, swapped).unwrap();
    let document = json(&diagnose(&["--json"], &[&path]));
    assert_eq!(document["summary"]["perhaps"], serde_json::json!([]));
}

/// The table that is compiled in was written from the atlas' rows, and each has a page.
#[test]
fn the_programs_are_those_of_the_atlas() {
    let atlas = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../atlas");
    let told: toml::Table = fs::read_to_string(atlas.join("recognised.toml"))
        .unwrap()
        .parse()
        .unwrap();
    let compiled: BTreeMap<_, _> = Program::all().map(|it| (it.id, it)).collect();
    let names: Vec<_> = told.keys().map(String::as_str).collect();
    assert_eq!(compiled.keys().copied().collect::<Vec<_>>(), names);
    for (id, program) in compiled {
        let row: Value = json_of(&atlas.join(format!("rows/{id}.json")));
        assert_eq!(row["name"], program.name);
        assert_eq!(row["side"], program.side.to_string());
        let words = |field: &str| -> Vec<&str> {
            let list = told[id].get(field).and_then(toml::Value::as_array);
            list.into_iter()
                .flatten()
                .filter_map(toml::Value::as_str)
                .collect()
        };
        assert_eq!(program.processes().collect::<Vec<_>>(), words("processes"));
        assert_eq!(program.banners().collect::<Vec<_>>(), words("banners"));
        let page: PathBuf = atlas.join("..").join(program.page().to_string());
        assert!(page.exists(), "{}", page.display());
    }
}

fn json_of(path: &Path) -> Value {
    let octets = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&octets).unwrap()
}

fn replaced(octets: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let mut octets = octets.to_vec();
    let mut at = 0;
    let mut times = 0;
    while let Some(next) = octets[at..].windows(old.len()).position(|it| it == old) {
        at += next;
        octets[at..at + old.len()].copy_from_slice(new);
        times += 1;
    }
    assert!(times > 0);
    octets
}
