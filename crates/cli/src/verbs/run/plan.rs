//! What `run` is to do.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tinygram_coalesce::{Policy, Rules};
use tinygram_preload::settings::{MAX_ONLY, Settings};

use super::Args;
use super::graft::How;
use super::reach::{self, Reachable, Unreachable};
use super::start::{ALTERNATIVES, Start, Statistics};

pub(super) enum Plan {
    /// Puts another policy in force in a process that was started under `run`.
    Switch { pid: u32, policy: Policy },
    /// Puts the rule into a Go or static process that runs already.
    Attach {
        pid: u32,
        how: How,
        journal: PathBuf,
    },
    /// Puts back what was in a process before.
    Detach { pid: u32, journal: PathBuf },
    /// Runs a program in a control group whose sockets get TCP_NODELAY.
    InGroup(Vec<OsString>),
    /// Runs a program with the library in it.
    Load {
        start: Start,
        reached: Reachable,
        folder: Option<PathBuf>,
    },
    /// Runs a Go or static program with the rule put into it.
    Graft { start: Start, how: How },
}

impl Plan {
    pub(super) fn of(args: &Args) -> Result<Self, String> {
        let journal = || args.journal.folder.clone();
        if let Some(pid) = args.switch {
            return switch(pid, args.policy);
        }
        if let Some(pid) = args.attach {
            return Ok(Self::Attach {
                pid,
                how: how(args, &settings(args)?, false)?,
                journal: journal(),
            });
        }
        if let Some(pid) = args.detach {
            let journal = journal();
            return Ok(Self::Detach { pid, journal });
        }
        let name = args.program.first().expect("clap requires a program");
        let file = reach::locate(name)
            .ok_or_else(|| format!("there is no program {} that can be run", name.display()))?;
        match args.cgroup {
            true => Ok(Self::InGroup(args.program.clone())),
            false => run(args, &file),
        }
    }
}

fn switch(pid: u32, policy: Policy) -> Result<Plan, String> {
    match policy {
        Policy::FlushOnBlock | Policy::Nodelay => Ok(Plan::Switch { pid, policy }),
        _ => Err(format!(
            "--switch puts flush-on-block or nodelay in force, not {}: sockets that are set, or corked, are not set back",
            policy.name()
        )),
    }
}

/// Decides how the rule gets into a program.
fn run(args: &Args, file: &Path) -> Result<Plan, String> {
    let start = |file| -> Result<Start, String> {
        Ok(Start {
            words: args.program.clone(),
            file,
            settings: settings(args)?,
            statistics: args.stats.map(|format| Statistics {
                format,
                to: args.stats_to.clone(),
            }),
        })
    };
    match reach::reachable(file) {
        Ok(_) if args.verify || args.tries => Err(format!(
            "--verify and --try are for Go and static programs, whose calls are looked at by ptrace; {} is covered by \
             the library, which has no such places",
            file.display()
        )),
        Ok(reached) => Ok(Plan::Load {
            start: start(file.to_owned())?,
            reached,
            folder: args.preload_dir.clone(),
        }),
        Err((file, Unreachable::Go | Unreachable::Static)) => {
            let start = start(file)?;
            Ok(Plan::Graft {
                how: how(args, &start.settings, args.stats.is_some())?,
                start,
            })
        }
        Err((file, reason)) => Err(format!("{} {reason}; {ALTERNATIVES}", file.display())),
    }
}

/// Returns how a Go or static program is covered; `apart` says whether remote addresses are counted apart.
fn how(args: &Args, settings: &Settings<'_>, apart: bool) -> Result<How, String> {
    How::of(settings, apart, args.verify, args.tries)
}

fn settings(args: &Args) -> Result<Settings<'static>, String> {
    let mut only = [None; MAX_ONLY];
    if args.only.len() > only.len() {
        return Err(format!("--only is accepted up to {MAX_ONLY} times"));
    }
    for (slot, filter) in only.iter_mut().zip(&args.only) {
        *slot = Some(*filter);
    }
    let rules = Rules {
        policy: args.policy,
        hold_below: args.hold_below as usize,
        watchdog_ns: args.watchdog.as_nanos() as u64,
        eager: args.eager,
    };
    Ok(Settings {
        rules,
        only,
        stats: None,
    })
}
