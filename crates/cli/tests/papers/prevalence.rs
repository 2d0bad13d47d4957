//! `tinygram prevalence` on whole logs: a real one if it is available, and made-up ones.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value;

fn tinygram(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    command.arg("prevalence").args(arguments);
    command
}

fn with_input(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = tinygram(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(input).expect("the program reads it all");
    drop(stdin);
    child.wait_with_output().expect("the program ends")
}

fn document(output: &Output) -> Value {
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

/// The whole real log; `None`, with the reason printed, if it is missing.
fn real_log() -> Option<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/logs/apache-combined-10k.log.gz");
    let Ok(packed) = std::fs::read(&path) else {
        println!("skipped: no ../shared/logs/apache-combined-10k.log.gz");
        return None;
    };
    let mut log = Vec::new();
    GzDecoder::new(&packed[..])
        .read_to_end(&mut log)
        .expect("it is gzip");
    Some(log)
}

/// Returns the status and the size of a line, found differently from the program: from the end of
/// the request, which in this log never holds a quote.
fn status_and_size(line: &str) -> (&str, Option<u64>) {
    let after = line.split('"').nth(2).expect("a request in quotes");
    let mut words = after.split_whitespace();
    let status = words.next().expect("a status");
    (status, words.next().and_then(|size| size.parse().ok()))
}

#[test]
fn a_real_log_gives_the_shares_that_its_lines_give() {
    let Some(log) = real_log() else { return };
    let text = String::from_utf8_lossy(&log);
    let sizes: Vec<u64> = text
        .lines()
        .filter(|line| !line.contains("\"HEAD "))
        .map(status_and_size)
        .filter(|(status, _)| *status != "304")
        .filter_map(|(_, size)| size.filter(|size| *size > 0))
        .collect();
    // The paper's words: "between (2 * N + 1) * MSS and (2 * N + 2) * MSS, exclusive".
    let is_delayed = |length: u64, mss: u64, mclbytes: u64| {
        let within = |n| (2 * n + 1) * mss < length && length < (2 * n + 2) * mss;
        length >= 2 * mss && length >= mclbytes && within(length / (2 * mss))
    };
    let output = with_input(&["-", "--no-cost", "--format", "json"], &log);
    let document = document(&output);
    assert_eq!(document["log"]["lines"], text.lines().count());
    assert_eq!(document["log"]["with_body"], sizes.len());
    assert_eq!(document["log"]["unreadable"], 0);
    let shares = document["shares"].as_array().expect("a list");
    assert_eq!(shares.len(), 6);
    for share in shares {
        let mss = share["mss"].as_u64().expect("a number");
        let mclbytes = share["mclbytes"].as_u64().unwrap_or(0);
        let delayed = sizes
            .iter()
            .filter(|size| is_delayed(**size, mss, mclbytes));
        assert_eq!(share["delayed"], delayed.count(), "{share}");
    }
}

#[test]
fn nagle_costs_stalls_and_the_modified_policies_do_not() {
    let Some(log) = real_log() else { return };
    let arguments = [
        "-",
        "--mss",
        "1460",
        "--format",
        "json",
        "--profile",
        "tru64_4",
    ];
    let document = document(&with_input(&arguments, &log));
    let costs = document["costs"].as_array().expect("a list");
    let of = |policy: &str| {
        costs
            .iter()
            .find(|cost| cost["policy"] == policy)
            .expect(policy)
    };
    let number = |policy, field: &str| of(policy)[field].as_f64().expect("a number");
    // The paper's model with this kernel's MCLBYTES, plus the effect of the window.
    let predicted = document["shares"][2]["share_percent"]
        .as_f64()
        .expect("a number");
    let simulated = number("nagle", "delayed_percent");
    assert!(
        (predicted..predicted + 2.0).contains(&simulated),
        "{predicted} {simulated}"
    );
    // The wait for a clock of 200 ms is half of its period on average.
    let mean_s = number("nagle", "stall_s") / number("nagle", "delayed");
    assert!((0.09..0.11).contains(&mean_s), "{mean_s}");
    for policy in ["minshall", "dldet", "off"] {
        assert_eq!(number(policy, "delayed"), 0.0, "{policy}");
        let stall = number(policy, "stall_s");
        assert!(
            stall < number("nagle", "stall_s") / 1000.0,
            "{policy} {stall}"
        );
    }
}

/// The first row shows the reader's own servers, which run Linux: nothing stalls.
#[test]
fn linux_stalls_none_of_them() {
    let Some(log) = real_log() else { return };
    let arguments = ["-", "--mss", "1460", "--format", "json"];
    let document = document(&with_input(&arguments, &log));
    let own = &document["costs"][0];
    assert_eq!(own["policy"], "linux");
    assert_eq!(
        (own["delayed"].as_u64(), own["stall_s"].as_f64()),
        (Some(0), Some(0.0))
    );
    assert!(own["mclbytes"].is_null());
}

/// The year between two logs does not count as covered time.
#[test]
fn a_day_is_one_of_those_that_the_logs_cover() {
    let home = tempfile::tempdir().expect("a directory");
    let at = |name: &str| home.path().join(name).display().to_string();
    let later = LINES.replace("2000", "2001");
    std::fs::write(at("old"), LINES).expect("it can be written");
    std::fs::write(at("new"), later).expect("it can be written");
    let days = |logs: &[&str]| {
        let output = tinygram(logs)
            .args(["--no-cost", "--format", "json"])
            .output();
        let document = document(&output.expect("the program ends"));
        document["log"]["days"].as_f64().expect("a number")
    };
    let (old, new) = (at("old"), at("new"));
    let hours = |days: f64| (24.0 * days).round();
    assert_eq!(hours(days(&[&old])), 2.0);
    assert_eq!(hours(days(&[&old, &new])), 4.0);
    assert_eq!(hours(days(&[&old, &old])), 2.0);
}

const LINES: &str = "\
h - - [10/Oct/2000:13:55:36 -0700] \"GET /a HTTP/1.1\" 200 8300
h - - [10/Oct/2000:14:55:36 -0700] \"GET /b HTTP/1.1\" 200 31000
h - - [10/Oct/2000:15:55:36 -0700] \"GET /c HTTP/1.1\" 200 400000
";

#[test]
fn the_same_log_gives_the_same_results_however_it_comes_and_on_any_threads() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder
        .write_all(LINES.as_bytes())
        .expect("memory is writable");
    let packed = encoder.finish().expect("memory is writable");
    let plain = with_input(&["-", "--threads", "1"], LINES.as_bytes());
    assert!(plain.status.success());
    assert_eq!(
        with_input(&["-", "--threads", "3"], &packed).stdout,
        plain.stdout
    );
}

