//! Looks, tries, and keeps or puts back.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tinygram_host::hand::{Hand, Socket};
use tinygram_host::meter::Meter;
use tinygram_host::recorder::Recorder;
use tinygram_host::scope::{Found, Scope};
use tinygram_host::target::Target;
use tinygram_remedy::apply::{self, ApplyError};
use tinygram_remedy::foresee::Recorded;
use tinygram_remedy::foresee::recording::Session;
use tinygram_remedy::journal::{Journal, TrialClaim};
use tinygram_remedy::look::{Look, look};
use tinygram_remedy::proof::{self, ProofVerdict};
use tinygram_remedy::remedy::{Means, Remedy, candidates};
use tinygram_remedy::split::{self, Split};
use tinygram_remedy::trial::{self, Bench, Course, Tried};
use tinygram_watch::kernel::SourceOptions;
use tinygram_watch::live::{Choice, Live};

use super::expected::{self, Expected};
use super::owner::{self, OfOwner};
use super::plan::Plan;
use crate::hand::{self, walking};
use crate::outcome::{Done, Failure};
use crate::stop;
use crate::terminal::remark;
use tinygram_report::units::counted;

/// What `cure` saw and did.
pub(super) struct Cured {
    pub(super) look: Look,
    /// Every remedy that was thought of, with its trial if there was one.
    pub(super) remedies: Vec<(Remedy, Option<Tried>)>,
    /// How many connections the targets had, those that came while it looked included.
    pub(super) sockets: usize,
    /// What these did meanwhile, as far as they tell.
    pub(super) traffic: Traffic,
    pub(super) is_dry: bool,
    /// What is expected of each remedy; nothing of one that is not tried, unless nothing is to be changed.
    pub(super) expected: Vec<Option<Expected>>,
    /// If nothing is to be changed: what the programs' owners can do.
    pub(super) of_owners: Vec<OfOwner>,
}

/// How many data segments went over the connections that were open when the look ended; the others have taken their
/// counts with them.
pub(super) struct Traffic {
    /// How many connections these are.
    pub(super) open: usize,
    pub(super) sent: u64,
    pub(super) received: u64,
}

/// Every remedy with its trial, if there was one; and what was expected of each.
type Outcomes = (Vec<(Remedy, Option<Tried>)>, Vec<Option<Expected>>);

impl Cured {
    /// Returns whether nothing is known to have been sent or received while it looked, so that nothing could stall.
    pub(super) fn is_silent(&self) -> bool {
        let (look, traffic) = (&self.look, &self.traffic);
        let has_found = look.count() > 0 || !look.others.is_empty() || look.floods > 0;
        traffic.sent == 0 && traffic.received == 0 && !has_found
    }

    pub(super) fn outcome(&self) -> Done {
        let tried: Vec<_> = self
            .remedies
            .iter()
            .filter_map(|(_, tried)| tried.as_ref())
            .collect();
        let is = |verdict| tried.iter().any(|tried| tried.verdict == verdict);
        match () {
            () if self.sockets == 0 && self.is_silent() => Done::Found,
            () if self.is_silent() => Done::Unknown,
            () if self.is_dry || is(ProofVerdict::Kept) => Done::Well,
            () if self.look.count() == 0 && self.look.others.is_empty() => Done::Well,
            () if is(ProofVerdict::CannotTell) => Done::Unknown,
            () => Done::Found,
        }
    }
}

/// Returns the hand, which gives way to programs if anything is to be set.
pub(super) fn open_hand(plan: &Plan) -> Result<Hand, Failure> {
    let mut hand = hand::open()?;
    if !plan.is_dry {
        hand::give_way(&mut hand, "cure");
    }
    Ok(hand)
}

