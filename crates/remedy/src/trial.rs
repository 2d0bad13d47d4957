//! Tries a remedy on live sockets, in periods with it and without it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tinygram_host::clock::{clock_ns, moved_ns};
use tinygram_host::hand::{Hand, Socket};
use tinygram_host::meter::{Meter, Turn};
use tinygram_host::namespace::Namespace;
use tinygram_host::scope::{Found, Owned, Scope};
use tinygram_stalls::Tier;
use tinygram_watch::finding::Finding;
use tinygram_watch::live::Live;

use crate::apply::{self, ApplyError, Why, knobs};
use crate::journal::Journal;
use crate::look::cause;
use crate::proof::statistics::{Figures, Pair, Period};
use crate::proof::{self, Demand, Verdict};
use crate::remedy::{Means, Remedy, Service};

/// What a trial needs of the host.
pub struct Bench<'a> {
    /// Sets options.
    pub hand: &'a mut Hand,
    /// Sees stalls.
    pub live: &'a mut Live,
    /// Sees turns.
    pub meter: &'a mut Meter,
    /// Whose sockets are meant: no others of the services are changed, but for the other ends of these.
    pub scope: &'a Scope,
    /// The folder of the journal.
    pub journal: PathBuf,
    /// The command, as the journal has it.
    pub command: String,
    /// Whether this process puts back what is kept.
    pub is_temporary: bool,
    /// Where to ask whether to stop.
    pub is_stopped: fn() -> bool,
}

/// How a trial ended.
#[derive(Clone, Debug)]
pub struct Tried {
    /// What is decided.
    pub verdict: Verdict,
    /// The figures; none if it was stopped before there were any.
    pub figures: Option<Figures>,
    /// How many pairs of periods there were.
    pub pairs: usize,
    /// How long each period lasted.
    pub period: Duration,
    /// The most sockets that had the remedy at a time.
    pub sockets: usize,
    /// The changes that stay in force: those of a remedy that is kept.
    pub kept: Vec<u64>,
    /// Whether it was stopped from outside.
    pub was_stopped: bool,
    /// Why a knob could not be turned.
    pub refused: Option<String>,
    /// How many sockets were left to their programs, which set the option during the trial.
    pub gave_way: usize,
}

/// A period that is going on or over.
struct Span {
    is_with: bool,
    /// On the clock of findings (since the epoch) and on that of turns (monotonic).
    begun_ns: [i64; 2],
    ended_ns: [i64; 2],
    period: Period,
}

/// Tries a remedy, and keeps it only if it proves itself. Whatever happens, what is not kept is put back.
///
/// # Errors
///
/// Returns what the system refuses. What was set until then is put back, or is in the journal.
pub fn run(
    bench: &mut Bench<'_>,
    remedy: &Remedy,
    length: Duration,
    demand: Demand,
    seed: u64,
) -> Result<Tried, ApplyError> {
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut trial = Trial::of(bench, remedy);
    let mut pairs: Vec<Pair> = Vec::new();
    let mut tried = Tried {
        verdict: Verdict::CannotTell,
        figures: None,
        pairs: 0,
        period: length,
        sockets: 0,
        kept: Vec::new(),
        was_stopped: false,
        refused: None,
        gave_way: 0,
    };
    let most = proof::LOOKS[proof::LOOKS.len() - 1];
    while pairs.len() < most {
        let with_first = dice.next_u64() & 1 == 0;
        let Some(pair) = trial.pair(with_first, length)? else {
            tried.refused = trial.refused.take();
            tried.was_stopped = tried.refused.is_none();
            break;
        };
        pairs.push(pair);
        if proof::LOOKS.contains(&pairs.len()) {
            let (figures, verdict) = proof::decide(&pairs, demand, seed);
            tried.figures = Some(figures);
            if let Some(verdict) = verdict {
                tried.verdict = verdict;
                break;
            }
        }
    }
    tried.pairs = pairs.len();
    if tried.verdict == Verdict::Kept {
        let is_temporary = trial.bench.is_temporary;
        trial.turn_on(is_temporary)?;
        tried.kept = std::mem::take(&mut trial.in_force);
    }
    tried.sockets = trial.most;
    tried.gave_way = trial.gave_way;
    Ok(tried)
}

/// Gives a remedy that proved itself to the sockets that are meant now, without a trial, and returns the changes' numbers.
///
/// # Errors
///
/// Returns what the system refuses.
pub fn give(bench: &mut Bench<'_>, remedy: &Remedy) -> Result<Vec<u64>, ApplyError> {
    let mut trial = Trial::of(bench, remedy);
    let is_temporary = trial.bench.is_temporary;
    trial.turn_on(is_temporary)?;
    Ok(std::mem::take(&mut trial.in_force))
}

struct Trial<'a, 'b> {
    bench: &'a mut Bench<'b>,
    remedy: &'a Remedy,
    /// Where the services are; one that has ended has no sockets.
    namespaces: Vec<Namespace>,
    /// The changes that are to be undone at the end of this period.
    in_force: Vec<u64>,
    refused: Option<String>,
    gave_way: usize,
    treated: BTreeSet<u64>,
    measured: BTreeSet<u64>,
    /// Sockets of the services, and whether they are meant.
    known: BTreeMap<u64, bool>,
    most: usize,
}

