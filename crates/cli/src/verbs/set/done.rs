//! Finds the sockets, changes them, and puts them back.

use std::time::{Duration, Instant};

use tinygram_host::follow::Rules;
use tinygram_host::hand::Hand;
use tinygram_host::scope::Found;
use tinygram_remedy::apply::{self, ApplyError, Undone, Why};
use tinygram_remedy::follow::Follower;
use tinygram_remedy::journal::{self, Journal, JournalError};

use super::Args;
use super::changes::Changes;
use super::knobs::{self, Turn};
use super::plan::Set;
use super::{back, show};
use crate::hand::{self, walking};
use crate::outcome::{Done, Failure};
use crate::stop;
use crate::terminal::{print_text, remark};
use crate::verbs::run;

pub(super) fn set(plan: &Set, args: &Args) -> Result<Done, Failure> {
    let mut hand = hand::open()?;
    let mut found = plan.scope.find(&mut hand).map_err(walking)?;
    let rules = plan.follows.then(|| Rules::of(&plan.scope, &found));
    found.sockets.retain(|owned| !owned.socket.listens());
    let turns = knobs::turns(&mut hand, plan, &found)?;
    let follows_none = rules.as_ref().is_none_or(|rules| rules.all.is_empty());
    if found.sockets.is_empty() && turns.is_empty() && follows_none {
        remark(&format!("tinygram set: {}", show::nothing(plan, &found)));
        return Ok(Done::Found);
    }
    if plan.is_dry {
        print_text(&show::would(
            plan,
            &found,
            rules.as_ref(),
            &turns,
            args.json,
        ))?;
        return Ok(Done::Well);
    }
    if plan.is_temporary() {
        // From here on Ctrl-C puts back what was set.
        stop::listen()?;
        hand::give_way(&mut hand, "set");
    }
    // Begun before the sweep, so that no connection comes between.
    let follower = rules
        .as_ref()
        .map(|rules| follower(plan, rules, args))
        .transpose()?;
    let changes = apply(&mut hand, plan, &found, turns, args)?;
    let shown = print_text(&show::did(
        plan,
        &found,
        rules.as_ref(),
        &changes,
        args.json,
    ));
    let mut ids = changes.ids();
    if let Some(mut follower) = follower {
        let followed = follow(&mut hand, &mut follower, plan.lasting);
        ids.extend(follower.ids());
        let what = follower.close(&mut hand).map_err(failed);
        put_back(&mut hand, &ids, args)?;
        followed?;
        remark(&format!("tinygram set: {}", show::followed(&what?)));
    } else if let Some(length) = plan.lasting {
        stop::wait(length);
        put_back(&mut hand, &ids, args)?;
    }
    shown?;
    Ok(match changes.is_whole() {
        true => Done::Well,
        false => Done::Partly,
    })
}

/// Makes the changes while this process has the journal.
fn apply(
    hand: &mut Hand,
    plan: &Set,
    found: &Found,
    turns: Vec<Turn>,
    args: &Args,
) -> Result<Changes, Failure> {
    let mut journal = open(args)?;
    remind(&journal);
    let why = Why {
        command: &plan.command,
        is_temporary: plan.is_temporary(),
    };
    let mut changes = Changes {
        applied: Vec::new(),
        turned: Vec::new(),
    };
    for setting in &plan.settings {
        let applied = apply::set(hand, &mut journal, found, setting, why);
        changes.applied.push(applied.map_err(failed)?);
    }
    for turn in turns {
        let route = turn.route.as_ref();
        let turned = apply::knobs::set(&mut journal, &turn.namespace, turn.setting, route, why);
        changes.turned.push((turn, turned.map_err(failed)?));
    }
    if let Some(length) = plan.lasting {
        for id in changes.ids() {
            let said = journal.ends_after(id, length);
            said.map_err(|error| failed(error.into()))?;
        }
    }
    Ok(changes)
}

fn follower(plan: &Set, rules: &Rules, args: &Args) -> Result<Follower, Failure> {
    let paused = open(args)?
        .pause()
        .map_err(|error| journal_failed(&error))?;
    let until = (plan.command.as_str(), plan.lasting);
    Follower::open(rules, &plan.settings, paused, until).map_err(|lacking| hand::refused(&lacking))
}

/// Gives connections to come the settings until it is over.
#[expect(clippy::disallowed_methods, reason = "what is waited for is real time")]
fn follow(
    hand: &mut Hand,
    follower: &mut Follower,
    lasting: Option<Duration>,
) -> Result<(), Failure> {
    let begun = Instant::now();
    while !stop::is_asked() && lasting.is_none_or(|length| begun.elapsed() < length) {
        follower.step(hand, BREATH).map_err(failed)?;
    }
    Ok(())
}

