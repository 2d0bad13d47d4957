//! `--attach` and `--detach`: the rule in a program that runs already.

use std::fs;
use std::path::Path;

use tinygram_graft::attach::{self, Attachment};
use tinygram_graft::detach;
use tinygram_graft::journal::{self, Journal, Record};
use tinygram_graft::object::Object;
use tinygram_graft::plant::Failed;

use super::How;
use super::verified;
use crate::covered::Covered;
use crate::outcome::{Done, Failure};
use crate::verbs::print;
use crate::verbs::run::start::ALTERNATIVES;

/// Puts the rule into a running process.
pub(in crate::verbs::run) fn attach(pid: u32, how: &How, journal: &Path) -> Result<Done, Failure> {
    let exe = format!("/proc/{pid}/exe");
    let bytes = fs::read(&exe).map_err(|error| looking(pid, &error))?;
    let program = how.read(&bytes).map_err(|why| {
        Failure::Input(format!(
            "process {pid} ({}) {why}; {ALTERNATIVES}",
            fs::read_link(&exe).unwrap_or_default().display()
        ))
    })?;
    let object = Object::carried().ok_or_else(|| {
        Failure::Input("--attach needs an x86-64 build of this command".to_owned())
    })?;
    let build = journal::build_of(&bytes);
    let journal = open(pid, journal)?;
    put_back_what_nobody_keeps(pid, build, &journal)?;
    let what = Attachment {
        program: &program,
        build,
        object: &object,
        settings: &how.settings,
        is_verified: how.verify,
    };
    let attached = attach::attach(pid, what, &journal).map_err(|error| failed(pid, error))?;
    if let Some(verified) = &attached.verified {
        print(verified::told(verified, pid).as_bytes())?;
    }
    print(
        format!(
            "process {pid}: {} (its threads stood still for {:.1} ms); tinygram run --detach {pid} puts back what was \
             there\n",
            how.settings.rules.policy.name(),
            attached.stood_still.as_secs_f64() * 1e3,
        )
        .as_bytes(),
    )?;
    Ok(Done::Well)
}

/// Puts back what was in a process before.
pub(in crate::verbs::run) fn detach(pid: u32, journal: &Path) -> Result<Done, Failure> {
    let bytes = fs::read(format!("/proc/{pid}/exe")).map_err(|error| looking(pid, &error))?;
    let journal = open(pid, journal)?;
    let record = journal
        .read(pid)
        .map_err(|error| failed(pid, error.into()))?;
    let Some(record) = record else {
        return Err(Failure::Input(format!(
            "process {pid}: nothing was put into it by tinygram run --attach; a program that was started under \
             tinygram run is switched off by tinygram run --switch {pid} --policy nodelay"
        )));
    };
    let before = state(pid);
    let detached = detach::detach(&record, journal::build_of(&bytes), &journal)
        .map_err(|error| failed(pid, error))?;
    let counts = before.map_or_else(String::new, |state| {
        format!(
            " ({} writes held, {} merged, {} rescued)",
            state.writes_held, state.writes_merged, state.watchdog_rescues
        )
    });
    print(
        format!(
            "process {pid}: as it was{counts}; its threads stood still for {:.1} ms{}\n",
            detached.stood_still.as_secs_f64() * 1e3,
            if detached.is_unmapped {
                ""
            } else {
                "; the code stays in its memory, unused, as a thread of its stands in it"
            },
        )
        .as_bytes(),
    )?;
    Ok(Done::Well)
}

/// Takes out what a keeper that was killed has left in a process, and refuses one that is covered.
fn put_back_what_nobody_keeps(pid: u32, build: u32, journal: &Journal) -> Result<(), Failure> {
    let record = journal
        .read(pid)
        .map_err(|error| failed(pid, error.into()))?;
    // The code may not have noticed yet that its keeper was killed.
    let is_kept = record.as_ref().is_none_or(Record::is_kept);
    if is_kept && state(pid).is_some() {
        return Err(Failure::Input(format!(
            "process {pid} is covered already; tinygram run --switch changes its policy"
        )));
    }
    if let Some(record) = record {
        detach::detach(&record, build, journal).map_err(|error| failed(pid, error))?;
    }
    Ok(())
}

fn state(pid: u32) -> Option<crate::covered::State> {
    Covered::find(pid).ok()??.state().ok()?
}

fn open(pid: u32, folder: &Path) -> Result<Journal, Failure> {
    Journal::open(folder).map_err(|error| failed(pid, error.into()))
}

fn looking(pid: u32, error: &std::io::Error) -> Failure {
    Failure::Input(match error.kind() {
        std::io::ErrorKind::NotFound => format!("there is no process {pid} that runs a program"),
        std::io::ErrorKind::PermissionDenied => refused(pid),
        _ => format!("process {pid}: {error}"),
    })
}

fn refused(pid: u32) -> String {
    format!(
        "process {pid} may not be traced: it takes root or CAP_SYS_PTRACE (kernel.yama.ptrace_scope 3 denies it \
         to everybody, and so does a container without that capability)"
    )
}

fn failed(pid: u32, error: Failed) -> Failure {
    Failure::Input(match error {
        Failed::Kernel { error, .. } if error.kind() == std::io::ErrorKind::PermissionDenied => {
            refused(pid)
        }
        other => format!("process {pid} was left as it is: {other}"),
    })
}
