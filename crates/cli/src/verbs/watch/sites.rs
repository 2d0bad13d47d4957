//! The lines of code that stalled or flooded, as one JSON document for `contrib/lint/annotate`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tinygram_report::Destination;
use tinygram_stalls::{Kind, Side};
use tinygram_watch::finding::Finding;

use super::done::Watch;
use crate::files::{failed, opened};
use crate::outcome::Failure;

const SCHEMA: &str = "tinygram.sites/1";

/// The most lines that are kept: a program has far fewer that write to sockets.
const MOST_SITES: usize = 10_000;

/// A line that writes. The first write of a Python thread has the function alone.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Site {
    file: Option<String>,
    line: Option<u32>,
    function: String,
    program: String,
    side: Side,
    kind: Kind,
}

#[derive(Clone, Copy, Default)]
struct Seen {
    count: u64,
    cost_ns: i64,
    segments: u64,
}

/// The sites so far, and the file that they are written to at the end.
pub(super) struct Sites {
    to: (PathBuf, Destination),
    seen: BTreeMap<Site, Seen>,
    /// Findings whose line is not known.
    without_site: u64,
    /// Findings of lines for which there was no room.
    not_kept: u64,
}

impl Sites {
    /// Opens the file, or says why it cannot be written.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        Ok(Self {
            to: opened(Some(path), Destination::open)?.expect("a path was given"),
            seen: BTreeMap::new(),
            without_site: 0,
            not_kept: 0,
        })
    }

    /// Counts a finding that blames somebody.
    pub(super) fn add(&mut self, finding: &Finding, program: &str) {
        if !finding.tier.accuses() {
            return;
        }
        let Some(call) = &finding.call else {
            self.without_site += 1;
            return;
        };
        let site = Site {
            file: call.file.clone(),
            line: call.line,
            function: call.function.clone(),
            program: program.to_owned(),
            side: finding.side,
            kind: finding.kind,
        };
        if self.seen.len() >= MOST_SITES && !self.seen.contains_key(&site) {
            self.not_kept += 1;
            return;
        }
        let seen = self.seen.entry(site).or_default();
        seen.count += 1;
        seen.cost_ns += finding.cost.time_ns;
        seen.segments += finding.cost.segments;
    }

    /// Writes the file.
    pub(super) fn end(self, watch: &Watch, seconds: f64) -> Result<(), Failure> {
        let document = self.document(watch.live.name(), watch.lost, seconds);
        let (path, file) = self.to;
        file.write(format!("{document:#}\n").as_bytes())
            .map_err(|error| failed(&path, error))
    }

    /// Returns the document, the costliest line first.
    fn document(&self, source: &str, lost: u64, seconds: f64) -> Value {
        let mut sites: Vec<_> = self.seen.iter().collect();
        sites.sort_by_key(|(_, seen)| std::cmp::Reverse((seen.cost_ns, seen.segments)));
        let sites: Vec<Value> = sites
            .into_iter()
            .map(|(site, seen)| {
                json!({
                    "file": site.file,
                    "line": site.line,
                    "function": site.function,
                    "program": site.program,
                    "side": site.side.to_string(),
                    "kind": site.kind.name(),
                    "count": seen.count,
                    "cost_ns": seen.cost_ns,
                    "segments_saved": seen.segments,
                })
            })
            .collect();
        json!({
            "schema": SCHEMA,
            "source": source,
            "seconds": seconds,
            "events_lost": lost,
            "without_site": self.without_site,
            "not_kept": self.not_kept,
            "sites": sites,
        })
    }
}
