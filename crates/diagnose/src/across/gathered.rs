//! What all shares say, gathered in the order of the capture.
//!
//! Whatever crosses connections is done here: their numbers, the order and the limit of the findings, what
//! connections of one program show together. So a report does not depend on who worked on which share.

use std::collections::HashMap;

use super::elsewhere::{self, Elsewhere};
use super::pool::Pools;
use super::twice::Sightings;
use crate::conversation::Conversation;
use crate::findings::finding::{Facts, Finding};
use crate::parameters::Parameters;
use crate::report::connections::ConnectionReport;
use crate::report::summary::{Report, Summary};
use crate::verdict::check::{Asked, Check, Effect, Saw};
use crate::verdict::checks::{clock, data_connection, recorded_twice};
use crate::verdict::ledger::Ledger;
use tinygram_stalls::Kind;

/// The report as it grows.
pub(crate) struct Gathered {
    pub(crate) report: Report,
    pools: Pools,
    /// The live connections, by share and slot.
    live: Vec<Vec<Live>>,
    /// How many findings have been taken out of the report.
    taken_out: u64,
    next_number: u32,
    finding_limit: usize,
    listed_limit: usize,
    /// The kinds that are kept; all if empty.
    kinds: Vec<Kind>,
    /// What connections together say of the frame that is asked about, if one is.
    ledger: Ledger,
}

/// What is known of a connection that has not left.
#[derive(Clone, Copy, Debug, Default)]
struct Live {
    number: u32,
    /// The place of its first finding in the report, counted with those that were taken out before; none before it has one.
    /// It stands there, or before there if findings behind it were taken out.
    first: Option<u64>,
}

impl Gathered {
    /// Returns what is known before the first frame.
    pub(crate) fn new(parameters: &Parameters, shares: usize) -> Self {
        let kinds = parameters.filter.iter().flat_map(|it| it.kinds.clone());
        let kinds: Vec<_> = kinds.collect();
        Self {
            report: Report {
                summary: Summary {
                    some_kinds: !kinds.is_empty(),
                    ..Summary::default()
                },
                ..Report::default()
            },
            pools: Pools::default(),
            live: vec![Vec::new(); shares],
            taken_out: 0,
            next_number: 0,
            finding_limit: parameters.finding_limit,
            listed_limit: parameters.listed_limit,
            kinds,
            ledger: Ledger::of(parameters.explain.unwrap_or(0)),
        }
    }

    /// Gives the connection that begins in a slot its number.
    pub(crate) fn begins(&mut self, share: usize, slot: usize) -> u32 {
        let live = &mut self.live[share];
        if live.len() <= slot {
            live.resize(slot + 1, Live::default());
        }
        live[slot] = Live {
            number: self.next_number,
            first: None,
        };
        self.next_number += 1;
        live[slot].number
    }

    /// Takes what was found of a live connection.
    pub(crate) fn finds(&mut self, share: usize, slot: usize, found: &mut Vec<Finding>) {
        let before = self.report.findings.len();
        let number = self.number(share, slot);
        for mut finding in found.drain(..) {
            finding.connection = number;
            self.report.findings.push(finding);
        }
        self.note_findings(before);
        if self.report.findings.len() > before {
            let place = self.taken_out + before as u64;
            self.live[share][slot].first.get_or_insert(place);
        }
    }

    /// Takes a connection that has left its slot.
    pub(crate) fn leaves(
        &mut self,
        share: usize,
        slot: usize,
        mut connection: Conversation,
        found: &mut Vec<Finding>,
    ) {
        connection.flow.id = self.number(share, slot);
        let before = self.report.findings.len();
        self.finds(share, slot, found);
        if let Some(first) = self.live[share][slot].first {
            let findings = &mut self.report.findings;
            let since = first.saturating_sub(self.taken_out) as usize;
            for finding in connection.take_back(findings, since, &mut self.ledger) {
                self.report.summary.take_back(&finding);
                self.taken_out += 1;
            }
        }
        let before = before.min(self.report.findings.len());
        let found = connection.story.as_ref().is_some_and(|s| s.stalls > 0)
            || self.report.findings.len() > before
            || (0..2).any(|from| connection.suspects(from).next().is_some());
        self.pools.add(&connection, &mut self.ledger);
        self.report.summary.sight.add(&connection);
        let listed = self.report.connections.len();
        let room = match found {
            true => 2 * self.listed_limit,
            false => self.listed_limit,
        };
        match listed < room {
            true => self
                .report
                .connections
                .push(ConnectionReport::of(&connection)),
            false => self.report.summary.unlisted_connections += 1,
        }
    }

    /// Returns the number of the connection in a slot.
    pub(crate) fn number(&self, share: usize, slot: usize) -> u32 {
        self.live[share][slot].number
    }

    /// Removes and returns the findings so far.
    pub(crate) fn take_findings(&mut self) -> Vec<Finding> {
        self.taken_out += self.report.findings.len() as u64;
        std::mem::take(&mut self.report.findings)
    }

