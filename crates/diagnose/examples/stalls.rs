//! Diagnoses a capture: prints each stall and flood, how sure it is, which side is to blame, what it cost, and what helps.
//!
//! ```console
//! $ cargo run -p tinygram-diagnose --example stalls -- corpus/wwr-client-far.pcap
//! ```

use std::fs::File;
use std::io::Read;

use tinygram_diagnose::{Analyzer, Parameters, Report};
use tinygram_wire::capture::{CaptureError, Reader};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("give a capture")?;
    let report = diagnose(File::open(path)?)?;
    for finding in &report.findings {
        println!(
            "{} {}: the {} is to blame, it cost {} ms. {}",
            finding.tier(),
            finding.kind,
            finding.blame,
            finding.cost_ns / 1_000_000,
            finding.cure(),
        );
    }
    let summary = &report.summary;
    println!(
        "{} stalls and {} floods in {} connections",
        summary.stalls, summary.floods, summary.connections
    );
    // That nothing was found says little if not much could be seen.
    println!("{:?}", summary.verdict());
    Ok(())
}

/// Reads the whole capture. A live source gives its frames one by one, and takes findings as they come with
/// [`Analyzer::drain`].
pub(crate) fn diagnose(capture: impl Read + 'static) -> Result<Report, CaptureError> {
    let mut reader = Reader::new(capture)?;
    let mut analyzer = Analyzer::new(Parameters::default());
    while let Some(frame) = reader.next_frame()? {
        analyzer.frame(&frame);
    }
    Ok(analyzer.finish())
}
