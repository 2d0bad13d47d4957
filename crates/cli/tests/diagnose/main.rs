//! `tinygram diagnose` as a user runs it, on the recorded corpus.

mod cut_off;
#[path = "../pages/mod.rs"]
mod pages;
mod perhaps;
mod streamed;
mod together;
mod unreadable;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../corpus")
        .join(name)
}

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("diagnose");
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    command.arg("diagnose").stdin(Stdio::null());
    command
}

fn diagnose(args: &[&str], captures: &[&Path]) -> Output {
    command().args(args).args(captures).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_first_line_is_the_verdict() {
    let output = diagnose(&[], &[&corpus("wwr-client-v6.pcap")]);
    assert_eq!(output.status.code(), Some(0));
    let out = text(&output.stdout);
    let first = out.lines().next().unwrap();
    assert!(first.starts_with("client [fd77::1]:"), "{first}");
    assert!(first.contains("7 stalls cost"), "{first}");
    assert!(
        first.ends_with("the client writes 46 + 50 bytes separately and waits; one write, if it is one message, or TCP_NODELAY on the client"),
        "{first}"
    );
    assert!(out.contains("Wireshark: frame.number in {"));
}

#[test]
fn json_has_the_fields_of_its_schema() {
    let output = diagnose(
        &["--json", "--fail-on", "cost_ms>1e9"],
        &[&corpus("wwr-server.pcap")],
    );
    assert_eq!(output.status.code(), Some(0));
    let document = json(&output);
    assert_eq!(document["schema"], "tinygram.diagnose/2");
    assert_eq!(document["parameters"]["fail_on"][0], "cost_ms>1e9");
    assert_eq!(document["summary"]["stalls"], 11);
    let findings = document["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 11);
    for finding in findings {
        assert_eq!(finding["kind"], "write-write-read");
        assert_eq!(finding["direction"], "server->client");
        assert_eq!(finding["blame"], "server");
        assert_eq!(finding["frames"].as_array().unwrap().len(), 3);
        assert!(finding["cost_ms"].as_f64().unwrap() > 35.0);
        assert!(finding["start"].is_f64());
        for field in ["confidence", "caution", "filter"] {
            assert!(!finding[field].as_str().unwrap().is_empty(), "{field}");
        }
        assert!(finding["evidence"].as_array().unwrap().len() >= 3);
    }
    let sum: f64 = findings
        .iter()
        .map(|f| f["cost_ms"].as_f64().unwrap())
        .sum();
    assert!((sum - document["summary"]["cost_ms"].as_f64().unwrap()).abs() < 0.1);
}

/// Each finding of the JSON says what was asked, and `--explain` tells the story of a frame of it.
#[test]
fn a_finding_can_be_audited() {
    let capture = corpus("wwr-client.pcap");
    let found = json(&diagnose(&["--json"], &[&capture]));
    let finding = &found["findings"][0];
    let checks = finding["checks"].as_array().expect("checks");
    assert!(checks.len() > 10, "{checks:?}");
    for check in checks {
        let name = &check["check"];
        let kinds = found["checks"].as_array().expect("what checks are");
        let kind = kinds.iter().find(|kind| kind["check"] == *name);
        let kind = kind.unwrap_or_else(|| panic!("{name}"));
        assert!(
            kind["origin"].is_string() && kind["effect"].is_string(),
            "{kind}"
        );
    }
    let held = finding["frames"][2].as_u64().expect("a frame").to_string();
    let told = diagnose(&["--explain", &held], &[&capture]);
    let told = text(&told.stdout);
    assert!(told.contains("Held? Yes"), "{told}");
    assert!(told.lines().count() <= 10, "{told}");
    let verbose = text(&diagnose(&["--verbose"], &[&capture]).stdout);
    assert!(verbose.contains("    delayed-ack: passed"), "{verbose}");
}

/// What is possible says which check bounds it, and what is likely says why it is not certain.
#[test]
fn a_tier_below_certain_is_explained() {
    for (name, confidence) in [
        ("rare/slow-tail-far.pcap", "possible"),
        ("wwr-client.pcap", "likely"),
    ] {
        let capture = corpus(name);
        let found = json(&diagnose(&["--json"], &[&capture]));
        let all = found["findings"].as_array().expect("findings");
        let one = all.iter().find(|it| it["confidence"] == confidence);
        let bound = &one.unwrap_or_else(|| panic!("{found}"))["bounded_by"];
        let kinds = found["checks"].as_array().expect("what checks are");
        let check = kinds.iter().find(|kind| kind["check"] == *bound);
        let failed = check.expect("a check")["failed"].as_str().expect("words");
        let said = text(&diagnose(&[], &[&capture]).stdout);
        let wanted = match confidence {
            "possible" => format!("and not counted: {failed} (listed below)"),
            _ => format!("(likely, not certain: {failed})"),
        };
        assert!(said.contains(&wanted), "{wanted}: {said}");
    }
}

#[test]
fn a_frame_of_one_capture_is_explained() {
    let [one, other] = ["wwr-client.pcap", "wwr-server.pcap"].map(corpus);
    let output = diagnose(&["--explain", "5"], &[&one, &other]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("accepted: one CAPTURE"));
    let none = diagnose(&["--explain", "99999"], &[&one]);
    assert_eq!(none.status.code(), Some(2));
    let said = text(&none.stderr);
    assert!(said.contains("no such frame (accepted: 1 to "), "{said}");
    assert!(none.stdout.is_empty() && said.lines().count() == 1);
}

#[test]
fn fail_on_sets_the_exit_code() {
    let stalls = corpus("wwr-client.pcap");
    let clean = corpus("clean-writev.pcap");
    let code = |condition: &str, capture: &Path| {
        diagnose(&["--fail-on", condition], &[capture])
            .status
            .code()
    };
    assert_eq!(code("stalls>0", &stalls), Some(1));
    assert_eq!(code("stalls>0", &clean), Some(0));
    assert_eq!(code("cost_ms > 100", &stalls), Some(1));
    assert_eq!(code("cost_ms>100000", &stalls), Some(0));
    assert_eq!(code("write-write-read>=7", &stalls), Some(1));
    assert_eq!(code("tinygram-flood!=0", &stalls), Some(0));
    assert_eq!(code("floods==1", &corpus("flood-server.pcap")), Some(1));
    assert_eq!(code("stalls", &stalls), Some(2));
    assert_eq!(code("stalks>0", &stalls), Some(2));
    assert_eq!(code("stalls>many", &stalls), Some(2));
}

/// A dangling link, a folder and rubbish among captures: each is named, and the rest is done.
#[test]
fn what_cannot_be_read_of_several_is_named_and_the_rest_is_done() {
    let rubbish = scratch("rubbish-among-others");
    std::fs::write(&rubbish, "no capture at all").unwrap();
    let (missing, folder) = (scratch("missing"), scratch("."));
    let sound = corpus("wwr-client.pcap");
    let alone = diagnose(&[], &[&sound]);
    let output = diagnose(&[], &[&missing, &sound, &folder, &rubbish]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), text(&alone.stdout));
    let said = text(&output.stderr);
    for (name, why) in [
        (&missing, "No such file"),
        (&folder, "is a folder"),
        (&rubbish, "is not a capture"),
    ] {
        let name = name.display().to_string();
        let mut lines = said.lines();
        assert!(
            lines.any(|line| line.contains(&name) && line.contains(why)),
            "{said}"
        );
    }
    // A condition that holds counts more.
    let found = diagnose(&["--fail-on", "stalls>0"], &[&missing, &sound]);
    assert_eq!(found.status.code(), Some(1));
    // If nothing can be read, nothing is shown.
    let none = diagnose(&[], &[&missing, &rubbish]);
    assert_eq!(none.status.code(), Some(2));
    assert!(none.stdout.is_empty());
    assert_eq!(text(&none.stderr).lines().count(), 2);
}

#[test]
fn captures_that_cannot_tell_for_one_reason_are_one_line() {
    let one_way = without(&corpus("wwr-client.pcap"), 2);
    let captures: Vec<_> = (0..5)
        .map(|number| {
            let path = scratch(&format!("one-way-{number}.pcap"));
            std::fs::write(&path, &one_way).unwrap();
            path
        })
        .collect();
    let captures: Vec<_> = captures.iter().map(PathBuf::as_path).collect();
    let output = diagnose(&[], &captures);
    let said = text(&output.stdout);
    assert_eq!(said.matches("Cannot tell").count(), 1, "{said}");
    assert!(
        said.contains("and 4 other captures (--verbose names them)"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(3));
    let output = diagnose(&["--verbose"], &captures);
    let said = text(&output.stdout);
    let line = said.lines().find(|line| line.contains("Cannot tell"));
    let line = line.expect("still one line");
    for number in 0..5 {
        assert!(line.contains(&format!("one-way-{number}.pcap")), "{line}");
    }
}

#[test]
fn the_annotated_copy_gives_the_same_findings() {
    let out = scratch("annotated.pcapng");
    let source = corpus("odd-full-short-final.pcap");
    let first = diagnose(&["--json", "--annotate", out.to_str().unwrap()], &[&source]);
    let second = diagnose(&["--json"], &[&out]);
    assert_eq!(
        json(&first)["findings"][0]["frames"],
        json(&second)["findings"][0]["frames"]
    );
    let bytes = std::fs::read(&out).unwrap();
    let needle = b"tinygram finding 1 (odd-full-short-final): held for";
    assert!(bytes.windows(needle.len()).any(|w| w == needle));
    // The capture itself is never overwritten.
    let same = diagnose(&["--annotate", out.to_str().unwrap()], &[&out]);
    assert_eq!(same.status.code(), Some(2));
}

#[test]
fn the_page_is_self_contained_and_has_plots() {
    let out = scratch("page.html");
    // A name may be wider than a phone's screen and have no place to break.
    let capture = scratch(&format!("{}.pcap", "a_name_without_a_space_".repeat(6)));
    std::fs::copy(corpus("cork-held.pcap"), &capture).unwrap();
    let output = diagnose(&["--html", out.to_str().unwrap()], &[&capture]);
    assert_eq!(output.status.code(), Some(0));
    pages::open(&out);
    let page = std::fs::read_to_string(&out).unwrap();
    assert_eq!(
        page.matches("class=\"plot\"").count(),
        2,
        "timeline and stall"
    );
    assert!(page.contains("bytes held for"));
    for outside in ["http://", "https://", "<script src", "src="] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn xplot_graphs_are_written_per_direction() {
    let folder = scratch("xplot");
    let capture = corpus("wwr-client.pcap");
    let output = diagnose(&["--xplot", folder.to_str().unwrap()], &[&capture]);
    assert_eq!(output.status.code(), Some(0));
    let graph = std::fs::read_to_string(folder.join("0-client-to-server.xpl")).unwrap();
    assert!(graph.starts_with("timeval unsigned\n"));
    assert_eq!(graph.matches("\nred\n").count(), 7);
    assert!(graph.ends_with("go\n"));
}

#[test]
fn recipes_name_the_places_people_ask_for() {
    let out = text(&command().arg("--recipes").output().unwrap().stdout);
    for place in [
        "C ",
        "Go ",
        "Java",
        "Python",
        "Node",
        ".NET",
        "Rust",
        "nginx",
        "HAProxy",
        "Redis",
        "gRPC",
        "Windows registry",
        "quickack 1",
    ] {
        assert!(out.contains(place), "{place}");
    }
}

/// The capture without the frames of one end, by the last byte of its IPv4 address.
fn without(capture: &Path, last_byte: u8) -> Vec<u8> {
    let bytes = std::fs::read(capture).unwrap();
    let mut kept = bytes[..24].to_vec();
    let mut at = 24;
    while at < bytes.len() {
        let len = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        let record = &bytes[at..at + 16 + len];
        // The source's last byte follows the record's header, Ethernet and 15 bytes of IPv4.
        if record[16 + 14 + 15] != last_byte {
            kept.extend_from_slice(record);
        }
        at += 16 + len;
    }
    kept
}

#[test]
fn what_could_not_have_shown_a_stall_is_code_3_and_a_condition_beats_it() {
    let one_way = scratch("one-way.pcap");
    std::fs::write(&one_way, without(&corpus("wwr-client.pcap"), 2)).unwrap();
    let output = diagnose(&[], &[&one_way]);
    assert_eq!(output.status.code(), Some(3));
    let first = text(&output.stdout);
    assert!(first.starts_with("Cannot tell, because "), "{first}");
    let document = json(&diagnose(&["--json"], &[&one_way]));
    assert_eq!(document["summary"]["result"], "cannot-tell");
    let obstacles = &document["summary"]["cannot_tell"][0]["obstacles"];
    assert_eq!(obstacles[0]["obstacle"], "one-direction");
    // With a second capture that has stalls, both are counted, and the condition decides.
    let stalls = corpus("wwr-client.pcap");
    let both = diagnose(&["--json", "--fail-on", "stalls>0"], &[&one_way, &stalls]);
    assert_eq!(both.status.code(), Some(1));
    let summary = &json(&both)["summary"];
    assert_eq!(summary["stalls"], 7);
    assert_eq!(summary["cannot_tell"].as_array().unwrap().len(), 1);
    let held = diagnose(&["--fail-on", "stalls>1000"], &[&one_way, &stalls]);
    assert_eq!(held.status.code(), Some(3));
}

/// The capture in two files, as a ring buffer leaves it.
fn ring(capture: &Path) -> [PathBuf; 2] {
    let bytes = std::fs::read(capture).unwrap();
    let mut ends = vec![24];
    while let Some(length) = bytes.get(ends[ends.len() - 1] + 8..) {
        let Some(length) = length.get(..4) else { break };
        let len = u32::from_le_bytes(length.try_into().unwrap()) as usize;
        ends.push(ends[ends.len() - 1] + 16 + len);
    }
    let middle = ends[ends.len() / 2];
    let parts = [&bytes[24..middle], &bytes[middle..]];
    let names = ["ring_00001_20260101.pcap", "ring_00002_20260101.pcap"];
    [0, 1].map(|n| {
        let path = scratch(names[n]);
        std::fs::write(&path, [&bytes[..24], parts[n]].concat()).unwrap();
        path
    })
}

#[test]
fn the_files_of_a_ring_buffer_are_one_capture_for_every_output() {
    let whole = corpus("wwr-client.pcap");
    let [first, second] = ring(&whole);
    let (page, copy) = (scratch("ring.html"), scratch("ring-annotated.pcapng"));
    let args = [
        "--json",
        "--html",
        page.to_str().unwrap(),
        "--annotate",
        copy.to_str().unwrap(),
    ];
    let document = json(&diagnose(&args, &[&first, &second]));
    let expected = json(&diagnose(&["--json"], &[&whole]));
    let frames = |document: &Value| -> Vec<Value> {
        let findings = document["findings"].as_array().unwrap();
        findings.iter().map(|f| f["frames"].clone()).collect()
    };
    assert_eq!(frames(&document), frames(&expected));
    // The copy holds both files, and the page has plots of frames in the second.
    let again = json(&diagnose(&["--json"], &[&copy]));
    assert_eq!(frames(&again), frames(&expected));
    assert!(
        std::fs::read_to_string(&page)
            .unwrap()
            .contains("bytes held for")
    );
}

#[test]
fn a_page_of_a_capture_without_stalls_is_calm() {
    let page = scratch("calm.html");
    let output = diagnose(
        &["--html", page.to_str().unwrap()],
        &[&corpus("clean-writev.pcap")],
    );
    assert_eq!(output.status.code(), Some(0));
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.contains("No stalls"));
    for alarm in [
        "data-tone=\"bad\"",
        "\"tone\":\"bad\"",
        "How to make the change",
        "class=\"badges\"",
    ] {
        // The style sheet's words about alarms do not count.
        assert!(
            !page[page.find("<body>").unwrap()..].contains(alarm),
            "{alarm}"
        );
    }
    assert!(page.contains("aria-label=\"Timeline of "));
}

#[test]
fn a_capture_is_named_as_tcpdump_has_it_and_looked_at_in_parts() {
    let capture = corpus("wwr-client.pcap");
    let name = capture.to_str().unwrap();
    let count = |args: &[&str]| json(&diagnose(args, &[]))["summary"]["stalls"].clone();
    assert_eq!(count(&["--json", "-r", name]), 7);
    assert_eq!(count(&["--json", "-r", name, "--port", "1"]), 0);
    assert_eq!(count(&["--json", "-r", name, "--host", "10.77.0.1"]), 7);
    assert_eq!(count(&["--json", "-r", name, "--kind", "cork-held"]), 0);
}

#[test]
fn many_connections_are_summed_up_first() {
    let captures: Vec<_> = std::iter::repeat_n(corpus("wwr-many-connections.pcap"), 3).collect();
    let paths: Vec<&Path> = captures.iter().map(PathBuf::as_path).collect();
    let out = text(&diagnose(&[], &paths).stdout);
    let connections = json(&diagnose(&["--json"], &paths))["summary"]["connections"].clone();
    let totals = out.find("server and port  ");
    let table = out.find("client -> server  ");
    match connections.as_u64() >= Some(20) {
        true => assert!(totals.is_some() && totals < table, "{out}"),
        false => assert!(totals.is_none(), "{out}"),
    }
}