/// Returns the processes that listen on the same socket as one that is meant: a pre-forking server's others.
pub(super) fn partners(plan: &Plan, hand: &mut Hand) -> Result<Vec<Target>, Failure> {
    let found = plan.scope().find(hand).map_err(walking)?;
    if !found.partners.is_empty() {
        remark(&format!(
            "tinygram cure: {} on the same socket, and {} meant, too",
            match found.partners.len() {
                1 => "1 other process listens".to_owned(),
                count => format!("{count} other processes listen"),
            },
            if found.partners.len() == 1 {
                "is"
            } else {
                "are"
            }
        ));
    }
    Ok(found.partners.into_iter().map(Target::Process).collect())
}

#[expect(clippy::disallowed_methods, reason = "a real program is looked at")]
pub(super) fn cure(plan: &Plan, hand: &mut Hand) -> Result<Cured, Failure> {
    let options = SourceOptions::default();
    let mut live = Live::open(Choice::Kernel, &options, None)
        .map_err(|lacking| Failure::Input(lacking.to_string()))?;
    let scope = plan.scope();
    let found = scope.find(hand).map_err(walking)?;
    let before: Vec<_> = connections(&found).collect();
    remark(&format!(
        "tinygram cure: looking for {:?} at {}",
        plan.look,
        counted(before.len() as u64, "connection")
    ));
    let _under_way = match plan.is_dry {
        true => None,
        false => Some(alone(plan, &before)?),
    };
    let looked_since = Instant::now();
    let (mut look, recorded) = look_and_record(plan, &mut live, hand, &scope)?;
    let since = scope.find(hand).map_err(walking)?;
    let after: Vec<_> = connections(&since).collect();
    let both = || before.iter().chain(&after).copied();
    look.claim(both());
    let cookies: BTreeSet<_> = both().map(|socket| socket.cookie).collect();
    let mut cured = Cured {
        sockets: cookies.len(),
        traffic: traffic(&before, &after),
        remedies: Vec::new(),
        is_dry: plan.is_dry,
        expected: Vec::new(),
        of_owners: Vec::new(),
        look,
    };
    // The other ends on this host may belong to anybody.
    let everything = Scope {
        all: true,
        ..plan.scope()
    };
    let all = everything.find(hand).map_err(walking)?;
    let all = all.sockets;
    let sockets: Vec<Socket> = all.iter().map(|owned| owned.socket.clone()).collect();
    let mut remedies = candidates(&cured.look, &sockets);
    if let Some(setting) = &plan.instead {
        remedies.truncate(1);
        for remedy in &mut remedies {
            remedy.means = Means::Socket(setting.clone());
        }
    }
    for remedy in &mut remedies {
        // Also those that are not found where all are asked for: SSH's.
        remedy.others = remedy.others_now(hand).map_err(walking)?;
    }
    if plan.is_dry {
        let expected = remedies
            .iter()
            .map(|remedy| expected::of(&recorded, plan.seed, remedy));
        cured.expected = expected.collect();
        cured.of_owners = owner::of(&cured.look, &recorded, plan.seed);
    }
    if plan.is_dry || stop::is_asked() || remedies.is_empty() {
        cured.remedies = remedies.into_iter().map(|remedy| (remedy, None)).collect();
        return Ok(cured);
    }
    let mut meter = Meter::open().map_err(|lacking| hand::refused(&lacking))?;
    let mut bench = Bench {
        hand,
        live: &mut live,
        meter: &mut meter,
        scope: &scope,
        looked_since,
        journal: plan.journal.clone(),
        command: plan.command.clone(),
        is_temporary: plan.watch.is_some(),
        is_stopped: stop::is_asked,
    };
    let remedies = remedies.into_iter().map(|remedy| {
        let split = split::choose(&remedy, &cured.look, &all, plan.split);
        (remedy, split)
    });
    let remedies = remedies.collect();
    let period = period(&cured.look);
    (cured.remedies, cured.expected) = try_all(plan, &mut bench, remedies, &recorded, period)?;
    Ok(cured)
}

