//! Watches: what the source reports becomes findings, each with its process.

use std::time::Duration;

use tinygram_host::process::Process;
use tinygram_host::start::has_ended;
use tinygram_watch::finding::Finding;
use tinygram_watch::live::Live;
use tinygram_watch::seen::{Seen, SeenEnd};
use tinygram_watch::summary::WatchSummary;
use tinygram_watch::who::Processes;

use super::plan::Plan;
use super::seen::Watched;
use super::under_run::UnderRun;
use crate::outcome::Failure;
use crate::verbs::ps;

/// What is being watched, and the findings so far.
pub(super) struct Watch {
    pub(super) watched: Watched,
    /// The connections of this network namespace that were open at the beginning, if everything is watched.
    open_before: u64,
    pub(super) live: Live,
    /// Events or packets that were lost for lack of room.
    pub(super) lost: u64,
    processes: Processes,
    pub(super) summary: WatchSummary,
    pub(super) under_run: UnderRun,
}

impl Watch {
    /// Begins to watch.
    pub(super) fn begin(plan: Plan) -> Result<Self, Failure> {
        let live = Live::open(plan.choice, &plan.options, plan.interface.as_deref())
            .map_err(|lacking| Failure::Input(lacking.to_string()))?;
        let watched = Watched::new(plan.targets);
        Ok(Self {
            open_before: match watched.is_all() {
                true => ps::open_connections().unwrap_or(0),
                false => 0,
            },
            watched,
            lost: 0,
            live,
            processes: Processes::below(plan.root),
            summary: WatchSummary::default(),
            under_run: UnderRun::default(),
        })
    }

    /// Returns new findings after `patience` at most.
    pub(super) fn look(&mut self, patience: Duration) -> Vec<(Finding, Process)> {
        let mut new = Vec::new();
        self.live.poll(patience, |finding| new.push(finding));
        self.lost = self.live.lost();
        let sights = self.live.sights();
        self.notice(sights);
        self.keep(new)
    }

    /// Returns the findings that only the end brings.
    pub(super) fn finish(&mut self) -> Vec<(Finding, Process)> {
        let mut new = Vec::new();
        self.live.finish(|finding| new.push(finding));
        let mut sights = self.live.sights();
        sights.extend(self.live.open_sights());
        self.notice(sights);
        let kept = self.keep(new);
        self.summary.fold(|process| has_ended(process.pid));
        kept
    }

    /// Counts the connections that are meant.
    fn notice(&mut self, sights: Vec<SeenEnd>) {
        for sight in sights {
            let process = self.processes.of(&sight.writer, sight.at_ns);
            if self
                .watched
                .meets(&sight.connection, &sight.writer, process)
            {
                self.watched.add(sight.seen);
                self.under_run.look_at(process);
            }
        }
    }

    /// Returns how much was seen of what is watched.
    pub(super) fn seen(&self) -> Seen {
        let mut all = self.live.seen();
        if self.live.name() == "kernel" {
            all.connections += self.open_before;
        }
        self.watched.seen(all)
    }

    fn keep(&mut self, new: Vec<Finding>) -> Vec<(Finding, Process)> {
        let mut kept = Vec::new();
        for mut finding in new {
            if !self.live.knows_sides() {
                finding.side = self.processes.side(&finding.process, &finding.connection);
            }
            let process = self
                .processes
                .of(&finding.process, finding.start_ns)
                .clone();
            let (connection, writer) = (&finding.connection, &finding.process);
            if !self.watched.meets(connection, writer, &process) {
                self.watched.pass_over(&finding, &process);
                continue;
            }
            self.summary.add(&finding, &process);
            self.under_run.look_at(&process);
            kept.push((finding, process));
        }
        self.summary.fold_in_time(|process| has_ended(process.pid));
        kept
    }
}
