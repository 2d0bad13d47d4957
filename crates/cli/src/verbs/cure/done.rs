//! Looks, tries, and keeps or puts back.

use std::slice;
use std::time::{Duration, Instant};

use tinygram_host::follow::Rules;
use tinygram_host::hand::{Hand, Socket};
use tinygram_host::meter::Meter;
use tinygram_host::scope::Scope;
use tinygram_remedy::apply::{self, ApplyError, Why};
use tinygram_remedy::follow::Follower;
use tinygram_remedy::journal::Journal;
use tinygram_remedy::look::{Look, look};
use tinygram_remedy::proof::{self, Verdict};
use tinygram_remedy::remedy::{End, Remedy, candidates};
use tinygram_remedy::trial::{self, Bench, Tried};
use tinygram_watch::kernel::Options;
use tinygram_watch::live::{Choice, Live};

use super::expected::{self, Expected};
use super::plan::Plan;
use crate::amount::counted;
use crate::exit::{Done, Failure};
use crate::hand::{self, walking};
use crate::stop;
use crate::terminal::remark;

/// What `cure` saw and did.
pub(super) struct Cured {
    pub(super) look: Look,
    /// Every remedy that was thought of, with its trial if there was one.
    pub(super) remedies: Vec<(Remedy, Option<Tried>)>,
    /// How many sockets the targets have.
    pub(super) sockets: usize,
    pub(super) is_dry: bool,
    /// What is expected of each remedy, if nothing is to be changed.
    pub(super) expected: Vec<Option<Expected>>,
}

impl Cured {
    pub(super) fn outcome(&self) -> Done {
        let tried: Vec<_> = self
            .remedies
            .iter()
            .filter_map(|(_, tried)| tried.as_ref())
            .collect();
        let is = |verdict| tried.iter().any(|tried| tried.verdict == verdict);
        match () {
            () if self.sockets == 0 && self.look.count() == 0 => Done::Found,
            () if self.is_dry || is(Verdict::Kept) => Done::Well,
            () if self.look.count() == 0 && self.look.others.is_empty() => Done::Well,
            () if is(Verdict::CannotTell) => Done::Unknown,
            () => Done::Found,
        }
    }
}

pub(super) fn cure(plan: &Plan) -> Result<Cured, Failure> {
    let mut hand = hand::open()?;
    let options = Options::default();
    let mut live = Live::open(Choice::Kernel, &options, None)
        .map_err(|lacking| Failure::Input(lacking.to_string()))?;
    let scope = Scope {
        targets: plan.targets.clone(),
        ..Scope::default()
    };
    let found = scope.find(&mut hand).map_err(walking)?;
    let meant = found
        .sockets
        .iter()
        .filter(|owned| !owned.socket.listens())
        .count();
    remark(&format!(
        "tinygram cure: looking for {:?} at {}",
        plan.look,
        counted(meant as u64, "connection")
    ));
    let look = look(&mut live, &plan.targets, plan.look, stop::is_asked);
    let mut cured = Cured {
        sockets: meant,
        remedies: Vec::new(),
        is_dry: plan.is_dry,
        expected: Vec::new(),
        look,
    };
    // The other ends on this host may belong to anybody.
    let everything = Scope {
        all: true,
        targets: plan.targets.clone(),
        ..Scope::default()
    };
    let all = everything.find(&mut hand).map_err(walking)?;
    let sockets: Vec<Socket> = all.sockets.into_iter().map(|owned| owned.socket).collect();
    let mut remedies = candidates(&cured.look, &sockets);
    if let Some(setting) = &plan.instead {
        remedies.truncate(1);
        for remedy in &mut remedies {
            remedy.setting = setting.clone();
        }
    }
    if plan.is_dry {
        cured.expected = expected::of(plan, &mut hand, &scope, &remedies)?;
    }
    if plan.is_dry || stop::is_asked() || remedies.is_empty() {
        cured.remedies = remedies.into_iter().map(|remedy| (remedy, None)).collect();
        return Ok(cured);
    }
    let mut meter = Meter::open().map_err(|lacking| hand::refused(&lacking))?;
    let mut bench = Bench {
        hand: &mut hand,
        live: &mut live,
        meter: &mut meter,
        scope: &scope,
        journal: plan.journal.clone(),
        command: plan.command.clone(),
        is_temporary: plan.watch.is_some(),
        is_stopped: stop::is_asked,
    };
    let length = period(&cured.look);
    let mut is_over = false;
    for remedy in remedies {
        let tried = match is_over {
            true => None,
            false => {
                remark(&format!(
                    "tinygram cure: trying {} in {} to {} periods of {length:?}",
                    remedy.setting,
                    2 * proof::LOOKS[0],
                    2 * proof::LOOKS[proof::LOOKS.len() - 1]
                ));
                Some(
                    trial::run(&mut bench, &remedy, length, plan.demand, plan.seed)
                        .map_err(|error| failed(&error))?,
                )
            }
        };
        is_over |= tried
            .as_ref()
            .is_some_and(|tried| tried.verdict == Verdict::Kept || tried.was_stopped);
        cured.remedies.push((remedy, tried));
    }
    Ok(cured)
}

