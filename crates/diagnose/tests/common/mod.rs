//! Reads a capture through the analyzer, as the program does.

use std::path::Path;

use tinygram_diagnose::{Analyzer, Parameters, Report};
use tinygram_wire::capture::Reader;

pub(crate) fn diagnose(path: &Path) -> Report {
    let file = std::fs::File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut reader = Reader::new(file).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut analyzer = Analyzer::new(Parameters::default());
    while let Some(frame) = reader.next_frame().expect("fixtures are whole") {
        analyzer.frame(&frame);
    }
    analyzer.finish()
}
