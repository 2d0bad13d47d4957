//! What is done: a program is run, or the policy of one that runs is switched.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use tinygram_coalesce::Policy;
use tinygram_preload::page::Page;
use tinygram_preload::settings::VARIABLE;

use super::reach::Reachable;
use super::show::Show;
use super::start::Start;
use super::{Counted, Tracing, cgroup, library, witness};
use crate::covered::Covered;
use crate::outcome::{Done, Failure};
use crate::supervise;
use crate::verbs::print;

/// Becomes the program, with the library in it.
pub(super) fn load(
    start: &Start,
    reached: &Reachable,
    folder: Option<&Path>,
) -> Result<Done, Failure> {
    let library = library::find(reached.c_library, folder)?;
    library::verify(&start.file, reached, &library)?;
    let trace = match start.settings.rules.policy {
        Policy::Observe => Tracing::On,
        _ => Tracing::Off,
    };
    let counted = start.statistics.as_ref().map(|_| Counted::create(trace));
    let counted = counted.transpose()?;
    let mut settings = start.settings;
    settings.stats = counted.as_ref().and_then(|counted| counted.path().to_str());
    let mut command = command(&start.words);
    command
        .env("LD_PRELOAD", library::preload_list(&library))
        .env(VARIABLE, settings.encode());
    let page = counted
        .map(|counted| witnessed(start, counted))
        .transpose()?;
    // No process stands between the program and its signals, its terminal and its parent.
    let error = command.exec();
    if let Some(page) = page {
        witness::dismiss(page);
    }
    Err(cannot_run(&command, error))
}

/// Starts a witness that shows the statistics when the program has ended.
fn witnessed(start: &Start, counted: Counted) -> Result<&'static Page, Failure> {
    let shows = Show::open(start)?;
    let counted: &'static Counted = Box::leak(Box::new(counted));
    let page = counted.page();
    let show = |end| {
        let counts = counted.read();
        counted.remove();
        if let (Some(end), Some(shows)) = (end, shows) {
            shows.show(&counts, end);
        }
    };
    witness::stand_by(page, || counted.look(), show)?;
    Ok(page)
}

/// Runs a program in a control group of its own, whose sockets get TCP_NODELAY.
pub(super) fn in_control_group(words: &[OsString]) -> Result<Done, Failure> {
    let mut command = command(words);
    let group = cgroup::Nodelay::attach()?;
    let members = OpenOptions::new()
        .write(true)
        .open(group.members())
        .map_err(|error| Failure::Io {
            doing: "joining the control group".into(),
            error,
        })?;
    // SAFETY: one write to an open file, between fork and exec.
    unsafe { command.pre_exec(move || (&members).write_all(b"0")) };
    let status = supervise::stand_by()?.start(command)?.wait()?;
    drop(group);
    supervise::end_like(status)
}

/// Switches the policy of a running process.
pub(super) fn switch(pid: u32, policy: Policy) -> Result<Done, Failure> {
    let looking = |error: std::io::Error| {
        Failure::Input(match error.kind() {
            std::io::ErrorKind::NotFound => format!("there is no process {pid}"),
            std::io::ErrorKind::PermissionDenied => format!(
                "process {pid} may not be looked into: it takes its user, and root or CAP_SYS_PTRACE where \
                 kernel.yama.ptrace_scope is not 0"
            ),
            _ => format!("process {pid}: {error}"),
        })
    };
    let uncovered = || {
        Failure::Input(format!(
            "process {pid} is not covered: it was not started under tinygram run of this version"
        ))
    };
    let covered = Covered::find(pid).map_err(looking)?.ok_or_else(uncovered)?;
    let before = covered.state().map_err(looking)?.ok_or_else(uncovered)?;
    if before.policy == Policy::CorkUntilBlock.name() {
        return Err(Failure::Input(format!(
            "process {pid} runs under cork-until-block, whose corks are not taken out by a switch"
        )));
    }
    covered.switch(policy).map_err(looking)?;
    print(
        format!(
            "process {pid}: {} -> {} ({} writes held so far, {} merged, {} rescued)\n",
            before.policy,
            policy.name(),
            before.writes_held,
            before.writes_merged,
            before.watchdog_rescues
        )
        .as_bytes(),
    )?;
    Ok(Done::Well)
}

/// Returns the command of a program with its arguments.
pub(super) fn command(words: &[OsString]) -> Command {
    let (name, arguments) = words.split_first().expect("the plan has a program");
    let mut command = Command::new(name);
    command.args(arguments);
    command
}

fn cannot_run(command: &Command, error: std::io::Error) -> Failure {
    Failure::Io {
        doing: format!("running {}", command.get_program().display()),
        error,
    }
}
