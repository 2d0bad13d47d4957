//! Captures that end before their end: what was read is reported, the rest is never cleared.

use std::io::Write;

use super::*;

/// Writes the first half of a capture, packed by nothing, gzip or zstd, and returns the three files.
fn halves(of: &str) -> Vec<(&'static str, PathBuf)> {
    let whole = std::fs::read(corpus(of)).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&whole).unwrap();
    let packed = [
        ("pcap", whole.clone()),
        ("gz", gzip.finish().unwrap()),
        ("zst", in_blocks(&whole)),
    ];
    let half = |(ending, octets): (&'static str, Vec<u8>)| {
        let path = scratch(&format!("half-{of}.{ending}"));
        std::fs::write(&path, &octets[..octets.len() * 2 / 3]).unwrap();
        (ending, path)
    };
    packed.into_iter().map(half).collect()
}

/// Packs by zstd, in frames of a kilobyte: one block would give nothing if it were cut.
fn in_blocks(whole: &[u8]) -> Vec<u8> {
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let frames = whole.chunks(1024);
    frames
        .flat_map(|it| ruzstd::encoding::compress_to_vec(it, level))
        .collect()
}

#[test]
fn what_was_read_of_a_cut_capture_is_reported_and_the_rest_is_code_2() {
    for (ending, cut) in halves("wwr-client.pcap") {
        let output = diagnose(&["--json"], &[&cut]);
        assert_eq!(output.status.code(), Some(2), "{ending}");
        let said = text(&output.stderr);
        assert!(said.contains(" is cut off"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        let document = json(&output);
        let summary = &document["summary"];
        assert_eq!(summary["incomplete"].as_array().unwrap().len(), 1);
        assert!(summary["stalls"].as_u64().unwrap() >= 2, "{ending}");
        assert_eq!(summary["result"], "stalls");
        let output = diagnose(&[], &[&cut]);
        let said = text(&output.stdout);
        assert!(said.contains("is not in this."), "{said}");
    }
}

#[test]
fn a_cut_capture_is_never_cleared() {
    let whole = diagnose(&[], &[&corpus("clean-nodelay.pcap")]);
    assert_eq!(whole.status.code(), Some(0));
    assert!(text(&whole.stdout).starts_with("No stalls: "));
    for (ending, cut) in halves("clean-nodelay.pcap") {
        let output = diagnose(&[], &[&cut]);
        assert_eq!(output.status.code(), Some(2), "{ending}");
        let said = text(&output.stdout);
        assert!(
            said.starts_with("Cannot tell, because the capture is cut off"),
            "{said}"
        );
        assert!(said.contains(" is cut off"), "{said}");
        assert!(
            said.contains("Nothing stalled in what was read: "),
            "{said}"
        );
        assert!(!said.contains("No stalls"), "{said}");
        let document = json(&diagnose(&["--json"], &[&cut]));
        assert_eq!(document["summary"]["result"], "cannot-tell", "{ending}");
        // What a condition asks for takes precedence, as everywhere.
        let output = diagnose(&["--fail-on", "stalls==0"], &[&cut]);
        assert_eq!(output.status.code(), Some(1), "{ending}");
    }
}
