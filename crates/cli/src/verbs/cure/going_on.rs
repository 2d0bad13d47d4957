//! Goes on with what was kept: gives it to connections to come, and puts everything back in the end.

use std::slice;
use std::time::{Duration, Instant};

use tinygram_host::hand::Hand;
use tinygram_remedy::apply::{self, Why};
use tinygram_remedy::follow::{Follower, rules_of};
use tinygram_remedy::proof::ProofVerdict;
use tinygram_remedy::remedy::{Means, Remedy};

use super::done::{Cured, failed, open};
use super::plan::Plan;
use crate::hand::{self, walking};
use crate::outcome::Failure;
use crate::stop;
use crate::terminal::remark;
use tinygram_report::units::counted;

/// Gives what was kept to connections to come for `length`, and puts everything back.
#[expect(clippy::disallowed_methods, reason = "what is waited for is real time")]
pub(super) fn watch_over(
    plan: &Plan,
    cured: &Cured,
    hand: &mut Hand,
    length: Duration,
) -> Result<(), Failure> {
    let kept = cured.remedies.iter().find_map(|(remedy, tried)| {
        let tried = tried.as_ref()?;
        (tried.verdict == ProofVerdict::Kept).then_some((remedy, tried))
    });
    let Some((remedy, tried)) = kept else {
        remark(&format!(
            "tinygram cure: nothing is kept; looks anew in {length:?}, until Ctrl-C"
        ));
        stop::wait(length);
        return Ok(());
    };
    let mut ids = tried.kept.clone();
    say_when(plan, &ids, length)?;
    let mut followers = Vec::new();
    let begun = followers_of(plan, remedy, hand, length, &mut followers);
    let count = followers.len();
    for follower in &mut followers {
        follower.share_with(count);
    }
    let followed = begun.and_then(|()| {
        // Those that were opened since the trial.
        let swept = sweep(plan, remedy, hand)?;
        ids.extend(&swept);
        say_when(plan, &swept, length)?;
        remark(&format!(
            "tinygram cure: {} for connections to come, too, for {length:?} or until Ctrl-C",
            remedy.means
        ));
        let begun = Instant::now();
        while !stop::is_asked() && begun.elapsed() < length {
            if followers.is_empty() {
                stop::wait(BREATH);
            }
            for follower in &mut followers {
                let stepped = follower.step(hand, BREATH / u32::try_from(count).unwrap_or(1));
                stepped.map_err(|error| failed(&error))?;
            }
        }
        Ok(())
    });
    // Put back also if it went wrong.
    let mut came = 0;
    for follower in followers {
        ids.extend(follower.ids());
        came += follower.close(hand).map_or(0, |what| what.opened);
    }
    let mut journal = open(plan)?;
    let mut undone = 0;
    for id in ids.iter().rev() {
        let back = apply::undo(hand, &mut journal, *id).map_err(|error| failed(&error))?;
        undone += back.back;
    }
    remark(&format!(
        "tinygram cure: {} came, {} put back",
        counted(came as u64, "connection"),
        counted(undone as u64, "socket")
    ));
    followed
}

/// Follows the services that have the remedy.
fn followers_of(
    plan: &Plan,
    remedy: &Remedy,
    hand: &mut Hand,
    length: Duration,
    followers: &mut Vec<Follower>,
) -> Result<(), Failure> {
    let setting = match &remedy.means {
        Means::Socket(setting) if !remedy.takes_descriptors() => setting,
        // A knob holds for connections to come; a descriptor's option cannot be given to them.
        _ => return Ok(()),
    };
    let scope = plan.scope();
    let found = scope.find(hand).map_err(walking)?;
    for rules in rules_of(&remedy.sockets, &scope, &found) {
        let paused = open(plan)?.pause().map_err(|error| failed(&error.into()))?;
        let setting = slice::from_ref(setting);
        let until = (plan.command.as_str(), Some(length));
        let follower = Follower::open(&rules, setting, paused, until);
        followers.push(follower.map_err(|lacking| hand::refused(&lacking))?);
    }
    Ok(())
}

/// Gives a remedy to the sockets that are meant and do not have it, and returns the changes' numbers.
fn sweep(plan: &Plan, remedy: &Remedy, hand: &mut Hand) -> Result<Vec<u64>, Failure> {
    let Means::Socket(setting) = &remedy.means else {
        return Ok(Vec::new());
    };
    let scope = plan.scope();
    let mut found = scope.find(hand).map_err(walking)?;
    found.sockets.retain(|owned| {
        let socket = &owned.socket;
        remedy.is_for(socket) && socket.values[setting.option] != setting.value
    });
    let why = Why {
        command: &plan.command,
        is_temporary: true,
    };
    let applied = apply::set(hand, &mut open(plan)?, &found, setting, why);
    Ok(applied.map_err(|error| failed(&error))?.ids)
}

/// Writes down when these changes are put back.
fn say_when(plan: &Plan, ids: &[u64], length: Duration) -> Result<(), Failure> {
    let mut journal = open(plan)?;
    for id in ids {
        let said = journal.ends_after(*id, length);
        said.map_err(|error| failed(&error.into()))?;
    }
    Ok(())
}

/// What is reported ends the wait at once, but for other followers' reports.
const BREATH: Duration = Duration::from_millis(100);
