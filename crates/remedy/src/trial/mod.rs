//! Tries a remedy on live sockets, in periods with it and without it, or on half of them in each period.

mod members;
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
use tinygram_host::pace::Share;
use tinygram_host::scope::{Found, Owned, Scope};
use tinygram_watch::live::Live;

use crate::apply::{self, Announced, ApplyError, Why, knobs};
use crate::journal::{Journal, Paused};
use crate::proof::statistics::{Pair, PairFigures};
use crate::proof::{self, Demand, ProofVerdict};
use crate::remedy::{Means, Remedy};
use crate::split::{Split, WhyTurns};
use members::Members;
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
    /// When the look for stalls began. Sockets over which nothing went since then can show nothing: they are given a remedy
    /// only when it is kept.
    pub looked_since: Instant,
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
    pub verdict: ProofVerdict,
    /// The figures; none if it was stopped before there were any.
    pub figures: Option<PairFigures>,
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
    /// How long it took from the decision until the sockets of the trial had a remedy that is kept.
    pub took: Duration,
}

/// Tries a remedy, and keeps it only if it proves itself. Whatever happens, what is not kept is put back.
///
/// # Errors
///
/// Returns what the system refuses. What was set until then is put back, or is in the journal.
pub fn run(bench: &mut Bench<'_>, remedy: &Remedy, course: Course) -> Result<Tried, ApplyError> {
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(course.seed);
    let mut trial = Trial::of(bench, remedy, course.seed, course.split);
    trial.members.begin(trial.bench.hand)?;
    let mut pairs: Vec<Pair> = Vec::new();
    let mut tried = Tried {
        verdict: ProofVerdict::CannotTell,
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
        if is_silent && trial.all()?.is_empty() {
            // All are closed, and none has come.
            break;
        }
        if proof::LOOKS.contains(&pairs.len()) {
            let ready = trial.make_ready()?;
            let (figures, verdict) = proof::decide(&pairs, course.demand, course.seed);
            tried.figures = Some(figures);
            if verdict == Some(ProofVerdict::Kept) && remedy.others_now(trial.bench.hand)? > 0 {
                // Who shares it was not asked whether it helps.
                trial.drop_ready(ready)?;
                tried.verdict = ProofVerdict::Shared;
                break;
            }
            if verdict == Some(ProofVerdict::Kept) {
                tried.took = trial.carry_out(ready)?;
                tried.kept = trial.give()?;
            } else {
                trial.drop_ready(ready)?;
            }
            if let Some(verdict) = verdict {
                tried.verdict = verdict;
                break;
            }
        }
    }
    tried.pairs = pairs.len();
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
    let split = Split::Turns(WhyTurns::Asked);
    Trial::of(bench, remedy, 0, split).give()
}

/// What a decision in favour carries out, and the journal, which has it; `None` for a knob.
type Ready = Option<(Announced, Paused)>;

struct Trial<'a, 'b> {
    bench: &'a mut Bench<'b>,
    remedy: &'a Remedy,
    members: Members<'a>,
    /// The changes that are to be undone at the end of this period.
    in_force: Vec<u64>,
    refused: Option<String>,
    gave_way: usize,
    treated: BTreeSet<u64>,
    measured: BTreeSet<u64>,
    most: usize,
}

impl<'a, 'b> Trial<'a, 'b> {
    fn of(bench: &'a mut Bench<'b>, remedy: &'a Remedy, seed: u64, split: Split) -> Self {
        let members = Members::of(remedy, bench.looked_since, split, seed);
        Self {
            bench,
            remedy,
            members,
            in_force: Vec::new(),
            refused: None,
            gave_way: 0,
            treated: BTreeSet::new(),
            measured: BTreeSet::new(),
            most: 0,
        }
    }

    fn draw(&mut self) -> io::Result<Have> {
        self.active()?;
        Ok(self.members.draw())
    }

    /// Returns all sockets that are meant.
    fn all(&mut self) -> io::Result<Vec<Socket>> {
        self.members.all(self.bench.hand, self.bench.scope)
    }

    /// Returns the sockets that are meant and not silent, and measures the turns of the stalling ones.
    fn active(&mut self) -> io::Result<Vec<Socket>> {
        let sockets = self.members.active(self.bench.hand, self.bench.scope)?;
        for socket in &sockets {
            if self.remedy.stalls(socket) && self.measured.insert(socket.cookie) {
                self.bench.meter.measure(socket.cookie)?;
            }
        }
        Ok(sockets)
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
        let (before, walked) = self.begin(have)?;
        let used = span::used(&self.members.processes);
        let begun = Instant::now();
        spans.push(Span::begin(have));
        // The one that has begun it counts, too.
        let mut next_sweep = begun + SWEEP.max(SWEEPS.rest(walked));
        while begun.elapsed() < length && self.refused.is_none() && !(self.bench.is_stopped)() {
            self.collect(BREATH, spans);
            let now = Instant::now();
            if now >= next_sweep {
                // Connections that were opened meanwhile.
                self.turn_on(have, true)?;
                next_sweep = Instant::now() + SWEEP.max(SWEEPS.rest(now.elapsed()));
            }
        }
        let after = self.members.sent(self.bench.hand)?;
        let seconds = begun.elapsed().as_secs_f64();
        let span = spans.last_mut().expect("pushed above");
        let sent = after.iter().filter_map(|(cookie, now)| {
            let before = before.get(cookie).copied();
            let before = before.unwrap_or_else(|| self.members.sent_at_first(*cookie));
            Some((self.members.has(have, *cookie)?, now.wrapping_sub(before)))
        });
        span.end(seconds, sent);
        span.count_processor(&used, &span::used(&self.members.processes));
        Ok(())
    }

