//! What a run means: whether stalls were found, whether some may have been missed, and the exit code.

use std::process::ExitStatus;

use super::accepted::Accepted;
use super::looked::Looked;
use super::plan::Guard;
use crate::outcome::{Done, Failure};
use crate::supervise;
use tinygram_report::units::counted;

pub(super) struct Verdict {
    pub(super) accepted: Accepted,
    /// The reason why stalls may have been missed, if there is one.
    pub(super) cannot_tell: Option<String>,
}

impl Verdict {
    pub(super) fn of(guard: &Guard, looked: &Looked) -> Self {
        Self {
            accepted: Accepted::of(guard.accept.clone(), &looked.stalls),
            cannot_tell: cannot_tell(guard.min_connections, looked),
        }
    }

    /// Ends as the command did if it failed. Else stalls decide, then the report (`shown`) that could not be written, then
    /// whether stalls may have been missed.
    pub(super) fn end(
        self,
        command: ExitStatus,
        shown: Result<(), Failure>,
    ) -> Result<Done, Failure> {
        let found = on(&self.accepted);
        if let Err(failure) = &shown
            && (found == Done::Found || !command.success())
        {
            failure.say();
        }
        if !command.success() {
            supervise::end_like(command);
        }
        if found == Done::Found {
            return Ok(found);
        }
        shown?;
        match self.cannot_tell {
            Some(why) => Err(Failure::Blind(why)),
            None => Ok(found),
        }
    }
}

/// Returns whether there are stalls that are not accepted.
pub(super) fn on(accepted: &Accepted) -> Done {
    match accepted.refused() {
        0 => Done::Well,
        _ => Done::Found,
    }
}

fn cannot_tell(min_connections: u64, looked: &Looked) -> Option<String> {
    if let Some(why) = &looked.blind {
        return Some(format!("could not look at everything: {why}"));
    }
    let seen = looked.seen.connections;
    (seen < min_connections).then(|| {
        format!(
            "{} seen, and --min-connections wants {min_connections}: nothing is known of the others",
            counted(seen, "connection"),
        )
    })
}
