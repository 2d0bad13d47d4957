//! Checks a simulated run written as a capture: other programs can read it, and `tinygram diagnose`
//! finds the stalls that the simulator made.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tinygram_wire::capture::Reader;
use tinygram_wire::packet::{Verify, read};

/// One cell of Table 5 in which Nagle's algorithm stalls whatever is odd-full and short-final.
const CELL: &str = "naglemark --medium fddi --app-buffer 32K --socket-buffer 64K --trial S \
                    --repetitions 1 --lengths 500..100000/500 --format json";

fn tinygram(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    let output = command.args(arguments.split_whitespace()).output();
    output.expect("the program starts")
}

fn document(arguments: &str) -> Value {
    let output = tinygram(arguments);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments}: {told}");
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

/// Runs another project's program; `None`, with the reason printed, if it is not installed.
fn other(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    match command.env("TZ", "UTC").args(arguments).output() {
        Ok(output) => {
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{program}: {told}");
            Some(String::from_utf8(output.stdout).expect("it is text"))
        }
        Err(error) => {
            println!("skipped: {program} is not installed ({error})");
            None
        }
    }
}

/// Writes the cell under this policy as a capture, with the results beside it.
fn kept(home: &Path, policy: &str, more: &str) -> (String, Value) {
    let path = home.join(format!("{policy}.pcapng")).display().to_string();
    let results = document(&format!("{CELL} --policy {policy} --pcapng {path} {more}"));
    (path, results)
}

#[test]
fn diagnose_finds_the_stalls_that_the_simulator_made_and_no_others() {
    let home = tempfile::tempdir().expect("a directory");
    for at in ["sender", "receiver"] {
        let at = format!("--capture-at {at}");
        let (path, results) = kept(home.path(), "nagle", &at);
        let score = results["cells"][0]["score_percent"].as_f64();
        // Of 200 transfers.
        let delayed = (2.0 * score.expect("a score")).round() as u64;
        assert!(delayed > 80, "{delayed}");
        let diagnosed = document(&format!("diagnose --json {path}"));
        assert_eq!(diagnosed["summary"]["stalls"], delayed, "{at}");
        let findings = diagnosed["findings"].as_array().expect("a list");
        assert_eq!(findings.len() as u64, delayed);
        for finding in findings {
            assert_eq!(finding["kind"], "odd-full-short-final", "{finding}");
        }
        for policy in ["off", "minshall", "dldet", "flush-on-block"] {
            let (path, _) = kept(home.path(), policy, &at);
            let diagnosed = document(&format!("diagnose --json {path}"));
            assert_eq!(diagnosed["summary"]["stalls"], 0, "{policy} {at}");
        }
    }
}

#[test]
fn diagnose_names_the_deadlock_of_small_buffers_and_its_cures() {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("deadlock.pcapng").display().to_string();
    let stalls = |arguments: &str| {
        document(&format!(
            "deadlock --mss 9204 --runs 2 {arguments} --pcapng {path} --format json"
        ));
        document(&format!("diagnose --json {path}"))
    };
    // One of each way to deadlock: 8192 octets at a time, 12,288, 4096, and two sizes in turn.
    for buffers in [
        "-s 16K -r 32K",
        "-s 16K -r 40K",
        "-s 8K -r 52K",
        "-s 20K -r 48K",
    ] {
        for at in ["sender", "receiver"] {
            let diagnosed = stalls(&format!("{buffers} --capture-at {at}"));
            let findings = diagnosed["findings"].as_array().expect("a list");
            // What is left of two ticks to be sure, and two seconds behind them.
            assert!(findings.len() >= 10, "{buffers} {at}: {}", findings.len());
            for finding in findings {
                assert_eq!(finding["kind"], "small-buffer", "{buffers} {at}: {finding}");
            }
        }
    }
    for cured in ["-s 16K -r 32K --policy off", "-s 64K -r 64K"] {
        assert_eq!(stalls(cured)["summary"]["stalls"], 0, "{cured}");
    }
}

