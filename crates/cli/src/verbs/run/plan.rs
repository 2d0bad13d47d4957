//! What `run` is to do.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tinygram_coalesce::{Policy, Rules};
use tinygram_graft::program::{self, Program};
use tinygram_graft::shared;
use tinygram_preload::settings::{MAX_ONLY, Settings};

use super::reach::{self, Reachable, Unreachable};
use super::{Args, Format};

pub(super) enum Plan {
    /// Puts another policy in force in a process that was started under `run`.
    Switch { pid: u32, policy: Policy },
    /// Puts the rule into a Go or static process that runs already.
    Attach {
        pid: u32,
        rule: Rule,
        settings: shared::Settings,
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
    Graft {
        start: Start,
        rule: Rule,
        settings: shared::Settings,
    },
}

/// A program that is to be run.
pub(super) struct Start {
    /// The program as typed, with its arguments.
    pub(super) words: Vec<OsString>,
    /// Its file, or that of the interpreter of a script.
    pub(super) file: PathBuf,
    pub(super) settings: Settings<'static>,
    pub(super) statistics: Option<Statistics>,
}

/// How what was done is shown, and where, if not on standard error.
pub(super) struct Statistics {
    pub(super) format: Format,
    pub(super) to: Option<PathBuf>,
}

/// How the rule is put into a Go or static program.
pub(super) struct Rule {
    /// Whether its calls are looked at first.
    pub(super) verify: bool,
    /// Whether a version of Go that was not tried will do.
    tries: bool,
}

/// The alternatives for a program that cannot be reached.
pub(super) const ALTERNATIVES: &str = "instead, tinygram run --cgroup sets TCP_NODELAY for it in the kernel, or on the machine \
     that receives: ip route change ... quickack 1";

impl Plan {
    pub(super) fn of(args: &Args) -> Result<Self, String> {
        let journal = || args.journal.folder.clone();
        if let Some(pid) = args.switch {
            return switch(pid, args.policy);
        }
        if let Some(pid) = args.attach {
            return Ok(Self::Attach {
                pid,
                rule: Rule::of(args),
                settings: grafted(&settings(args)?, false)?,
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
                rule: Rule::of(args),
                settings: grafted(&start.settings, args.stats.is_some())?,
                start,
            })
        }
        Err((file, reason)) => Err(format!("{} {reason}; {ALTERNATIVES}", file.display())),
    }
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

/// Returns the same for a Go or static program; `apart` says whether remote addresses are counted apart.
fn grafted(settings: &Settings<'_>, apart: bool) -> Result<shared::Settings, String> {
    if settings.rules.policy == Policy::CorkUntilBlock {
        return Err(
            "cork-until-block is for programs that a library can be loaded into; accepted for a Go or \
             static program: flush-on-block, nodelay, observe"
                .into(),
        );
    }
    Ok(shared::Settings {
        rules: settings.rules,
        only: settings.only.iter().flatten().copied().collect(),
        apart,
    })
}

impl Rule {
    fn of(args: &Args) -> Self {
        Self {
            verify: args.verify,
            tries: args.tries,
        }
    }

    /// Reads a program's file; one whose version of Go was not tried is refused, unless that is asked for.
    pub(super) fn read(&self, bytes: &[u8]) -> Result<Program, program::Refused> {
        let program = program::read(bytes)?;
        match self.tries {
            true => Ok(program),
            false => program.tried(),
        }
    }
}
