//! `--format parquet` and `--format arrow` without the feature `tables`: one clear line. The files
//! that the feature writes are tested where other programs read them, in python/tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn tinygram(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tinygram"))
        .args(arguments)
        .output()
        .expect("the program starts")
}

fn corpus(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    path.join(name).display().to_string()
}

/// Every verb that writes tables, each with quick arguments.
fn asked(format: &str) -> Vec<Vec<String>> {
    let capture = corpus("wwr-no-offload.pcap");
    let log = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/cmd/prevalence.in/access.log"
    );
    let verbs: [&[&str]; 9] = [
        &["diagnose", &capture],
        &["diagnose", &capture, "--table", "connections"],
        &["diagnose", &capture, "--table", "ruled-out"],
        &["diagnose", &capture, "--table", "verdict"],
        &["prevalence", log],
        &["prevalence", log, "--table", "log"],
        &["prevalence", log, "--no-cost"],
        &[
            "naglemark",
            "--policy",
            "off,nagle",
            "--lengths",
            "5000",
            "--transfers",
            "3",
            "--repetitions",
            "1",
        ],
        &["reproduce", "moldeklev-table-1"],
    ];
    let typed = |verb: &&[&str]| {
        let words = verb.iter().copied().chain(["--format", format]);
        words.map(str::to_owned).collect()
    };
    verbs.iter().map(typed).collect()
}

/// Returns the files left in a folder.
fn names(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    entries
        .map(|it| it.expect("it can be read").path())
        .collect()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
#[cfg_attr(feature = "tables", ignore = "with the feature there are files")]
fn without_the_feature_one_line_says_so_before_any_work() {
    let home = tempfile::tempdir().expect("a folder for the test");
    let path = home.path().join("out");
    for format in ["parquet", "arrow"] {
        for words in asked(format) {
            let mut words: Vec<_> = words.iter().map(String::as_str).collect();
            words.extend(["--output", path.to_str().expect("the name is UTF-8")]);
            let output = tinygram(&words);
            assert_eq!(output.status.code(), Some(2), "{words:?}");
            let line = format!(
                "tinygram: --format {format} is not in this build (accepted: the other formats; the wheel \
                 has it, and cargo build --features tables)\n"
            );
            assert_eq!(told(&output), line);
        }
    }
    assert!(names(home.path()).is_empty());
}

#[test]
fn a_table_is_of_a_format_that_has_rows() {
    let capture = corpus("wwr-no-offload.pcap");
    for verb in [
        ["diagnose", &capture, "verdict"],
        ["prevalence", "x", "log"],
    ] {
        let [verb, file, table] = verb;
        let output = tinygram(&[verb, file, "--table", table]);
        assert_eq!(output.status.code(), Some(2));
        let said = told(&output);
        assert!(
            said.contains("--format parquet and --format arrow")
                && said.contains("--table belongs to")
                || said.contains("No such file"),
            "{said}"
        );
    }
}

#[test]
fn a_diagnosis_is_rows_of_csv_without_any_feature() {
    let capture = corpus("wwr-no-offload.pcap");
    let output = tinygram(&["diagnose", &capture, "--format", "csv"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let text = String::from_utf8(output.stdout).expect("CSV is text");
    let mut lines = text.lines();
    let head = lines.next().expect("a head");
    assert!(head.starts_with("capture,connection,client_address,client_port,"));
    let first = lines.next().expect("a finding");
    assert!(first.contains(",write-write-read,client,"), "{first}");
    let json = tinygram(&["diagnose", &capture, "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let findings = json["findings"].as_array().expect("a list").len();
    assert_eq!(text.lines().count(), 1 + findings);
    let verdict = tinygram(&[
        "diagnose", &capture, "--format", "csv", "--table", "verdict",
    ]);
    assert_eq!(String::from_utf8_lossy(&verdict.stdout).lines().count(), 2);
}

#[test]
fn a_diagnosis_goes_where_it_is_told_in_every_format() {
    let home = tempfile::tempdir().expect("a folder for the test");
    let capture = corpus("wwr-no-offload.pcap");
    for format in ["text", "json"] {
        let path = home.path().join(format);
        let path = path.to_str().expect("the name is UTF-8");
        let printed = tinygram(&["diagnose", &capture, "--format", format]);
        let filed = tinygram(&["diagnose", &capture, "--format", format, "-o", path]);
        assert!(filed.stdout.is_empty());
        let written = std::fs::read(path).expect("it was written");
        assert_eq!(written, printed.stdout);
    }
    let json = tinygram(&["diagnose", &capture, "--json"]);
    let written = std::fs::read(home.path().join("json")).expect("it was written");
    assert_eq!(written, json.stdout);
    let both = tinygram(&["diagnose", &capture, "--json", "--format", "text"]);
    assert_eq!(both.status.code(), Some(2));
}