/// Writes down that this process tries something on these sockets. While another one does, it waits with `--watch`, and
/// else refuses: each would measure what the other sets.
fn alone(plan: &Plan, sockets: &[&Socket]) -> Result<TrialClaim, Failure> {
    let ends = sockets.iter().map(|socket| {
        let (one, other) = (socket.local, socket.remote);
        (one.min(other), one.max(other))
    });
    let ends: BTreeSet<_> = ends.collect();
    loop {
        let begun = Journal::open(&plan.journal)
            .and_then(|mut journal| journal.begin_trial(&plan.command, ends.clone()))
            .map_err(|error| Failure::Input(ApplyError::from(error).to_string()));
        let other = match begun? {
            Ok(under_way) => return Ok(under_way),
            Err(other) => other,
        };
        let said = format!(
            "process {} is trying remedies on some of these connections (tinygram {})",
            other.pid, other.command
        );
        if plan.watch.is_none() || stop::is_asked() {
            return Err(Failure::Input(format!(
                "{said}: accepted once it has ended; nothing was changed"
            )));
        }
        remark(&format!("tinygram cure: {said}; waits until it has ended"));
        stop::wait(LATER);
    }
}

/// Returns the sockets that do not listen.
fn connections(found: &Found) -> impl Iterator<Item = &Socket> {
    let sockets = found.sockets.iter().map(|owned| &owned.socket);
    sockets.filter(|socket| !socket.listens())
}

/// Returns what went over the sockets of `after` since they were as in `before`.
fn traffic(before: &[&Socket], after: &[&Socket]) -> Traffic {
    let before: BTreeMap<_, _> = before
        .iter()
        .map(|socket| (socket.cookie, *socket))
        .collect();
    let since = |count: fn(&Socket) -> u32| {
        let of_each = after.iter().map(|socket| {
            let had = before.get(&socket.cookie).map_or(0, |socket| count(socket));
            // The kernel's counters wrap.
            u64::from(count(socket).wrapping_sub(had))
        });
        of_each.sum()
    };
    Traffic {
        open: after.len(),
        sent: since(|socket| socket.data_segs_out),
        received: since(|socket| socket.data_segs_in),
    }
}

/// Looks what stalls, and records meanwhile what programs do, so that it can be played again.
fn look_and_record(
    plan: &Plan,
    live: &mut Live,
    hand: &mut Hand,
    scope: &Scope,
) -> Result<(Look, Recorded), Failure> {
    let mut recorder = Recorder::open().map_err(|lacking| hand::refused(&lacking))?;
    let mut session = Session::begin(expected::ask(plan, scope));
    let mut refused = None;
    let look = look(live, scope, plan.look, || {
        refused = session.step(hand, &mut recorder, Duration::ZERO).err();
        refused.is_some() || stop::is_asked()
    });
    match refused {
        Some(error) => Err(walking(error)),
        None => Ok((look, session.end(&recorder))),
    }
}

/// Tries the remedies in their order until one is kept. After one that leaves a remainder those that leave none are tried,
/// too, and the better one is kept.
fn try_all(
    plan: &Plan,
    bench: &mut Bench<'_>,
    remedies: Vec<(Remedy, Split)>,
    recorded: &Recorded,
    period: Duration,
) -> Result<Outcomes, Failure> {
    let mut all: Vec<(Remedy, Option<Tried>)> = Vec::new();
    let mut all_expected = Vec::new();
    let mut best: Option<usize> = None;
    let mut was_stopped = false;
    for (remedy, split) in remedies {
        let is_enough = best.is_some_and(|best| !all[best].0.leaves_a_remainder());
        if was_stopped || is_enough || !plan.may_try(&remedy) {
            all.push((remedy, None));
            all_expected.push(None);
            continue;
        }
        let expected = expected::of(recorded, plan.seed, &remedy);
        remark(&beginning(&remedy, split, period));
        remark(&format!(
            "tinygram cure: {}",
            expected::told(expected.as_ref())
        ));
        all_expected.push(expected);
        if let Some(best) = best {
            // Each is compared with nothing.
            put_back(bench, all[best].1.as_mut())?;
        }
        let course = Course {
            period,
            split,
            demand: plan.demand,
            seed: plan.seed,
        };
        let tried = trial::run(bench, &remedy, course).map_err(|error| failed(&error))?;
        was_stopped = tried.was_stopped;
        all.push((remedy, Some(tried)));
        if was_stopped {
            // What was kept before is put back, too.
            for (_, tried) in &mut all {
                if let Some(tried) = tried.as_mut().filter(|tried| is_kept(&&**tried)) {
                    tried.was_stopped = true;
                }
            }
            continue;
        }
        let new = all.len() - 1;
        best = match best {
            None => all[new].1.as_ref().filter(is_kept).map(|_| new),
            Some(old) => Some(better(bench, &mut all, old, new)?),
        };
    }
    Ok((all, all_expected))
}

