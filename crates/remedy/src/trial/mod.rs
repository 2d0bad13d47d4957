//! Tries a remedy on live sockets, in periods with it and without it, or on half of them in each period.

mod span;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tinygram_host::hand::{Hand, Socket};
use tinygram_host::meter::{Meter, Turn};
use tinygram_host::namespace::Namespace;
use tinygram_host::scope::{Found, Owned, Scope};
use tinygram_watch::live::Live;

use crate::apply::{self, ApplyError, Why, knobs};
use crate::journal::Journal;
use crate::proof::statistics::{Figures, Pair};
use crate::proof::{self, Demand, Verdict};
use crate::remedy::{Means, Remedy, Service};
use crate::split::{Client, Clients, Split};
use span::{Have, Span, is_counted};

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

/// How a trial is run.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// How long each period lasts.
    pub period: Duration,
    /// Which connections have the remedy when.
    pub split: Split,
    /// What is asked of the remedy.
    pub demand: Demand,
    /// What decides which period, or which half, has the remedy.
    pub seed: u64,
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
    /// Which connections had the remedy when.
    pub split: Split,
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
    /// How long it took from the decision until all sockets had a remedy that is kept.
    pub took: Duration,
}

/// Tries a remedy, and keeps it only if it proves itself. Whatever happens, what is not kept is put back.
///
/// # Errors
///
/// Returns what the system refuses. What was set until then is put back, or is in the journal.
#[expect(clippy::disallowed_methods, reason = "how long it takes is real time")]
pub fn run(bench: &mut Bench<'_>, remedy: &Remedy, course: Course) -> Result<Tried, ApplyError> {
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(course.seed);
    let mut trial = Trial::of(bench, remedy, course.seed);
    let mut pairs: Vec<Pair> = Vec::new();
    let mut tried = Tried {
        verdict: Verdict::CannotTell,
        figures: None,
        pairs: 0,
        period: course.period,
        split: course.split,
        sockets: 0,
        kept: Vec::new(),
        was_stopped: false,
        refused: None,
        gave_way: 0,
        took: Duration::ZERO,
    };
    let most = proof::LOOKS[proof::LOOKS.len() - 1];
    while pairs.len() < most {
        let periods = match (course.split, dice.next_u64() & 1) {
            (Split::Halves { .. }, _) => vec![trial.draw()?],
            (Split::Turns(_), 0) => vec![Have::All, Have::None],
            (Split::Turns(_), _) => vec![Have::None, Have::All],
        };
        let Some(pair) = trial.pair(&periods, course.period)? else {
            tried.refused = trial.refused.take();
            tried.was_stopped = tried.refused.is_none();
            break;
        };
        let is_silent = pair.with.turns_ns.is_empty() && pair.without.turns_ns.is_empty();
        pairs.push(pair);
        if is_silent && trial.meant()?.sockets.is_empty() {
            // All are closed, and none has come.
            break;
        }
        if proof::LOOKS.contains(&pairs.len()) {
            let (figures, verdict) = proof::decide(&pairs, course.demand, course.seed);
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
        let decided = Instant::now();
        trial.turn_on(Have::All, is_temporary)?;
        tried.took = decided.elapsed();
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
    let mut trial = Trial::of(bench, remedy, 0);
    let is_temporary = trial.bench.is_temporary;
    trial.turn_on(Have::All, is_temporary)?;
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
    /// The processes that have the sockets that are meant.
    processes: BTreeSet<u32>,
    /// Who asks on the sockets that are measured.
    clients: BTreeMap<u64, Client>,
    seed: u64,
    /// The number of the period that was drawn last.
    drawn: u64,
    most: usize,
}

impl<'a, 'b> Trial<'a, 'b> {
    fn of(bench: &'a mut Bench<'b>, remedy: &'a Remedy, seed: u64) -> Self {
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
            processes: BTreeSet::new(),
            clients: BTreeMap::new(),
            seed,
            drawn: 0,
            most: 0,
        }
    }

    /// Draws which half has the remedy next: one in which there are clients, as in the other.
    fn draw(&mut self) -> io::Result<Have> {
        self.meant()?;
        for _ in 0..MOST_DRAWS {
            self.drawn += 1;
            let meant = self.clients.iter();
            let meant = meant.filter(|&(cookie, _)| self.known.get(cookie) == Some(&true));
            let mut clients = meant.map(|(_, client)| client);
            let first = clients
                .next()
                .map(|client| client.is_drawn(self.seed, self.drawn));
            if clients.any(|client| Some(client.is_drawn(self.seed, self.drawn)) != first) {
                break;
            }
        }
        Ok(Have::Half(self.drawn))
    }

    /// Returns what the periods of a pair showed, or the two halves in one; `None` if they were stopped.
    fn pair(&mut self, periods: &[Have], length: Duration) -> Result<Option<Pair>, ApplyError> {
        let mut spans: Vec<Span> = Vec::new();
        for have in periods {
            let done = self.span(*have, length, &mut spans);
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
            match span.have {
                Have::All => pair.with = span.seen.with,
                Have::None => pair.without = span.seen.without,
                Have::Half(_) => pair = span.seen,
            }
        }
        Ok(Some(pair))
    }

    /// Lets a period pass.
    #[expect(clippy::disallowed_methods, reason = "periods are real time")]
    fn span(
        &mut self,
        have: Have,
        length: Duration,
        spans: &mut Vec<Span>,
    ) -> Result<(), ApplyError> {
        self.turn_on(have, true)?;
        let before = self.sent()?;
        let used = span::used(&self.processes);
        let begun = Instant::now();
        spans.push(Span::begin(have));
        let mut next_sweep = begun + SWEEP;
        while begun.elapsed() < length && self.refused.is_none() && !(self.bench.is_stopped)() {
            self.collect(BREATH, spans);
            let now = Instant::now();
            if now >= next_sweep {
                // Connections that were opened meanwhile.
                self.turn_on(have, true)?;
                next_sweep = Instant::now() + SWEEP.max(now.elapsed() * LEAST_PAUSE);
            }
        }
        let after = self.sent()?;
        let seconds = begun.elapsed().as_secs_f64();
        let span = spans.last_mut().expect("pushed above");
        let sent = after.iter().filter_map(|(cookie, now)| {
            let sent = now.wrapping_sub(before.get(cookie).copied().unwrap_or(0));
            Some((self.has(have, *cookie)?, sent))
        });
        span.end(seconds, sent);
        span.count_processor(&used, &span::used(&self.processes));
        Ok(())
    }

    /// Returns whether a socket that is meant has the remedy in such a period; `None` if it is not meant, or not known yet.
    fn has(&self, have: Have, cookie: u64) -> Option<bool> {
        let is_meant = self.known.get(&cookie) == Some(&true);
        match have {
            Have::All => is_meant.then_some(true),
            Have::None => is_meant.then_some(false),
            Have::Half(period) => {
                let client = self.clients.get(&cookie).filter(|_| is_meant)?;
                Some(client.is_drawn(self.seed, period))
            }
        }
    }

    /// Gives the remedy to the sockets that are to have it and do not have it from this period; learns of those that were
    /// opened meanwhile.
    fn turn_on(&mut self, have: Have, is_temporary: bool) -> Result<(), ApplyError> {
        let mut found = self.meant()?;
        let is_new =
            |cookie| !self.treated.contains(&cookie) && self.has(have, cookie) == Some(true);
        found.sockets.retain(|owned| is_new(owned.socket.cookie));
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
            sockets.retain(|socket| self.remedy.stalls(socket) || self.remedy.is_for(socket));
            self.learn(&sockets)?;
            for socket in sockets {
                if !self.is_meant(&socket) {
                    continue;
                }
                if self.remedy.stalls(&socket) && self.measured.insert(socket.cookie) {
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
        self.learn_clients(sockets)?;
        let of_services = found.sockets.iter();
        let of_services = of_services
            .filter(|owned| self.remedy.stalls(&owned.socket) || self.remedy.is_for(&owned.socket));
        let owners = of_services.filter_map(|owned| owned.owner.as_ref());
        self.processes.extend(owners.map(|owner| owner.pid));
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
            let is_peer = peers.contains(&(socket.local, socket.remote));
            // Of a remedy for the other ends either end may be the one that is meant.
            let may_be_peer =
                !self.remedy.stalls(socket) || self.remedy.sockets != self.remedy.stalling;
            let is_meant = meant.contains(&socket.cookie) || (may_be_peer && is_peer);
            // A connection that its program has not accepted yet has no owner yet.
            if is_meant || socket.inode != 0 {
                self.known.insert(socket.cookie, is_meant);
            }
        }
        Ok(())
    }

    /// Asks who is at the clients' end of the sockets that stall.
    fn learn_clients(&mut self, sockets: &[Socket]) -> io::Result<()> {
        let everything = Scope {
            all: true,
            ..self.bench.scope.clone()
        };
        let clients = Clients::of(&everything.find(self.bench.hand)?.sockets);
        for socket in sockets {
            let has = |service: &&Service| service.has(socket.netns, socket.local, socket.remote);
            if let Some(service) = self.remedy.stalling.iter().find(has) {
                let client = clients.of_connection(service.end, socket.local, socket.remote);
                self.clients.entry(socket.cookie).or_insert(client);
            }
        }
        Ok(())
    }

    fn is_meant(&self, socket: &Socket) -> bool {
        self.known.get(&socket.cookie) == Some(&true)
    }

    /// Returns how many data segments each socket of the stalling services has sent.
    fn sent(&mut self) -> io::Result<BTreeMap<u64, u32>> {
        let mut sent = BTreeMap::new();
        for namespace in &self.namespaces {
            let sockets = namespace.within(|| self.bench.hand.sockets())??;
            let those = sockets.iter().filter(|socket| self.remedy.stalls(socket));
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
            let mut spans = spans.iter_mut();
            if is_counted(finding, self.remedy)
                && let Some(span) = spans.find(|span| span.holds(0, finding.start_ns))
                && let Some(has) = self.has(span.have, finding.connection.cookie)
            {
                let period = span.seen.side(has);
                period.stalls += 1;
                period.stalled_ns += u64::try_from(finding.cost.time_ns).unwrap_or(0);
            }
        }
        let mut turns = Vec::new();
        self.bench
            .meter
            .poll(Duration::ZERO, |turn: Turn| turns.push(turn));
        for turn in turns {
            let at_ns = i64::try_from(turn.wrote_ns).unwrap_or(i64::MAX);
            if let Some(span) = spans.iter_mut().find(|span| span.holds(1, at_ns))
                && let Some(has) = self.has(span.have, turn.cookie)
            {
                span.seen.side(has).turns_ns.push(turn.length_ns());
            }
        }
    }
}

/// So often is drawn for a half that is not all or none of the clients.
const MOST_DRAWS: u32 = 64;
const BREATH: Duration = Duration::from_millis(20);
const SWEEP: Duration = Duration::from_millis(100);
/// With very many connections the sweeps within a period take a hundredth of a processor at most.
const LEAST_PAUSE: u32 = 100;
/// A stall is reported after it has ended.
const LATE: Duration = Duration::from_millis(100);
