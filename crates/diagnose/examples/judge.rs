//! Prints a line for every finding of every capture named, or found below the folders named. It
//! serves to judge many captures at once, against notes or another version.
//!
//! `cargo run --release -p tinygram-diagnose --example judge -- [--ruled-out] PATH...`

use std::fs::File;
use std::path::{Path, PathBuf};

use tinygram_diagnose::{Analyzer, Parameters, Report};
use tinygram_wire::capture::Reader;

fn main() {
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut all = false;
    for word in std::env::args().skip(1) {
        match word.as_str() {
            "--ruled-out" => all = true,
            path => gather(Path::new(path), &mut paths),
        }
    }
    paths.sort();
    for path in paths {
        if let Some(report) = diagnose(&path) {
            print(&path, &report, all);
        }
    }
}

fn gather(path: &Path, into: &mut Vec<PathBuf>) {
    match std::fs::read_dir(path) {
        Ok(entries) => entries
            .flatten()
            .for_each(|entry| gather(&entry.path(), into)),
        Err(_) => into.push(path.to_owned()),
    }
}

fn diagnose(path: &Path) -> Option<Report> {
    let mut reader = Reader::new(File::open(path).ok()?).ok()?;
    let mut analyzer = Analyzer::new(Parameters::default());
    while let Ok(Some(frame)) = reader.next_frame() {
        analyzer.frame(&frame);
    }
    Some(analyzer.finish())
}

fn print(path: &Path, report: &Report, all: bool) {
    let name = path.display();
    for finding in &report.findings {
        let frames: Vec<_> = finding.frames.iter().map(|m| m.frame.to_string()).collect();
        let ends = report
            .connections
            .iter()
            .find(|c| c.id == finding.connection)
            .map(|c| format!("{} -> {}", c.client, c.server))
            .unwrap_or_default();
        println!(
            "{name}\t{}\t{}\t{}\t{}\t{:.2}\t{ends}\t{}",
            finding.tier(),
            finding.kind,
            finding.sender,
            frames.join(","),
            finding.cost_ns as f64 / 1e6,
            finding.habit()
        );
    }
    if !all {
        return;
    }
    for c in &report.connections {
        for (kind, tally) in c.ruled_out.iter() {
            println!(
                "{name}\truled-out\t{}\t{}\t{}\t{:.2}\t{} -> {}",
                kind.name(),
                tally.count,
                tally.first_frame,
                tally.time_ns as f64 / 1e6,
                c.client,
                c.server
            );
        }
    }
}