impl<'a, 'b> Trial<'a, 'b> {
    fn of(bench: &'a mut Bench<'b>, remedy: &'a Remedy) -> Self {
        let services = remedy.sockets.iter().chain(&remedy.stalling);
        let namespaces: BTreeSet<u32> = services.map(|service| service.netns).collect();
        Self {
            bench,
            remedy,
            namespaces: namespaces.into_iter().filter_map(Namespace::find).collect(),
            in_force: Vec::new(),
            refused: None,
            gave_way: 0,
            treated: BTreeSet::new(),
            measured: BTreeSet::new(),
            known: BTreeMap::new(),
            most: 0,
        }
    }

    /// Returns what two periods showed; `None` if they were stopped.
    fn pair(&mut self, with_first: bool, length: Duration) -> Result<Option<Pair>, ApplyError> {
        let mut spans: Vec<Span> = Vec::new();
        for is_with in [with_first, !with_first] {
            let done = self.span(is_with, length, &mut spans);
            // Put back also if it went wrong.
            let back = self.turn_off();
            done?;
            back?;
            if self.refused.is_some() || (self.bench.is_stopped)() {
                return Ok(None);
            }
        }
        // Findings come once it is known whether anybody waited.
        self.collect(LATE, &mut spans);
        let mut pair = Pair::default();
        for span in spans {
            match span.is_with {
                true => pair.with = span.period,
                false => pair.without = span.period,
            }
        }
        Ok(Some(pair))
    }

    /// Lets a period pass.
    #[expect(clippy::disallowed_methods, reason = "periods are real time")]
    fn span(
        &mut self,
        is_with: bool,
        length: Duration,
        spans: &mut Vec<Span>,
    ) -> Result<(), ApplyError> {
        self.sweep(is_with)?;
        let before = self.sent()?;
        let begun = Instant::now();
        spans.push(Span {
            is_with,
            begun_ns: clocks_ns(),
            ended_ns: [i64::MAX; 2],
            period: Period::default(),
        });
        let mut swept = Instant::now();
        while begun.elapsed() < length && self.refused.is_none() && !(self.bench.is_stopped)() {
            self.collect(BREATH, spans);
            if swept.elapsed() >= SWEEP {
                // Connections that were opened meanwhile.
                swept = Instant::now();
                self.sweep(is_with)?;
            }
        }
        let after = self.sent()?;
        let span = spans.last_mut().expect("pushed above");
        span.ended_ns = clocks_ns();
        span.period.seconds = begun.elapsed().as_secs_f64();
        span.period.segments = after
            .iter()
            .filter(|(cookie, _)| self.known.get(cookie) == Some(&true))
            .map(|(cookie, now)| {
                u64::from(now.wrapping_sub(before.get(cookie).copied().unwrap_or(0)))
            })
            .sum();
        Ok(())
    }

    /// Learns of connections that were opened meanwhile, and gives them the remedy in a period that has it.
    fn sweep(&mut self, is_with: bool) -> Result<(), ApplyError> {
        match is_with {
            true => self.turn_on(true),
            false => self.meant().map(drop).map_err(ApplyError::Walk),
        }
    }

    /// Gives the remedy to all sockets that are meant and do not have it from this period.
    fn turn_on(&mut self, is_temporary: bool) -> Result<(), ApplyError> {
        let mut found = self.meant()?;
        let treated = &self.treated;
        found
            .sockets
            .retain(|owned| !treated.contains(&owned.socket.cookie));
        if found.sockets.is_empty() {
            return Ok(());
        }
        let mut journal = Journal::open(&self.bench.journal)?;
        let why = Why {
            command: &self.bench.command,
            is_temporary,
        };
        self.treated
            .extend(found.sockets.iter().map(|owned| owned.socket.cookie));
        self.most = self.most.max(self.treated.len());
        match &self.remedy.means {
            Means::Socket(setting) => {
                let applied = apply::set(self.bench.hand, &mut journal, &found, setting, why)?;
                self.in_force.extend(applied.ids);
            }
            Means::Knob(setting, places) if self.in_force.is_empty() => {
                for place in places {
                    let Some(namespace) = Namespace::find(place.netns) else {
                        continue;
                    };
                    let route = place.route.as_ref();
                    let turned = knobs::set(&mut journal, &namespace, *setting, route, why)?;
                    self.in_force.extend(turned.id);
                    self.refused = self.refused.take().or(turned.refused);
                }
            }
            // It holds for connections that were opened since.
            Means::Knob(..) => {}
        }
        Ok(())
    }

