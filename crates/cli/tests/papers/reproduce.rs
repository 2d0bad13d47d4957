//! The papers' experiments as a user runs them: what stays the same, what is printed, how a run
//! ends.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Output};

use tinygram_papers::experiments;
use tinygram_wire::capture::Reader;
use tinygram_wire::packet::{Verify, read};

fn tinygram(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    command.args(arguments.split_whitespace());
    command.output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("it is text")
}

/// Quick experiments of every paper.
const QUICK: &str = "reproduce mogul-figure-9 mogul-phase-locking mogul-section-9 mogul-table-1 \
                     heidemann-trace-2 davids";

/// Runs all experiments, which takes a minute or so on two cores; the exit code says whether every
/// value is within its tolerance.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn everything_agrees_and_the_document_is_current() {
    let output = tinygram("reproduce --format markdown");
    let now = text(&output.stdout);
    let off: Vec<_> = now.lines().filter(|line| line.contains('✗')).collect();
    assert_eq!(output.status.code(), Some(0), "{}", off.join("\n"));
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src/evidence/reproduction.md");
    let kept = std::fs::read_to_string(path).expect("the document is there");
    for (at, (kept, now)) in kept.lines().zip(now.lines()).enumerate() {
        assert_eq!(
            kept,
            now,
            "book/src/evidence/reproduction.md, line {}; {RENEW}",
            at + 1
        );
    }
    assert_eq!(
        kept.len(),
        now.len(),
        "book/src/evidence/reproduction.md; {RENEW}"
    );
}

const RENEW: &str = "renew it with `cargo run --release -- reproduce --format markdown --output \
                     book/src/evidence/reproduction.md`";

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    for format in ["text", "json", "markdown"] {
        let on =
            |threads| tinygram(&format!("{QUICK} --format {format} --threads {threads}")).stdout;
        assert_eq!(on(1), on(3), "{format}");
    }
    let seeded = |seed| tinygram(&format!("{QUICK} --format json --seed {seed}")).stdout;
    assert_ne!(seeded(1), seeded(2));
}

#[test]
fn the_document_of_rows_has_what_its_schema_says() {
    let output = tinygram(&format!("{QUICK} --format json --repetitions 3"));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(document["schema"], "tinygram.reproduce/1");
    assert_eq!(document["parameters"]["seed"], 1);
    assert_eq!(document["parameters"]["repetitions"], 3);
    let found = document["experiments"].as_array().expect("a list");
    for experiment in found {
        assert!(experiment["paper"].is_string(), "{}", experiment["id"]);
        for row in experiment["rows"].as_array().expect("a list") {
            assert!(row["cell"].is_object(), "{row}");
            for field in ["published", "reproduced", "tolerance", "class", "status"] {
                assert!(row.get(field).is_some(), "no {field}: {row}");
            }
            assert_eq!(
                row["status"] == "not-published",
                row["class"] == "not-published",
                "{row}"
            );
        }
    }
}

/// A reader of rows can make a table of each kind: a column's name is a word, and its values have
/// one type wherever it occurs.
#[test]
fn the_names_in_cells_are_identifiers_of_one_type() {
    let output = tinygram(
        "reproduce heidemann doupnik davids moldeklev-table-a1 mogul-section-9 mogul-table-3 \
         --format json",
    );
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let mut types = std::collections::BTreeMap::new();
    for experiment in document["experiments"].as_array().expect("a list") {
        for row in experiment["rows"].as_array().expect("a list") {
            for (name, value) in row["cell"].as_object().expect("names and values") {
                let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
                assert!(name.chars().all(is_word), "{name}: {row}");
                let is_text = value.is_string();
                assert_eq!(
                    *types.entry(name.clone()).or_insert(is_text),
                    is_text,
                    "{row}"
                );
            }
        }
    }
    assert!(types.len() > 8, "{types:?}");
}

/// A value that we derived is not presented as the paper's.
#[test]
fn a_number_that_the_paper_does_not_print_is_wanted_not_published() {
    let output = tinygram("reproduce doupnik-table-1 heidemann-table-1 --format json");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let experiments = document["experiments"].as_array().expect("a list");
    let all = experiments
        .iter()
        .flat_map(|it| it["rows"].as_array().expect("a list"));
    let of = |measure: &str| {
        let mut named = all.clone().filter(|row| row["cell"]["measure"] == measure);
        named
            .find(|row| row["status"] != "not-published")
            .expect("such a row")
    };
    let stalls = of("stalls per transaction");
    assert!(stalls["published"].is_null() && stalls["wanted"].is_number());
    assert_eq!(stalls["status"], "match");
    let quotient = of("relative to Nagle off");
    assert!(quotient["published"].is_null() && quotient["wanted"].is_number());
    let rate = of("KB/s");
    assert!(rate["published"].is_number() && rate.get("wanted").is_none());
}

#[test]
fn a_value_that_should_agree_and_does_not_is_found_after_all_was_printed() {
    // With one repetition of what the paper repeated ten times, chance puts some entries outside
    // their tolerance.
    let output = tinygram("reproduce mogul-table-5 --repetitions 1");
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains('✗') && told.contains("do not (with 1 repetition;"),
        "{told}"
    );
}

#[test]
fn an_unknown_id_is_refused_with_the_nearest_and_the_list() {
    let output = tinygram("reproduce mogul-tabel-5");
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    assert!(told.contains("did you mean mogul-table-5?"), "{told}");
    for experiment in experiments() {
        assert!(told.contains(experiment.id), "{told}");
    }
    assert_eq!(told.lines().count(), 1);
    assert!(output.stdout.is_empty());
}

#[test]
fn the_list_has_every_experiment_once() {
    let listed = tinygram("reproduce --list");
    let listed = text(&listed.stdout);
    let mut ids: Vec<_> = experiments().iter().map(|it| it.id).collect();
    for id in &ids {
        let of_it = listed
            .lines()
            .filter(|line| line.split_whitespace().next() == Some(id));
        assert_eq!(of_it.count(), 1, "{id}");
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), experiments().len());
    let measured = tinygram("reproduce --list --html page.html");
    assert_eq!(measured.status.code(), Some(2));
}

/// The page and the traces; the page is opened in Chromium, if installed.
#[test]
fn the_page_stands_alone_and_traces_are_files() {
    let home = tempfile::tempdir().expect("a directory");
    let page = home.path().join("page.html");
    let output = tinygram(&format!(
        "{QUICK} --html {} --traces {}",
        page.display(),
        home.path().join("traces").display()
    ));
    assert_eq!(output.status.code(), Some(0));
    let html = std::fs::read_to_string(&page).expect("the page is there");
    assert!(html.ends_with("</html>\n"));
    assert!(!html.contains("http://") && !html.contains("https://"));
    let trace = home.path().join("traces/mogul-section-9-2.txt");
    let trace = std::fs::read_to_string(trace).expect("the trace is there");
    assert!(
        trace.contains(" server > client: Flags [P.], seq "),
        "{trace}"
    );

    let capture = home.path().join("traces/mogul-section-9-2.pcapng");
    let mut capture = Reader::new(File::open(capture).expect("it is there")).expect("a capture");
    let mut packets = 0;
    while let Some(frame) = capture.next_frame().expect("a whole capture") {
        read(frame.data, Verify::Checksum).expect("a segment to be believed");
        packets += 1;
    }
    assert_eq!(packets, trace.lines().count());

    crate::pages::open(&page);
}
