//! What stalls: the findings on the sockets that are meant, added up.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tinygram_host::clock::clock_ns;
use tinygram_host::hand::Socket;
use tinygram_host::process::Process;
use tinygram_host::scope::Scope;
use tinygram_host::target::Target;
use tinygram_watch::event::Reason;
use tinygram_watch::finding::{Facts, Finding, Part};
use tinygram_watch::live::Live;
use tinygram_watch::who::Processes;

/// The stalls that were seen.
#[derive(Debug, Default)]
pub struct Look {
    /// By socket, the stalls that a setting can end.
    pub stalls: BTreeMap<u64, Stalling>,
    /// Stalls of the meant sockets that no setting ends, with what held them.
    pub others: BTreeMap<&'static str, u64>,
    /// Floods of the meant sockets.
    pub floods: u64,
    /// By socket, the processes of these.
    pub flooding: BTreeMap<u64, Process>,
    /// How long was looked.
    pub lasted: Duration,
    /// By socket, stalls by Nagle's rule of sockets that are not meant: their other ends may be.
    elsewhere: BTreeMap<u64, Stalling>,
}

/// A socket that stalled.
#[derive(Clone, Debug)]
pub struct Stalling {
    /// The first finding.
    pub first: Finding,
    /// Its process.
    pub process: Process,
    /// How many stalls there were.
    pub times: u64,
    /// What they cost together, in nanoseconds.
    pub cost_ns: i64,
    /// The threads that wrote, or read late.
    pub threads: BTreeSet<u32>,
    /// What would end them.
    pub cause: Cause,
}

/// What ends a stall, as far as this host can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// This end's sender held a short segment by Nagle's rule.
    Nagle,
    /// This end acknowledged late, and the peer held until then.
    LateAck,
    /// The same, where the peer is a socket of this host that is not meant: its stalls are seen at its own end.
    PeerHolds,
    /// The program has set `TCP_CORK` and not taken it off.
    Cork,
    /// The kernel gathered small writes while a packet waited in a queue of this host.
    Autocork,
}

/// Watches for `length`, or until `is_over`.
#[expect(clippy::disallowed_methods, reason = "how long to look is real time")]
pub fn look(
    live: &mut Live,
    scope: &Scope,
    length: Duration,
    mut is_over: impl FnMut() -> bool,
) -> Look {
    let begun = Instant::now();
    // What the source has kept since it was opened belongs to no time that is known.
    let begun_ns = clock_ns(libc::CLOCK_REALTIME);
    let mut processes = Processes::below(scope.root.clone());
    let mut look = Look::default();
    while begun.elapsed() < length && !is_over() {
        let mut new = Vec::new();
        live.poll(BREATH, |finding| new.push(finding));
        for finding in new {
            if finding.start_ns >= begun_ns {
                look.take(finding, &scope.targets, &mut processes);
            }
        }
    }
    look.lasted = begun.elapsed();
    look
}

impl Look {
    /// Returns all stalls that a setting can end.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.stalls.values().map(|stalling| stalling.times).sum()
    }

    fn take(&mut self, mut finding: Finding, targets: &[Target], processes: &mut Processes) {
        if !finding.tier.accuses() {
            return;
        }
        finding.side = processes.side(&finding.process, &finding.connection);
        let process = processes.of(&finding.process, finding.start_ns);
        let ends = [finding.connection.local, finding.connection.remote];
        let is_meant = |target: &Target| target.is_met_by(process, &finding.process.comm, ends);
        if !targets.is_empty() && !targets.iter().any(is_meant) {
            let is_known = self.elsewhere.contains_key(&finding.connection.cookie);
            if cause(&finding) == Ok(Cause::Nagle)
                && finding.kind.is_stall()
                && (is_known || self.elsewhere.len() < MOST_ELSEWHERE)
            {
                add(&mut self.elsewhere, &finding, process, Cause::PeerHolds);
            }
            return;
        }
        if !finding.kind.is_stall() {
            self.floods += 1;
            let cookie = finding.connection.cookie;
            self.flooding
                .entry(cookie)
                .or_insert_with(|| process.clone());
            return;
        }
        match cause(&finding) {
            Ok(cause) => add(&mut self.stalls, &finding, process, cause),
            Err(reason) => *self.others.entry(reason).or_default() += 1,
        }
    }

    /// Takes in the stalls of sockets of this host whose other end is one of `meant`: those acknowledge late.
    pub fn claim<'a>(&mut self, meant: impl IntoIterator<Item = &'a Socket>) {
        let ends = meant
            .into_iter()
            .map(|socket| (socket.remote, socket.local));
        let ends: BTreeSet<_> = ends.collect();
        for (cookie, stalling) in std::mem::take(&mut self.elsewhere) {
            let connection = &stalling.first.connection;
            if ends.contains(&(connection.local, connection.remote)) {
                self.stalls.insert(cookie, stalling);
            }
        }
    }
}

/// Adds a finding to what is known of its socket.
fn add(to: &mut BTreeMap<u64, Stalling>, finding: &Finding, process: &Process, cause: Cause) {
    let known = to.entry(finding.connection.cookie);
    let stalling = known.or_insert_with(|| Stalling {
        first: finding.clone(),
        process: process.clone(),
        times: 0,
        cost_ns: 0,
        threads: BTreeSet::new(),
        cause,
    });
    stalling.times += 1;
    stalling.threads.insert(finding.process.thread);
    stalling.cost_ns = stalling.cost_ns.saturating_add(finding.cost.time_ns);
}

/// Returns what would end a stall, or the reason why no setting of a socket does.
///
/// # Errors
///
/// The reason, in words.
pub fn cause(finding: &Finding) -> Result<Cause, &'static str> {
    match (finding.part, &finding.facts) {
        (Part::AcknowledgedLate, _) => Ok(Cause::LateAck),
        (Part::Sent, Facts::Held { reason, .. }) => match reason {
            Reason::Nagle => Ok(Cause::Nagle),
            Reason::Cork => Ok(Cause::Cork),
            Reason::MsgMore => Err("the program's own MSG_MORE"),
            Reason::Autocork => Ok(Cause::Autocork),
            Reason::CongestionWindow => Err("the congestion window"),
            Reason::Buffer => Err("a buffer that is smaller than two segments"),
        },
        (Part::Sent, _) => Err("nothing that is known"),
    }
}

const BREATH: Duration = Duration::from_millis(50);
/// Stalls of so many sockets that are not meant are kept until it is known whose other ends they have.
const MOST_ELSEWHERE: usize = 10_000;