/// Gives what was kept to connections to come for `length`, and puts everything back.
#[expect(clippy::disallowed_methods, reason = "what is waited for is real time")]
pub(super) fn watch_over(plan: &Plan, cured: &Cured, length: Duration) -> Result<(), Failure> {
    let kept = cured.remedies.iter().find_map(|(remedy, tried)| {
        let tried = tried.as_ref()?;
        (tried.verdict == Verdict::Kept).then_some((remedy, tried))
    });
    let Some((remedy, tried)) = kept else {
        stop::wait(length);
        return Ok(());
    };
    let mut hand = hand::open()?;
    let mut ids = tried.kept.clone();
    let mut followers = Vec::new();
    let begun = followers_of(plan, remedy, &mut hand, &mut followers);
    let followed = begun.and_then(|()| {
        // Those that were opened since the trial.
        ids.extend(sweep(plan, remedy, &mut hand)?);
        remark(&format!(
            "tinygram cure: {} for connections to come, too, for {length:?} or until Ctrl-C",
            remedy.setting
        ));
        let begun = Instant::now();
        while !stop::is_asked() && begun.elapsed() < length {
            for follower in &mut followers {
                let stepped = follower.step(&mut hand, BREATH);
                stepped.map_err(|error| failed(&error))?;
            }
        }
        Ok(())
    });
    // Put back also if it went wrong.
    let mut came = 0;
    for follower in followers {
        ids.extend(follower.ids());
        came += follower.close().map_or(0, |what| what.opened);
    }
    let mut journal = open(plan)?;
    let mut undone = 0;
    for id in ids.iter().rev() {
        let back = apply::undo(&mut hand, &mut journal, *id).map_err(|error| failed(&error))?;
        undone += back.back;
    }
    remark(&format!(
        "tinygram cure: {} came, {} put back",
        counted(came as u64, "connection"),
        counted(undone as u64, "socket")
    ));
    followed
}

/// Follows the services that have the remedy, each by itself.
fn followers_of(
    plan: &Plan,
    remedy: &Remedy,
    hand: &mut Hand,
    followers: &mut Vec<Follower>,
) -> Result<(), Failure> {
    let scope = Scope {
        targets: plan.targets.clone(),
        ..Scope::default()
    };
    let found = scope.find(hand).map_err(walking)?;
    for service in &remedy.sockets {
        let rules = match service.end {
            End::Server(port) => Rules::from_port(service.netns, port),
            End::Client(server) => Rules::of(&scope, &found).to(server),
        };
        let paused = open(plan)?.pause().map_err(|error| failed(&error.into()))?;
        let setting = slice::from_ref(&remedy.setting);
        let follower = Follower::open(&rules, setting, paused, &plan.command);
        followers.push(follower.map_err(|lacking| hand::refused(&lacking))?);
    }
    Ok(())
}

/// Gives a remedy to the sockets that are meant and do not have it, and returns the changes' numbers.
fn sweep(plan: &Plan, remedy: &Remedy, hand: &mut Hand) -> Result<Vec<u64>, Failure> {
    let scope = Scope {
        targets: plan.targets.clone(),
        ..Scope::default()
    };
    let mut found = scope.find(hand).map_err(walking)?;
    found.sockets.retain(|owned| {
        let socket = &owned.socket;
        remedy.is_for(socket) && socket.values[&remedy.setting.option] != remedy.setting.value
    });
    let why = Why {
        command: &plan.command,
        is_temporary: true,
    };
    let applied = apply::set(hand, &mut open(plan)?, &found, &remedy.setting, why);
    Ok(applied.map_err(|error| failed(&error))?.ids)
}

fn open(plan: &Plan) -> Result<Journal, Failure> {
    Journal::open(&plan.journal).map_err(|error| failed(&error.into()))
}

fn period(look: &Look) -> Duration {
    proof::period(look.count() as f64 / look.lasted.as_secs_f64().max(0.001))
}

fn failed(error: &ApplyError) -> Failure {
    Failure::Input(format!(
        "{error}; what was set is put back, or can be with tinygram set --undo"
    ))
}

const BREATH: Duration = Duration::from_millis(20);