#[test]
fn every_packet_has_its_payload_and_right_checksums() {
    let home = tempfile::tempdir().expect("a directory");
    let impaired = "--loss 2% --reorder 1% --duplicate 1% --seed 3";
    let (path, results) = kept(home.path(), "msmv", impaired);
    let mut reader = Reader::new(File::open(&path).expect("it is there")).expect("a capture");
    let (mut data_segments, mut before) = (0_u64, i64::MIN);
    while let Some(frame) = reader.next_frame().expect("a whole capture") {
        assert_eq!(frame.data.len() as u32, frame.wire_len);
        assert!(before <= frame.time_ns, "time goes on");
        before = frame.time_ns;
        let packet = read(frame.data, Verify::Checksum).expect("a segment to be believed");
        let from_server = packet.source.port == 5001;
        data_segments += u64::from(from_server && !packet.payload.is_empty());
    }
    // Everything the server sent is there, retransmissions included.
    let per_transfer = results["cells"][0]["segments_per_transfer"].as_f64();
    let counted = (200.0 * per_transfer.expect("a mean")).round() as u64;
    assert_eq!(data_segments, counted);
}

#[test]
fn wireshark_finds_nothing_malformed_and_every_checksum_right() {
    let home = tempfile::tempdir().expect("a directory");
    let (path, _) = kept(home.path(), "nagle", "");
    let checked = [
        "-r",
        &path,
        "-o",
        "tcp.check_checksum:TRUE",
        "-o",
        "ip.check_checksum:TRUE",
        "-T",
        "fields",
        "-e",
        "tcp.checksum.status",
        "-e",
        "ip.checksum.status",
        "-e",
        "_ws.malformed",
        "-e",
        "frame.time_epoch",
    ];
    let Some(fields) = other("tshark", &checked) else {
        return;
    };
    let rows: Vec<Vec<&str>> = fields
        .lines()
        .map(|row| row.split('\t').collect())
        .collect();
    let mut kinds = BTreeMap::new();
    for row in &rows {
        *kinds.entry(&row[..3]).or_insert(0) += 1;
    }
    // 1 is "good".
    assert_eq!(kinds.keys().collect::<Vec<_>>(), [&&["1", "1", ""][..]]);
    // 2000-01-01T00:00:00Z, and less than a tenth of a millisecond for the first system call.
    assert!(rows[0][3].starts_with("946684800.0001"), "{}", rows[0][3]);
}

#[test]
fn the_text_is_tcpdumps_own() {
    let home = tempfile::tempdir().expect("a directory");
    let trace = home.path().join("trace");
    let more = format!("--trace {} --loss 1%", trace.display());
    let (path, _) = kept(home.path(), "nagle", &more);
    let ours = fs::read_to_string(&trace).expect("it is there");
    let Some(theirs) = other("tcpdump", &["-n", "-r", &path]) else {
        return;
    };
    assert_eq!(ours.lines().count(), theirs.lines().count());
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        // On a SYN tcpdump prints the initial sequence number; we print 0.
        if !ours.contains("Flags [S") {
            assert_eq!(ours, theirs);
        }
    }
}

#[test]
fn a_trace_may_take_the_results_place() {
    let cell = CELL.replace("500..100000/500", "12289");
    let output = tinygram(&format!("{cell} --policy nagle --trace -"));
    let text = String::from_utf8(output.stdout).expect("it is text");
    assert_eq!(text.lines().count(), 3 + 5);
    assert!(text.lines().all(|line| line.contains(" IP ")), "{text}");
}

/// The plane of buffers marks the pair that was asked about, once.
#[test]
fn the_plane_marks_the_pair_that_was_asked_about() {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("plane.svg");
    let asked = format!(
        "deadlock -s 4K -r 8K -m 9204 --runs 1 --plane {}",
        path.display()
    );
    assert!(tinygram(&asked).status.success());
    let plane = fs::read_to_string(&path).expect("the plane is there");
    assert_eq!(plane.matches(" r=\"8\"").count(), 1, "one ring");
    assert!(plane.contains("the ring is S = 4096, R = 8192"));
}