    /// Takes the remedy back.
    fn turn_off(&mut self) -> Result<(), ApplyError> {
        self.treated.clear();
        if self.in_force.is_empty() {
            return Ok(());
        }
        let mut journal = Journal::open(&self.bench.journal)?;
        while let Some(id) = self.in_force.pop() {
            let undone = apply::undo(self.bench.hand, &mut journal, id)?;
            // What its program has decided stays so.
            self.gave_way += undone.gave_way.len();
            let left = undone.gave_way.into_iter().map(|cookie| (cookie, false));
            self.known.extend(left);
        }
        Ok(())
    }

    /// Returns the sockets that are meant now, and measures the turns of the stalling ones.
    fn meant(&mut self) -> io::Result<Found> {
        let mut found = Found::default();
        for namespace in self.namespaces.clone() {
            let mut sockets = namespace.within(|| self.bench.hand.sockets())??;
            sockets.retain(|socket| self.stalls(socket) || self.remedy.is_for(socket));
            self.learn(&sockets)?;
            for socket in sockets {
                if !self.is_meant(&socket) {
                    continue;
                }
                if self.stalls(&socket) && self.measured.insert(socket.cookie) {
                    self.bench.meter.measure(socket.cookie)?;
                }
                if self.remedy.is_for(&socket) {
                    found.sockets.push(Owned {
                        socket,
                        owner: None,
                    });
                }
            }
            found.namespaces.push(namespace);
        }
        Ok(found)
    }

    /// Asks whose the sockets are that are not known yet.
    fn learn(&mut self, sockets: &[Socket]) -> io::Result<()> {
        if sockets
            .iter()
            .all(|socket| self.known.contains_key(&socket.cookie))
        {
            return Ok(());
        }
        let found = self.bench.scope.find(self.bench.hand)?;
        let meant: BTreeSet<_> = found
            .sockets
            .iter()
            .map(|owned| owned.socket.cookie)
            .collect();
        // The other end of a connection may be in another namespace.
        let peers: BTreeSet<_> = found
            .sockets
            .iter()
            .map(|owned| (owned.socket.remote, owned.socket.local))
            .collect();
        for socket in sockets {
            let is_meant = meant.contains(&socket.cookie)
                || (!self.stalls(socket) && peers.contains(&(socket.local, socket.remote)));
            // A connection that its program has not accepted yet has no owner yet.
            if is_meant || socket.inode != 0 {
                self.known.insert(socket.cookie, is_meant);
            }
        }
        Ok(())
    }

    fn is_meant(&self, socket: &Socket) -> bool {
        self.known.get(&socket.cookie) == Some(&true)
    }

    fn stalls(&self, socket: &Socket) -> bool {
        let has = |service: &Service| service.has(socket.netns, socket.local, socket.remote);
        socket.is_open() && self.remedy.stalling.iter().any(has)
    }

    /// Returns how many data segments each socket of the stalling services has sent.
    fn sent(&mut self) -> io::Result<BTreeMap<u64, u32>> {
        let mut sent = BTreeMap::new();
        for namespace in &self.namespaces {
            let sockets = namespace.within(|| self.bench.hand.sockets())??;
            let those = sockets.iter().filter(|socket| self.stalls(socket));
            sent.extend(those.map(|socket| (socket.cookie, socket.data_segs_out)));
        }
        Ok(sent)
    }

    /// Takes in what is seen in the next `patience`.
    fn collect(&mut self, patience: Duration, spans: &mut [Span]) {
        let mut findings = Vec::new();
        self.bench
            .live
            .poll(patience, |finding| findings.push(finding));
        for finding in &findings {
            if is_counted(finding, self.remedy)
                && let Some(span) = spans
                    .iter_mut()
                    .find(|span| span.holds(0, finding.start_ns))
            {
                span.period.stalls += 1;
                span.period.stalled_ns += u64::try_from(finding.cost.time_ns).unwrap_or(0);
            }
        }
        self.bench.meter.poll(Duration::ZERO, |turn: Turn| {
            let at_ns = i64::try_from(turn.wrote_ns).unwrap_or(i64::MAX);
            if let Some(span) = spans.iter_mut().find(|span| span.holds(1, at_ns)) {
                span.period.turns_ns.push(turn.length_ns());
            }
        });
    }
}

impl Span {
    fn holds(&self, clock: usize, at_ns: i64) -> bool {
        (self.begun_ns[clock]..self.ended_ns[clock]).contains(&at_ns)
    }
}

fn is_counted(finding: &Finding, remedy: &Remedy) -> bool {
    let connection = &finding.connection;
    finding.tier != Tier::Possible
        && finding.kind.is_stall()
        && cause(finding) == Ok(remedy.cause)
        && remedy
            .stalling
            .iter()
            .any(|service| service.has(connection.netns, connection.local, connection.remote))
}

/// Returns the times since the epoch and of the kernel's own monotonic clock.
fn clocks_ns() -> [i64; 2] {
    [
        clock_ns(libc::CLOCK_REALTIME),
        clock_ns(libc::CLOCK_MONOTONIC) - moved_ns(),
    ]
}

const BREATH: Duration = Duration::from_millis(20);
const SWEEP: Duration = Duration::from_millis(100);
/// A stall is reported after it has ended.
const LATE: Duration = Duration::from_millis(100);
