//! What was found in several captures.

use tinygram_diagnose::{Finding, Obstacles, Summary, Verdict};

use crate::capture::Capture;

/// The captures that were analysed, in their order.
#[derive(Default)]
pub struct Diagnosis {
    /// The captures. Their connections are numbered through.
    pub captures: Vec<Capture>,
}

impl Diagnosis {
    /// Adds a capture, whose connections count on from those before.
    pub fn add(&mut self, mut capture: Capture) {
        let seen = self
            .captures
            .iter()
            .map(|c| c.report.summary.connections)
            .sum();
        capture.report.count_on(seen);
        capture.first_connection = seen;
        self.captures.push(capture);
    }

    /// Returns the sums over all captures.
    pub fn total(&self) -> Summary {
        let mut total = Summary::default();
        for Capture { report, .. } in &self.captures {
            total += &report.summary;
        }
        total
    }

    /// Returns the captures for which no verdict is possible, and why.
    pub fn untold(&self) -> impl Iterator<Item = (&Capture, Obstacles)> {
        self.captures
            .iter()
            .filter_map(|capture| match capture.report.summary.verdict() {
                Verdict::CannotTell(obstacles) => Some((capture, obstacles)),
                Verdict::Stalls { .. } | Verdict::None => None,
            })
    }

    /// Returns all findings, each with its capture.
    pub fn findings(&self) -> impl Iterator<Item = (&Capture, &Finding)> {
        self.captures
            .iter()
            .flat_map(|c| c.report.findings.iter().map(move |f| (c, f)))
    }
}