    /// Gives the remedy to the sockets that have it in this period. Returns how many data segments each has sent by then, and
    /// how long a walk takes.
    #[expect(clippy::disallowed_methods, reason = "walks take real time")]
    fn begin(&mut self, have: Have) -> Result<(BTreeMap<u64, u32>, Duration), ApplyError> {
        let begun = Instant::now();
        let sockets = self.active()?;
        let walked = begun.elapsed();
        self.turn_on_at(sockets, have, true)?;
        // Not what the walk found: to ask whose new sockets are may have taken long since.
        Ok((self.members.sent(self.bench.hand)?, walked))
    }

    /// Gives the remedy to the sockets that are to have it and do not have it from this period; learns of those that were
    /// opened meanwhile.
    fn turn_on(&mut self, have: Have, is_temporary: bool) -> Result<(), ApplyError> {
        let sockets = self.active()?;
        self.turn_on_at(sockets, have, is_temporary)
    }

    /// Gives the remedy to all sockets that are meant, and returns the changes' numbers.
    fn give(&mut self) -> Result<Vec<u64>, ApplyError> {
        let sockets = self.all()?;
        let is_temporary = self.bench.is_temporary;
        self.turn_on_at(sockets, Have::All, is_temporary)?;
        Ok(std::mem::take(&mut self.in_force))
    }

    /// Writes to the journal what a decision in favour changes, before it is made: then no sockets are written down after it.
    fn make_ready(&mut self) -> Result<Ready, ApplyError> {
        let Means::Socket(setting) = &self.remedy.means else {
            return Ok(None);
        };
        let sockets = self.active()?;
        let found = self.due(sockets, Have::All);
        let mut journal = Journal::open(&self.bench.journal)?;
        let why = Why {
            command: &self.bench.command,
            is_temporary: self.bench.is_temporary,
        };
        let announced = apply::announce(&mut journal, &found, setting, why)?;
        Ok(Some((announced, journal.pause()?)))
    }

    /// Carries it out, and returns how long it took until the sockets had the remedy: to write down which of them were not
    /// changed comes after that.
    #[expect(clippy::disallowed_methods, reason = "how long it takes is real time")]
    fn carry_out(&mut self, ready: Ready) -> Result<Duration, ApplyError> {
        let decided = Instant::now();
        let Some((announced, journal)) = ready else {
            self.turn_on(Have::All, self.bench.is_temporary)?;
            return Ok(decided.elapsed());
        };
        let mut journal = journal.resume()?;
        let made = announced.make(self.bench.hand)?;
        let took = decided.elapsed();
        self.in_force.extend(made.write_down(&mut journal)?.ids);
        Ok(took)
    }

    fn drop_ready(&mut self, ready: Ready) -> Result<(), ApplyError> {
        self.treated.clear();
        match ready {
            None => Ok(()),
            Some((announced, journal)) => announced.drop_from(&mut journal.resume()?),
        }
    }

    /// Returns those of these sockets that are to have the remedy and do not have it from this period.
    fn due(&mut self, sockets: Vec<Socket>, have: Have) -> Found {
        let new = sockets.into_iter().filter(|socket| {
            let cookie = socket.cookie;
            self.remedy.is_for(socket)
                && !self.treated.contains(&cookie)
                && self.members.has(have, cookie) == Some(true)
        });
        let new = new.map(|socket| Owned {
            socket,
            owner: None,
        });
        let found = Found {
            sockets: new.collect(),
            namespaces: self.members.namespaces.clone(),
            ..Found::default()
        };
        let cookies = found.sockets.iter().map(|owned| owned.socket.cookie);
        self.treated.extend(cookies);
        self.most = self.most.max(self.treated.len());
        found
    }

    fn turn_on_at(
        &mut self,
        sockets: Vec<Socket>,
        have: Have,
        is_temporary: bool,
    ) -> Result<(), ApplyError> {
        let found = self.due(sockets, have);
        if found.sockets.is_empty() {
            return Ok(());
        }
        let mut journal = Journal::open(&self.bench.journal)?;
        let why = Why {
            command: &self.bench.command,
            is_temporary,
        };
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
            for cookie in undone.gave_way {
                self.members.leave(cookie);
            }
        }
        Ok(())
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
                && let Some(has) = self.members.has(span.have, finding.connection.cookie)
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
                && let Some(has) = self.members.has(span.have, turn.cookie)
            {
                span.seen.side(has).turns_ns.push(turn.length_ns());
            }
        }
    }
}

const BREATH: Duration = Duration::from_millis(20);
const SWEEP: Duration = Duration::from_millis(100);
/// What the sweeps within a period take at most, with very many connections.
const SWEEPS: Share = Share::Hundredth;
/// A stall is reported after it has ended.
const LATE: Duration = Duration::from_millis(100);
