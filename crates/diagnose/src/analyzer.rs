use tinygram_stalls::thresholds::COARSE_CLOCK_NS;
use tinygram_wire::capture::{Frame, LinkType};
use tinygram_wire::decode::{self, Decoded, Look};

use crate::about::About;
use crate::conversation::{Conversation, Telling};
use crate::explain;
use crate::findings::finding::{Facts, Finding};
use crate::flow::ends::Ends;
use crate::flow::mark::Mark;
use crate::parameters::Parameters;
use crate::pool::{Corroborated, Pools};
use crate::report::{ConnectionReport, Report, Summary};
use crate::table::Table;

/// Takes frames in capture order and returns a report at the end.
///
/// The [`Parameters`] bound its memory. It keeps no frame.
pub struct Analyzer {
    parameters: Parameters,
    table: Table,
    pools: Pools,
    report: Report,
    about: Option<About>,
}

impl Analyzer {
    /// Returns an analyzer that has seen no frame.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self {
            table: Table::new(parameters.connection_limit, parameters.first_connection),
            pools: Pools::default(),
            about: parameters.explain.map(About::new),
            report: Report {
                summary: Summary {
                    some_kinds: parameters
                        .filter
                        .as_ref()
                        .is_some_and(|f| !f.kinds.is_empty()),
                    ..Summary::default()
                },
                ..Report::default()
            },
            parameters,
        }
    }

    /// Analyzes the next frame.
    #[inline]
    pub fn frame(&mut self, frame: &Frame<'_>) {
        self.take(frame.time_ns, frame.link, &decode::look(frame));
    }

    /// Analyzes the next frame, which was decoded already.
    #[inline]
    pub fn decoded(&mut self, frame: &Decoded) {
        self.take(frame.time_ns, frame.link, &frame.look);
    }

    fn take(&mut self, time_ns: i64, link: LinkType, look: &Look) {
        let time_ns = time_ns.clamp(0, LAST_TIME_NS);
        let summary = &mut self.report.summary;
        if summary.frames == 0 {
            summary.first_frame_ns = time_ns;
            summary.stamps.begin(time_ns);
        } else {
            summary.stamps.note(time_ns);
        }
        summary.frames += 1;
        let (segment, around) = match look {
            Ok(seen) => seen,
            Err(unread) => {
                summary.note_unread(*unread);
                return;
            }
        };
        if let Some(filter) = &self.parameters.filter
            && !filter.takes(segment, time_ns, summary.first_frame_ns)
        {
            summary.unseen.filtered += 1;
            return;
        }
        summary.sight.fine_clock = summary.sight.fine_clock || time_ns % COARSE_CLOCK_NS != 0;
        if summary.segments == 0 {
            summary.first_ns = time_ns;
        }
        summary.segments += 1;
        summary.last_ns = summary.last_ns.max(time_ns);
        let mark = Mark {
            frame: summary.frames,
            time_ns,
        };
        let (ends, from) = Ends::of(segment);
        let mut left = None;
        let slot = self
            .table
            .slot(&ends, mark, |connection| left = Some(connection));
        if let Some(connection) = left {
            self.let_go(connection);
        }
        if self.table.get(slot).flow.is_reuse(segment, from, time_ns) {
            let old = self.table.replace(slot, mark);
            self.let_go(old);
        }
        let connection = self.table.get(slot);
        connection.flow.raw_ip = link == LinkType::RAW;
        let was_closed = connection.flow.closed;
        let before = self.report.findings.len();
        let telling = Telling {
            found: &mut self.report.findings,
            about: self.about.as_ref(),
        };
        connection.segment(segment, around, from, mark, telling);
        let closes = connection.flow.closed && !was_closed;
        if self.report.findings.len() > before {
            self.note_findings(before);
        }
        if closes && let Some(connection) = self.table.close(slot) {
            self.let_go(connection);
        }
    }

    /// Returns the number of frames so far.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.report.summary.frames
    }

    /// Returns the totals so far.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.report.summary
    }

    /// Returns the findings so far, in order of discovery.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.report.findings
    }

    /// Removes and returns the findings since the last call, each with the present state of its
    /// connection; `None` if the connection is no longer known. This is for callers that read
    /// without end. Of the connections that have ended, the latest are remembered, up to
    /// `listed_limit`. As long as no clock was seen to stamp the frames, findings are kept back: up to
    /// `finding_limit`, until there is a clock.
    pub fn drain(&mut self) -> Vec<(Finding, Option<ConnectionReport>)> {
        if !self.report.summary.has_clock() {
            return Vec::new();
        }
        let found = std::mem::take(&mut self.report.findings);
        let drained = found
            .into_iter()
            .map(|finding| {
                let over = &self.report.connections;
                let connection = self.connection(finding.connection).or_else(|| {
                    let known = over.iter().rev();
                    known.clone().find(|c| c.id == finding.connection).cloned()
                });
                (finding, connection)
            })
            .collect();
        let over = &mut self.report.connections;
        if over.len() >= self.parameters.listed_limit {
            over.drain(..over.len() / 2);
        }
        drained
    }

    /// Returns the present state of a finding's connection, if the connection still lives.
    pub fn connection(&self, id: u32) -> Option<ConnectionReport> {
        self.table.find(id).map(ConnectionReport::of)
    }

    /// Judges what is still open and returns the report.
    #[must_use]
    pub fn finish(mut self) -> Report {
        for connection in self.table.drain() {
            self.let_go(connection);
        }
        self.report.summary.connections = self.table.connections();
        let Report { connections, .. } = &mut self.report;
        connections.sort_unstable_by_key(|c| c.id);
        if !self.report.summary.has_clock() {
            self.forget_times();
        } else {
            self.judge_suspects();
            self.agree_on_the_path();
        }
        if let Some(about) = &self.about {
            self.report.explanation = explain::lines(about, &self.report);
        }
        self.report
    }

    /// Accuses nobody by times that no clock has told.
    fn forget_times(&mut self) {
        self.report.findings.clear();
        self.report.summary.forget_times();
        for connection in &mut self.report.connections {
            connection.forget_times();
        }
    }

    /// Limits each finding's distance to the sender, which was measured when the finding was made,
    /// to the round trip known at the end.
    fn agree_on_the_path(&mut self) {
        let Report {
            connections,
            findings,
            ..
        } = &mut self.report;
        for finding in findings {
            let row = connections.binary_search_by_key(&finding.connection, |c| c.id);
            if let (Ok(at), Facts::Hold(hold)) = (row, &mut finding.facts)
                && let (Some(part_ns), Some(whole_ns)) =
                    (&mut hold.sender_distance_ns, connections[at].rtt_ns)
            {
                *part_ns = whole_ns.min(*part_ns);
            }
        }
    }

    /// Judges suspects of several connections together, where no single one shows enough.
    fn judge_suspects(&mut self) {
        let before = self.report.findings.len();
        let Report {
            connections,
            findings,
            ..
        } = &mut self.report;
        let kinds = self
            .parameters
            .filter
            .as_ref()
            .map(|filter| filter.kinds.as_slice());
        let wanted = |kind| kinds.is_none_or(|kinds| kinds.is_empty() || kinds.contains(&kind));
        for (suspect, fit) in std::mem::take(&mut self.pools).judge() {
            let row = connections.binary_search_by_key(&suspect.connection, |c| c.id);
            if let Ok(at) = row {
                connections[at].note_suspect(&suspect, fit);
            }
            let stays = matches!(fit, Corroborated::Beyond | Corroborated::Neither);
            if wanted(suspect.kind) && stays {
                findings.push(suspect);
            }
        }
        self.note_findings(before);
    }

    fn let_go(&mut self, mut connection: Conversation) {
        let before = self.report.findings.len();
        connection.end(Telling {
            found: &mut self.report.findings,
            about: self.about.as_ref(),
        });
        for from in 0..2 {
            self.report.findings.extend(connection.doubtful(from));
        }
        self.note_findings(before);
        for finding in connection.take_back(&mut self.report.findings) {
            self.report.summary.take_back(&finding);
        }
        let before = before.min(self.report.findings.len());
        let found = connection.story.as_ref().is_some_and(|s| s.stalls > 0)
            || self.report.findings.len() > before
            || (0..2).any(|from| connection.suspects(from).next().is_some());
        self.pools.add(&connection);
        self.report.summary.sight.add(&connection);
        let listed = self.report.connections.len();
        let room = match found {
            true => 2 * self.parameters.listed_limit,
            false => self.parameters.listed_limit,
        };
        match listed < room {
            true => self
                .report
                .connections
                .push(ConnectionReport::of(&connection)),
            false => self.report.summary.unlisted_connections += 1,
        }
    }

    fn note_findings(&mut self, before: usize) {
        if let Some(filter) = &self.parameters.filter
            && !filter.kinds.is_empty()
        {
            let mut at = 0;
            self.report.findings.retain(|finding| {
                at += 1;
                at <= before || filter.kinds.contains(&finding.kind)
            });
        }
        let Report {
            summary, findings, ..
        } = &mut self.report;
        for finding in &findings[before..] {
            Summary::count(summary, finding);
        }
        let kept = self.parameters.finding_limit.max(before);
        if findings.len() > kept {
            summary.dropped_findings += (findings.len() - kept) as u64;
            findings.truncate(kept);
        }
    }
}

/// The year 2116: the difference of any two times fits, whatever a capture says.
const LAST_TIME_NS: i64 = 1 << 62;