pub(super) fn undo(number: Option<u64>, args: &Args) -> Result<Done, Failure> {
    let journal = find(args).map_err(Failure::Input)?;
    let in_force = || journal.iter().flat_map(Journal::in_force);
    let ids: Vec<u64> = match number {
        Some(number) => {
            if !in_force().any(|(id, _)| id == number) {
                return Err(Failure::Input(format!(
                    "--undo {number}: no change with that number is in force; tinygram set --list shows those that are"
                )));
            }
            vec![number]
        }
        None => {
            let unattended =
                in_force().filter(|(_, entry)| !(entry.about.is_temporary && entry.is_attended()));
            unattended.map(|(id, _)| id).collect()
        }
    };
    drop(journal);
    let groups = match number {
        None if args.journal.folder == journal::folder() => run::remove_abandoned(),
        _ => Vec::new(),
    };
    for group in &groups {
        remark(&format!(
            "tinygram set: removed {}, which a killed run --cgroup left",
            group.display()
        ));
    }
    if ids.is_empty() && !groups.is_empty() {
        return Ok(Done::Well);
    }
    if ids.is_empty() {
        remark("tinygram set: nothing is in force that could be put back");
        return Ok(Done::Found);
    }
    let mut hand = hand::open()?;
    put_back(&mut hand, &ids, args)?;
    Ok(Done::Well)
}

/// Undoes changes, the latest first.
fn put_back(hand: &mut Hand, ids: &[u64], args: &Args) -> Result<(), Failure> {
    let mut journal = open(args)?;
    let mut all: Vec<(u64, Undone)> = Vec::new();
    for id in ids.iter().rev() {
        all.push((*id, apply::undo(hand, &mut journal, *id).map_err(failed)?));
    }
    drop(journal);
    print_text(&back::undone(&all, hand.gives_way(), args.json))?;
    Ok(())
}

pub(super) fn list(args: &Args) -> Result<Done, Failure> {
    let journal = find(args).map_err(Failure::Blind)?;
    let groups = match args.journal.folder == journal::folder() {
        true => run::abandoned(),
        false => Vec::new(),
    };
    print_text(&back::listed(journal.as_ref(), &groups, args.json))?;
    Ok(Done::Well)
}

/// Returns the journal, and makes it if there is none.
fn open(args: &Args) -> Result<Journal, Failure> {
    let journal = Journal::open(&args.journal.folder).map_err(|error| journal_failed(&error))?;
    tell_damage(&journal);
    Ok(journal)
}

/// Returns the journal if there is one: who only asks leaves nothing behind.
///
/// # Errors
///
/// Says in one line why it cannot be told what is in force.
fn find(args: &Args) -> Result<Option<Journal>, String> {
    let folder = &args.journal.folder;
    let journal = Journal::find(folder).map_err(|error| match error.is_of_privilege() {
        true => format!(
            "cannot tell what is in force: the journal in {} is not for this user; it takes root (sudo)",
            folder.display()
        ),
        false => format!("{error}; nothing was changed"),
    })?;
    if journal.is_none() && *folder == journal::folder() && journal::may_be_elsewhere() {
        return Err(format!(
            "cannot tell what is in force: there is no journal in {}, and whether this host has it below another root takes \
             root (sudo) to tell",
            folder.display()
        ));
    }
    journal.iter().for_each(tell_damage);
    Ok(journal)
}

fn tell_damage(journal: &Journal) {
    for line in journal.damage() {
        remark(&format!("tinygram set: {line}"));
    }
}

/// Says what was left by a process that was to put it back and has ended.
fn remind(journal: &Journal) {
    for (id, entry) in journal.in_force() {
        if entry.about.is_temporary && !entry.is_attended() {
            remark(&format!(
                "tinygram set: change {id} ({}={}) is still in force, and process {}, which was to put it back, has ended: \
                 tinygram set --undo {id}",
                entry.about.option,
                entry.about.option.show(&entry.about.to),
                entry.about.who.pid
            ));
        }
    }
}

fn failed(error: ApplyError) -> Failure {
    match error {
        ApplyError::Walk(error) => walking(error),
        ApplyError::Journal(error) => journal_failed(&error),
        other => Failure::Input(other.to_string()),
    }
}

fn journal_failed(error: &JournalError) -> Failure {
    if error.is_of_privilege() {
        return Failure::Input(format!(
            "{error}: it takes root (sudo); nothing was changed"
        ));
    }
    Failure::Input(format!("{error}; nothing was changed"))
}

const BREATH: Duration = Duration::from_millis(50);
