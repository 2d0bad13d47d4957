//! `tinygram guard -- COMMAND`: fails if TCP held data of one of the command's connections while
//! its process waited for the peer.
//!
//! No time limit is used. A hold counts if the thread that wrote went to sleep during it, and the
//! program's next action on the connection was to read what the peer sent after it.
//!
//! Typed ([`args`]) -> meant ([`plan`]) -> done ([`done`]: [`kernel`] or [`preload`]) -> shown ([`show`], [`reports`]); the
//! exit code is the [`verdict`]'s.

mod accepted;
mod args;
mod done;
mod kernel;
mod looked;
mod plan;
mod preload;
mod reports;
mod repository;
mod show;
mod verdict;

use self::accepted::Accepted;
pub(crate) use self::args::Args;
use self::plan::Plan;
use self::show::Show;
use self::verdict::Verdict;
use crate::outcome::{Done, Failure};

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    match Plan::of(args).map_err(Failure::Input)? {
        Plan::Replay { file, accept } => {
            let replayed = done::replay(&file)?;
            show::replayed(&file, &replayed)?;
            Ok(verdict::on(&Accepted::of(accept, &replayed.stalls)))
        }
        Plan::Guard(guard) => {
            // Opened before the command runs.
            let show = Show::open(&guard)?;
            let looked = done::look(&guard)?;
            let verdict = Verdict::of(&guard, &looked);
            let shown = show.show(&looked, &verdict);
            verdict.end(looked.status, shown)
        }
    }
}
