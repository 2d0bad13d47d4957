//! Without privileges: the library that `run` preloads asks each socket after its writes whether
//! the kernel holds them, and observes whether the program then waits for its peer.

use std::process::Command;

use tinygram_coalesce::{Policy, Rules};
use tinygram_preload::settings::{Settings, VARIABLE};
use tinygram_stalls::{Case, Kind, Roles};
use tinygram_watch::kernel::Lacking;
use tinygram_watch::site::CallSite;

use super::looked::{Looked, Stall};
use crate::outcome::Failure;
use crate::supervise;
use crate::verbs::run::{Awaited, Counted, Tracing, library, reach};

/// Runs the command to its end. `lacking` is the reason why the kernel is not asked; `None` if this
/// source was requested.
pub(super) fn look(command: &[String], lacking: Option<&Lacking>) -> Result<Looked, Failure> {
    let unless = lacking.map_or_else(String::new, |lacking| {
        format!("; not of the kernel: {lacking}")
    });
    let blind = |why: String| Failure::Blind(format!("could not look: {why}{unless}"));
    let file = reach::locate(command[0].as_ref()).ok_or_else(|| {
        Failure::Input(format!(
            "there is no program {} that can be run",
            command[0]
        ))
    })?;
    let reached = reach::reachable(&file)
        .map_err(|(file, reason)| blind(format!("{} {reason}", file.display())))?;
    let library = library::find(reached.c_library, None)?;
    library::verify(&file, &reached, &library)?;
    let counted = Counted::create(Tracing::On)?;
    let settings = Settings {
        rules: Rules {
            policy: Policy::Observe,
            ..Rules::default()
        },
        only: Default::default(),
        stats: counted.path().to_str(),
    };
    let mut program = Command::new(&command[0]);
    program
        .args(&command[1..])
        .env("LD_PRELOAD", library::preload_list(&library))
        .env(VARIABLE, settings.encode());
    let running = supervise::stand_by()?.start(program)?;
    counted.look();
    let status = running.wait()?;
    let counts = counted.read();
    counted.remove();

    let (seen, segments_unknown) = counts.seen();
    let awaited: Vec<_> = counts.awaited().collect();
    Ok(Looked {
        status,
        stalls: awaited
            .iter()
            .map(|one| stall(one, &counts.sites_of(one.process).collect::<Vec<_>>()))
            .collect(),
        apart: counts.unawaited(),
        prompt: counts.awaited_briefly(),
        slower: None,
        seen,
        segments_unknown,
        way: format!("asked of each socket after its writes (preloaded library){unless}"),
        blind: counts.uncovered(),
    })
}

/// Returns a row of the page as a stall; `sites` are the lines whose writes waited in its process.
fn stall(one: &Awaited, sites: &[&CallSite]) -> Stall {
    let each = one.ms / one.times.max(1) as f64;
    let by = sites.iter().take(SITES_SAID).map(ToString::to_string);
    let by = match by.collect::<Vec<_>>().join(" or ") {
        none if none.is_empty() => UNKNOWN_SITE.to_owned(),
        some => format!(", written by {some}"),
    };
    let places = sites
        .iter()
        .filter_map(|site| Some((site.file.clone()?, site.line?)));
    let places: Vec<_> = places.collect();
    let roles = Roles {
        accepted: Some(one.accepted),
        ..Roles::default()
    };
    let case = Case {
        loopback: one.loopback,
        ..Case::new(Kind::WriteWriteRead, roles.side())
    };
    Stall {
        said: format!(
            "{}[{}] {}: a write waited {each:.0} ms for an acknowledgment while the program waited for the answer{by}",
            one.name, one.process, one.ends
        ),
        times: one.times,
        cost_ns: (one.ms * 1e6) as i64,
        case,
        elsewhere: places.len() < sites.len(),
        places,
    }
}

/// Why no line is named.
const UNKNOWN_SITE: &str =
    "; its line is not known: the process had ended before it could be read, or shows no functions";
/// A process's other lines are left out.
const SITES_SAID: usize = 3;