/// Says what is tried next, and for how long at most.
fn beginning(remedy: &Remedy, split: Split, period: Duration) -> String {
    let [fewest, _, most] = proof::LOOKS;
    let (periods, on) = match split {
        Split::Turns(_) => (2, ""),
        Split::Halves { .. } => (1, " on halves of the clients"),
    };
    format!(
        "tinygram cure: trying {}{on} in {} to {} periods of {:?}",
        remedy.means,
        periods * fewest,
        periods * most,
        Duration::from_millis(u64::try_from(period.as_millis()).unwrap_or(u64::MAX))
    )
}

/// Keeps the better of two remedies, and returns which that is.
fn better(
    bench: &mut Bench<'_>,
    all: &mut [(Remedy, Option<Tried>)],
    old: usize,
    new: usize,
) -> Result<usize, Failure> {
    let change = |index: usize| {
        let tried = all[index].1.as_ref().filter(is_kept)?;
        tried.figures.as_ref().map(|figures| figures.stalled_ms)
    };
    // Beyond what the intervals leave open.
    let is_better = match (change(old), change(new)) {
        (Some(old), Some(new)) => new.high < old.low,
        _ => false,
    };
    let (kept, other) = if is_better { (new, old) } else { (old, new) };
    if !is_better {
        put_back(bench, all[new].1.as_mut())?;
        let (remedy, tried) = &mut all[old];
        if let Some(tried) = tried {
            tried.kept = trial::give(bench, remedy).map_err(|error| failed(&error))?;
        }
    }
    if let Some(tried) = all[other].1.as_mut().filter(|tried| is_kept(&&**tried)) {
        tried.verdict = ProofVerdict::OtherIsBetter;
    }
    Ok(kept)
}

fn is_kept(tried: &&Tried) -> bool {
    tried.verdict == ProofVerdict::Kept
}

/// Puts back what a trial kept.
fn put_back(bench: &mut Bench<'_>, tried: Option<&mut Tried>) -> Result<(), Failure> {
    let Some(tried) = tried else { return Ok(()) };
    let journal = Journal::open(&bench.journal);
    let mut journal = journal.map_err(|error| failed(&error.into()))?;
    for id in tried.kept.drain(..) {
        apply::undo(bench.hand, &mut journal, id).map_err(|error| failed(&error))?;
    }
    Ok(())
}

pub(super) fn open(plan: &Plan) -> Result<Journal, Failure> {
    Journal::open(&plan.journal).map_err(|error| failed(&error.into()))
}

fn period(look: &Look) -> Duration {
    proof::period(look.count() as f64 / look.lasted.as_secs_f64().max(0.001))
}

pub(super) fn failed(error: &ApplyError) -> Failure {
    Failure::Input(format!(
        "{error}; what was set is put back, or can be with tinygram set --undo"
    ))
}

/// Until another trial is asked for again.
const LATER: Duration = Duration::from_secs(10);
