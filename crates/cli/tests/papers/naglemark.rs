//! Whole runs of the program: what stays the same, and what remains when it is stopped.

use std::process::{Command, Output, Stdio};

fn tinygram(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    command.args(arguments.split_whitespace());
    command
}

fn run(arguments: &str) -> Output {
    let output = tinygram(arguments).output().expect("the program starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments}: {told}");
    output
}

const SMALL: &str = "naglemark --policy nagle,flush-on-block --app-buffer 4K --socket-buffer 16K \
                     --transfers 100 --repetitions 2";

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    for format in ["table", "json", "csv", "markdown"] {
        let on = |threads| run(&format!("{SMALL} --format {format} --threads {threads}")).stdout;
        assert_eq!(on(1), on(3), "{format}");
    }
    let seeded = |seed| run(&format!("{SMALL} --format csv --seed {seed}")).stdout;
    assert_ne!(seeded(1), seeded(2));
}

#[test]
fn the_document_holds_every_cell_and_every_parameter() {
    let output = run(&format!("{SMALL} --format json --stats"));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(document["schema"], "tinygram.naglemark/1");
    let cells = document["cells"].as_array().expect("cells are a list");
    assert_eq!(cells.len(), 2 * 2 * 4);
    for field in [
        "table",
        "medium",
        "variant",
        "app_buffer",
        "socket_buffer",
        "trial",
        "score_percent",
        "score_sd",
        "segments_per_transfer",
        "short_segments_per_transfer",
        "mean_elapsed_ms",
        "p99_elapsed_ms",
        "slope_ns_per_byte",
    ] {
        assert!(cells[0].get(field).is_some(), "no {field}");
    }
    assert_eq!(document["parameters"]["hosts"], "paper");
    assert_eq!(document["parameters"]["repetitions"], 2);
    assert_eq!(document["parameters"]["sequential"]["transfers"], 100);
    let details = document["parameters"]["model_details"]
        .as_array()
        .expect("a list");
    assert!(details.iter().all(|detail| detail["fitted"] == true));
    let stats = String::from_utf8(output.stderr).expect("it is text");
    assert!(stats.contains("transfers/s"), "{stats}");
    assert_eq!(stats.lines().count(), 1);
}

#[test]
fn files_appear_whole_and_standard_output_stays_empty() {
    let home = tempfile::tempdir().expect("a directory");
    let at = |name: &str| home.path().join(name);
    let output = run(&format!(
        "{SMALL} --medium fddi --format csv --output {} --html {} --svg {}",
        at("cells.csv").display(),
        at("page.html").display(),
        at("figures/of-fddi").display(),
    ));
    assert!(output.stdout.is_empty());
    let csv = std::fs::read_to_string(at("cells.csv")).expect("the cells are there");
    assert_eq!(csv.lines().count(), 1 + 2 * 4);
    let page = std::fs::read_to_string(at("page.html")).expect("the page is there");
    assert!(page.ends_with("</html>\n"));
    assert!(
        page.contains("\"title\":\"slowest: "),
        "transfers open their segments"
    );
    crate::pages::open(&at("page.html"));
    let figures = std::fs::read_dir(at("figures/of-fddi")).expect("the figures are there");
    assert_eq!(figures.count(), 2);
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_leaves_nothing_behind() {
    let home = tempfile::tempdir().expect("a directory");
    let mut child = tinygram(&format!(
        "naglemark --repetitions 100000 --output {0}/cells --html {0}/page --svg {0}/figures",
        home.path().display()
    ))
    .stderr(Stdio::piped())
    .spawn()
    .expect("the program starts");
    let pid = child.id().to_string();
    while !catches_interrupts(&pid) {
        std::thread::yield_now();
    }
    let sent = Command::new("kill").args(["-INT", &pid]).status();
    assert!(sent.expect("kill is there").success());
    let status = child.wait().expect("the program ends");
    assert_eq!(status.code(), Some(130));
    let left = std::fs::read_dir(home.path()).expect("the directory is there");
    assert_eq!(left.count(), 0);
}

/// Returns whether the process has a handler for SIGINT, the second bit of its mask of caught
/// signals.
#[cfg(target_os = "linux")]
fn catches_interrupts(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.expect("Linux tells the mask") & 0b10 != 0
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = tinygram("policies")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert!(output.status.success());
    assert!(output.stderr.is_empty());
}

#[test]
fn every_verb_has_a_manual_page() {
    for page in ["man", "man naglemark", "man policies"] {
        let text = String::from_utf8(run(page).stdout).expect("it is text");
        assert!(text.contains(".SH NAME"), "{page}");
    }
}
