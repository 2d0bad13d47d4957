//! The entry: takes frames, one by one or a whole capture, on one thread or several, and returns the report.

use tinygram_wire::capture::{CaptureError, Frame, Reader};
use tinygram_wire::decode::Decoded;

use super::batch::Batch;
use super::cores;
use super::directly::Directly;
use super::front::Front;
use super::shard::Shard;
use super::table::{self, Hint, Key};
use crate::across::elsewhere;
use crate::across::gathered::Gathered;
use crate::conversation::about::About;
use crate::findings::finding::Finding;
use crate::parameters::Parameters;
use crate::report::connections::ConnectionReport;
use crate::report::explain;
use crate::report::summary::{Report, Summary};

/// Takes frames in capture order and returns a report at the end.
///
/// The [`Parameters`] bound its memory. It keeps no frame.
///
/// The connections are divided among shares, whose number depends on the parameters alone. [`Analyzer::read`]
/// gives the shares to several threads; the report is the same for any number of them.
pub struct Analyzer {
    front: Front,
    shards: Vec<Shard>,
    gathered: Gathered,
    listed_limit: usize,
    about: Option<About>,
    key: Key,
}

impl Analyzer {
    /// Returns an analyzer that has seen no frame.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        let limit = parameters.connection_limit;
        let shares = 1 << (limit / SHARE_LEAST).clamp(1, SHARES_MOST).ilog2();
        let key = Key::random();
        let shard = |share| Shard::new(share, limit / shares, LINGER / shares, key);
        Self {
            key,
            shards: (0..shares).map(shard).collect(),
            gathered: Gathered::new(&parameters, shares),
            listed_limit: parameters.listed_limit,
            about: parameters.explain.map(About::new),
            front: Front::new(parameters.filter),
        }
    }

    /// Analyzes all frames of a capture, on so many threads: the caller's, which reads and decodes, and
    /// others. If a frame is to be explained, the caller's works alone.
    ///
    /// # Errors
    /// [`CaptureError`] if the source is no capture, or is cut off or damaged. The frames before were
    /// analyzed.
    ///
    /// # Panics
    /// Panics if `source` does, with the same payload.
    pub fn read(
        &mut self,
        source: impl std::io::Read + 'static,
        threads: usize,
    ) -> Result<(), CaptureError> {
        let mut reader = Reader::new(source)?;
        if threads > 1 && self.about.is_none() {
            return cores::read(
                &mut reader,
                &mut self.front,
                &mut self.shards,
                &mut self.gathered,
                self.key,
                threads,
            );
        }
        let mut batch = Batch::new(FRAMES, self.shards.len(), 1, self.key);
        loop {
            let ended = batch.fill(&mut reader, &mut self.front);
            let mut hears = Directly(&mut self.gathered);
            batch.each_of(0, &mut self.shards, self.about.as_ref(), &mut hears);
            if let Some(ended) = ended {
                return ended;
            }
        }
    }

    /// Analyzes the next frame.
    pub fn frame(&mut self, frame: &Frame<'_>) {
        let decoded = Decoded::of(frame);
        let Some(mark) = self.front.note(frame.time_ns, &decoded.look) else {
            return;
        };
        if let Ok((segment, _)) = &decoded.look {
            let ends = [segment.source, segment.destination];
            let share = table::share(&ends[0], &ends[1], self.shards.len());
            let (hash, about) = (self.key.hash(&ends), self.about.as_ref());
            let mut hears = Directly(&mut self.gathered);
            self.shards[share].take_decoded(mark, &decoded, hash, Hint::NONE, about, &mut hears);
        }
    }

    /// Returns the number of frames so far.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.front.frames
    }

    /// Returns the totals so far.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let mut summary = self.gathered.report.summary.clone();
        self.front.enter(&mut summary);
        summary
    }

    /// Returns the findings so far, in order of discovery.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.gathered.report.findings
    }

    /// Removes and returns the findings since the last call, each with the present state of its
    /// connection; `None` if the connection is no longer known. This is for callers that read
    /// without end. Of the connections that have ended, the latest are remembered, up to
    /// `listed_limit`. As long as no clock was seen to stamp the frames, findings are kept back: up to
    /// `finding_limit`, until there is a clock.
    pub fn drain(&mut self) -> Vec<(Finding, Option<ConnectionReport>)> {
        if !self.summary().has_clock() {
            return Vec::new();
        }
        self.look_elsewhere();
        let found = self.gathered.take_findings();
        let drained = found
            .into_iter()
            .map(|finding| {
                let over = &self.gathered.report.connections;
                let connection = self.connection(finding.connection).or_else(|| {
                    let known = over.iter().rev();
                    known.clone().find(|c| c.id == finding.connection).cloned()
                });
                (finding, connection)
            })
            .collect();
        let over = &mut self.gathered.report.connections;
        if over.len() >= self.listed_limit {
            over.drain(..over.len() / 2);
        }
        drained
    }

    /// Takes back what another connection, of those that live or of those that are listed, explains.
    fn look_elsewhere(&mut self) {
        let findings = &self.gathered.report.findings;
        let is_asked = findings.iter().any(elsewhere::is_asked_about);
        let row = |(share, slot, id): (usize, usize, u32)| {
            let connection = self.shards[share].table.peek(slot)?;
            Some(ConnectionReport {
                id,
                ..ConnectionReport::of(connection)
            })
        };
        let live: Vec<_> = match is_asked {
            true => self.live().filter_map(row).collect(),
            false => Vec::new(),
        };
        let taken = self.gathered.look_elsewhere(&live);
        if taken.is_empty() {
            return;
        }
        let places: Vec<_> = self.live().collect();
        for (finding, by) in taken {
            let place = places.iter().find(|(.., id)| *id == finding.connection);
            if let Some((share, slot, _)) = place
                && let Some(story) = &mut self.shards[*share].table.get(*slot).story
            {
                let (frame, ns) = (finding.last_frame(), finding.cost_ns);
                match finding.tier().accuses() {
                    true => story.take_back(by, frame, ns),
                    false => story.ruled_out.add_if_ruled_out(by, frame, ns),
                }
            }
        }
    }

    /// Returns the present state of a finding's connection, if the connection still lives.
    pub fn connection(&self, id: u32) -> Option<ConnectionReport> {
        let (share, slot, _) = self.live().find(|&(.., number)| number == id)?;
        let mut connection = ConnectionReport::of(self.shards[share].table.peek(slot)?);
        connection.id = id;
        Some(connection)
    }

    /// Judges what is still open and returns the report.
    #[must_use]
    pub fn finish(mut self) -> Report {
        let mut live: Vec<_> = self.live().collect();
        live.sort_unstable_by_key(|&(.., number)| number);
        for (share, slot, number) in live {
            if let Some(mut connection) = self.shards[share].table.take(slot) {
                connection.flow.id = number;
                let mut hears = Directly(&mut self.gathered);
                self.shards[share].let_go(0, slot, connection, self.about.as_ref(), &mut hears);
            }
        }
        self.front.enter(&mut self.gathered.report.summary);
        self.gathered.report.summary.connections = self.gathered.connections();
        let (mut report, together) = self.gathered.finish();
        if let Some(about) = &self.about {
            about.ledger.borrow_mut().follow(together);
            report.explanation = explain::lines(about, &report);
        }
        report
    }

    /// Returns share, slot and number of the live connections.
    fn live(&self) -> impl Iterator<Item = (usize, usize, u32)> + '_ {
        let shares = self.shards.iter().enumerate();
        shares.flat_map(move |(share, shard)| {
            let slots = shard.table.slots();
            slots.map(move |slot| (share, slot, self.gathered.number(share, slot)))
        })
    }
}

/// The frames that are read at a time by one thread: few enough to stay in the nearest cache.
const FRAMES: u16 = 256;
/// The least connections in a share. Below, shares would fill up at different times.
const SHARE_LEAST: usize = 8192;
/// Enough that each of several threads always finds one with work.
const SHARES_MOST: usize = 16;
/// How many ended connections are kept for their last segments, in all shares.
const LINGER: usize = 4096;