#[test]
fn what_is_too_long_to_simulate_is_said() {
    let log = format!(
        "{LINES}h - - [10/Oct/2000:15:55:36 -0700] \"GET /d\" 200 {}\n",
        u64::MAX
    );
    let output = with_input(&["-", "--format", "json"], log.as_bytes());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("being longer than 128 MiB: 1"), "{told}");
    assert_eq!(document(&output)["log"]["with_body"], 4);
}

#[test]
fn files_appear_whole_and_standard_output_stays_empty() {
    let home = tempfile::tempdir().expect("a directory");
    let at = |name: &str| home.path().join(name).display().to_string();
    let (results, page) = (at("results.csv"), at("page.html"));
    let arguments = [
        "-", "--format", "csv", "--output", &results, "--html", &page,
    ];
    let output = with_input(&arguments, LINES.as_bytes());
    assert!(output.status.success() && output.stdout.is_empty());
    let csv = std::fs::read_to_string(results).expect("the results are there");
    assert_eq!(csv.lines().count(), 1 + 6 + 10);
    let page = std::fs::read_to_string(page).expect("the page is there");
    assert!(page.ends_with("</html>\n") && page.contains("What the responses would cost"));
}

#[test]
fn a_damaged_gzip_log_is_no_half_read_log() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder
        .write_all(LINES.as_bytes())
        .expect("memory is writable");
    let packed = encoder.finish().expect("memory is writable");
    let output = with_input(&["-"], &packed[..packed.len() - 4]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
}
