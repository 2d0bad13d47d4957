//! Captures from standard input, whole or as they come.

use std::io::Write;
use std::process::{Child, Stdio};

use super::*;

fn with_input(args: &[&str], input: &[u8]) -> Output {
    let mut child = command()
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn standard_input_and_compression_give_the_same_findings() {
    let plain = corpus("wwr-both-sides.pcap");
    let bytes = std::fs::read(&plain).unwrap();
    let expected = json(&diagnose(&["--json"], &[&plain]))["summary"]["cost_ms"].clone();
    let piped = json(&with_input(&["--json", "-"], &bytes));
    assert_eq!(piped["summary"]["cost_ms"], expected);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&bytes).unwrap();
    // The format is recognised by content: the name says nothing.
    let packed = scratch("packed.dat");
    std::fs::write(&packed, gzip.finish().unwrap()).unwrap();
    let unpacked = json(&diagnose(&["--json"], &[&packed]));
    assert_eq!(unpacked["summary"]["cost_ms"], expected);
}

/// Starts `diagnose -` with both of its ends here.
fn piped() -> Child {
    let mut command = command();
    command
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn a_live_capture_is_told_as_it_goes_and_ends_on_ctrl_c() {
    use std::io::{BufRead, BufReader, Read};
    let bytes = std::fs::read(corpus("wwr-client.pcap")).unwrap();
    let mut child = piped();
    let mut input = child.stdin.take().unwrap();
    // Two thirds of the capture: a record is cut, and the pipe stays open.
    input.write_all(&bytes[..bytes.len() * 2 / 3]).unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut told = String::new();
    output.read_line(&mut told).unwrap();
    assert!(told.starts_with("write-write-read "), "{told}");
    let interrupted = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(interrupted.success());
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("stalls cost"), "{rest}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(input);
}

/// The capture repeated many times, as many seconds apart, each time as a new connection.
fn repeated(capture: &Path, times: u32) -> Vec<u8> {
    let bytes = std::fs::read(capture).unwrap();
    let mut all = bytes[..24].to_vec();
    for time in 0..times {
        let mut at = 24;
        while at < bytes.len() {
            let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            let end = at + 16 + word(at + 8) as usize;
            all.extend_from_slice(&(word(at) + time).to_le_bytes());
            all.extend_from_slice(&bytes[at + 4..end]);
            at = end;
        }
    }
    all
}

#[test]
fn a_live_capture_with_many_stalls_gives_a_running_total_and_no_line_for_each() {
    use std::io::{BufRead, BufReader};
    let bytes = repeated(&corpus("wwr-client.pcap"), 60);
    let mut child = piped();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&bytes).unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    // The pipe stays open: this is printed before the end. Each of sixty connections stalls seven
    // times.
    let mut lines = output.lines().map(Result::unwrap);
    let mut told: Vec<String> = Vec::new();
    while told.iter().filter(|l| l.starts_with("so far: ")).count() < 7 {
        told.push(lines.next().expect("it goes on telling"));
    }
    assert!(told.len() <= 20 + 7, "{told:#?}");
    let last = told.last().unwrap();
    let stalls: u32 = last["so far: ".len()..]
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!((350..=420).contains(&stalls), "{last}");
    drop(input);
    let rest: Vec<String> = lines.collect();
    assert!(
        rest.iter().any(|l| l.contains("420 stalls cost")),
        "{rest:#?}"
    );
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