    /// Returns how many connections have begun.
    pub(crate) fn connections(&self) -> u32 {
        self.next_number
    }

    /// Judges what connections show together, once all have left, and returns the report. Its summary must be
    /// complete. Returns what was said of the frame that is asked about, too.
    pub(crate) fn finish(mut self) -> (Report, Ledger) {
        self.report.connections.sort_unstable_by_key(|c| c.id);
        if self.report.summary.has_clock() {
            self.judge_suspects();
            // All have left.
            self.look_elsewhere(&[]);
            self.agree_on_the_path();
        } else {
            self.forget_times();
        }
        (self.report, self.ledger)
    }

    /// Takes back what another connection explains: one of the same two hosts, or the same one under other addresses.
    /// `live` are the connections that have not left; returns what was taken back of these, each with the check that did so.
    pub(crate) fn look_elsewhere(
        &mut self,
        live: &[ConnectionReport],
    ) -> Vec<(Finding, &'static Check)> {
        let mut taken = self.busy_elsewhere(live);
        taken.extend(self.recorded_before());
        self.taken_out += taken.len() as u64;
        for (finding, by) in &taken {
            self.report.summary.forget(finding);
            let frame = finding.last_frame();
            self.ledger.note(frame, &finding.checks, None);
            self.ledger.end(frame, Asked::failed(by, Saw::Nothing));
        }
        let rows = &mut self.report.connections;
        taken.retain(|(finding, by)| {
            let row = rows.iter_mut().find(|row| row.id == finding.connection);
            let is_live = row.is_none();
            row.into_iter().for_each(|row| row.take_back(finding, by));
            is_live
        });
        taken
    }

    /// Takes out what an FTP server said because its data connection was done.
    fn busy_elsewhere(&mut self, live: &[ConnectionReport]) -> Vec<(Finding, &'static Check)> {
        let Report {
            connections,
            findings,
            ..
        } = &mut self.report;
        let known = connections.iter().chain(live);
        let Some(elsewhere) = Elsewhere::of(findings, known) else {
            return Vec::new();
        };
        let rows = connections.iter().chain(live);
        let rows: HashMap<u32, &ConnectionReport> = rows.map(|row| (row.id, row)).collect();
        let explained = |finding: &mut Finding| {
            if !elsewhere::is_asked_about(finding) {
                return false;
            }
            let row = rows.get(&finding.connection);
            let explained = row.is_some_and(|row| elsewhere.explains(finding, row));
            if !explained {
                let passed = Asked::passed(&data_connection::CHECK, Saw::Nothing);
                finding.checks.push(passed);
            }
            explained
        };
        let taken = findings.extract_if(.., explained);
        taken.map(|it| (it, &data_connection::CHECK)).collect()
    }

    /// Takes out what was recorded under other addresses, too. What accuses stays rather than what is possible.
    fn recorded_before(&mut self) -> Vec<(Finding, &'static Check)> {
        let (mut sightings, mut taken) = (Sightings::default(), Vec::new());
        for accuses in [true, false] {
            let twice = |it: &mut Finding| it.tier().accuses() == accuses && sightings.has(it);
            taken.extend(self.report.findings.extract_if(.., twice));
        }
        taken
            .into_iter()
            .map(|it| (it, &recorded_twice::CHECK))
            .collect()
    }

    /// Accuses nobody by times that no clock has told.
    fn forget_times(&mut self) {
        for finding in self.report.findings.drain(..) {
            let frame = finding.last_frame();
            self.ledger.note(frame, &finding.checks, None);
            self.ledger
                .end(frame, Asked::failed(&clock::CHECK, Saw::Nothing));
        }
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
        let wanted = |kind| self.kinds.is_empty() || self.kinds.contains(&kind);
        for (suspect, by) in std::mem::take(&mut self.pools).judge() {
            let row = connections.binary_search_by_key(&suspect.connection, |c| c.id);
            if let Ok(at) = row {
                connections[at].note_suspect(&suspect, by);
            }
            // What is bounded and not ruled out is a finding, whether or not it is wanted.
            let ruled_out = by.filter(|check| matches!(check.effect, Effect::RulesOut(_)));
            let frame = suspect.last_frame();
            self.ledger.note(frame, &suspect.checks, ruled_out);
            if wanted(suspect.kind) && ruled_out.is_none() {
                findings.push(suspect);
            }
        }
        self.note_findings(before);
    }

    /// Counts the findings from a place on, and keeps those that are wanted and for which there is room.
    fn note_findings(&mut self, before: usize) {
        let Report {
            summary, findings, ..
        } = &mut self.report;
        if !self.kinds.is_empty() {
            let mut at = 0;
            findings.retain(|finding| {
                at += 1;
                at <= before || self.kinds.contains(&finding.kind)
            });
        }
        for finding in &findings[before..] {
            Summary::count(summary, finding);
        }
        let kept = self.finding_limit.max(before);
        if findings.len() > kept {
            summary.dropped_findings += (findings.len() - kept) as u64;
            findings.truncate(kept);
        }
    }
}
