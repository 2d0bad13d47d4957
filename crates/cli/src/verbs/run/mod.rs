//! `tinygram run`: makes an unmodified program coalesce its small writes and flush when it waits.
//! book/src/mend/run.md describes what it does to a program, and what it costs.

mod attached;
mod c_library;
mod cgroup;
mod elsewhere;
mod grafted;
pub(crate) mod library;
pub(crate) mod reach;
mod sites;
mod stats;
mod witness;

use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tinygram_coalesce::{Policy, Rules};
use tinygram_preload::page::Page;
use tinygram_preload::settings::{MAX_ONLY, Only, Settings, VARIABLE};
use tinygram_report::Destination;

use crate::covered::Covered;
use crate::exit::{Done, Failure};
use crate::flags::JournalFolder;
use crate::supervise;
pub(crate) use cgroup::own_group;
use reach::Reachable;
pub(crate) use stats::{Awaited, Counted, Tracing};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to do with small writes
    #[arg(long, default_value = Policy::FlushOnBlock.name(), value_parser = policies())]
    policy: Policy,

    /// The longest a byte may be held while the program runs on without waiting (0.1ms to 100ms)
    #[arg(long, default_value = "1ms", value_name = "TIME", value_parser = parse_watchdog)]
    watchdog: Duration,

    /// Hold only writes shorter than this, in bytes (1 to 65536)
    #[arg(long, default_value_t = Rules::default().hold_below as u32, value_name = "BYTES",
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    hold_below: u32,

    /// Hold from the first write on, even if answers are rare: the fewest segments, for up to 50 us of
    /// CPU for each answer that comes alone
    #[arg(long)]
    eager: bool,

    /// Touch only connections of this service port or to this network; may be given up to 8 times
    #[arg(long, value_name = "PORT|CIDR", value_parser = parse_only)]
    only: Vec<Only>,

    /// When the program ends, show per remote address what was done, on standard error
    #[arg(long, value_enum, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    stats: Option<Format>,

    /// Write the statistics to this file instead
    #[arg(long, value_name = "FILE", requires = "stats")]
    stats_to: Option<PathBuf>,

    /// Unpack the library to this folder, or take it from there; else it is looked for beside this
    /// program and in /usr/lib/tinygram, and unpacked to /var/cache/tinygram (root) or the user's
    /// cache folder
    #[arg(long = "library-dir", value_name = "DIR", conflicts_with = "cgroup")]
    preload_dir: Option<PathBuf>,

    /// For programs no library can reach: let the kernel set TCP_NODELAY on every connection of the
    /// program's control group; nothing is held
    #[arg(long, conflicts_with_all = ["policy", "watchdog", "hold_below", "eager", "only", "stats"])]
    cgroup: bool,

    /// Switch this running process, which was started under run, to --policy (flush-on-block or nodelay),
    /// and show what it has done so far
    #[arg(long, value_name = "PID", conflicts_with_all = ["watchdog", "hold_below", "eager", "only", "stats",
          "cgroup", "preload_dir", "program"])]
    switch: Option<u32>,

    /// Put the rule into this running Go or static process; its threads stand still for some milliseconds at most
    #[arg(long, value_name = "PID", conflicts_with_all = ["switch", "stats", "cgroup", "preload_dir", "program"])]
    attach: Option<u32>,

    /// Put back what was in this process before --attach, also if its watchdog was killed
    #[arg(long, value_name = "PID", conflicts_with_all = ["attach", "switch", "policy", "watchdog", "hold_below", "eager",
          "only", "stats", "cgroup", "preload_dir", "program"])]
    detach: Option<u32>,

    /// Trace a Go or static program for a second, and name the places where it writes or waits past the
    /// rule
    #[arg(long, conflicts_with_all = ["switch", "detach", "cgroup"])]
    verify: bool,

    /// Cover a program that was built with a version of Go that was not tried, if its first calls are
    /// like those of the versions that were
    #[arg(long = "try", conflicts_with_all = ["switch", "detach", "cgroup"])]
    tries: bool,

    #[command(flatten)]
    journal: JournalFolder,

    /// The program and its arguments
    #[arg(
        last = true,
        required_unless_present_any = ["switch", "attach", "detach"],
        value_name = "PROGRAM"
    )]
    program: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    if let Some(pid) = args.switch {
        return switch(pid, args.policy);
    }
    if let Some(pid) = args.attach {
        return attached::attach(args, pid);
    }
    if let Some(pid) = args.detach {
        return attached::detach(args, pid);
    }
    let (name, arguments) = args.program.split_first().expect("clap requires a program");
    let file = reach::locate(name).ok_or_else(|| {
        Failure::Input(format!(
            "there is no program {} that can be run",
            name.display()
        ))
    })?;
    let mut command = Command::new(name);
    command.args(arguments);
    if args.cgroup {
        return in_control_group(command);
    }
    let reached = match reach::reachable(&file) {
        Ok(reached) => reached,
        Err((file, reach::Unreachable::Go | reach::Unreachable::Static)) => {
            return grafted::run(args, command, &file);
        }
        Err((file, reason)) => {
            return Err(Failure::Input(format!(
                "{} {reason}; {ALTERNATIVES}",
                file.display()
            )));
        }
    };
    if args.verify || args.tries {
        return Err(Failure::Input(format!(
            "--verify and --try are for Go and static programs, whose calls are looked at by ptrace; {} is covered by \
             the library, which has no such places",
            file.display()
        )));
    }
    held(args, command, &file, &reached)
}

/// Switches the policy of a running process.
fn switch(pid: u32, policy: Policy) -> Result<Done, Failure> {
    if !matches!(policy, Policy::FlushOnBlock | Policy::Nodelay) {
        return Err(Failure::Input(format!(
            "--switch puts flush-on-block or nodelay in force, not {}: sockets that are set, or corked, are not set back",
            policy.name()
        )));
    }
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
    super::print(
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

/// The alternatives for a program that cannot be reached.
const ALTERNATIVES: &str = "instead, tinygram run --cgroup sets TCP_NODELAY for it in the kernel, or on the machine \
     that receives: ip route change ... quickack 1";

fn held(
    args: &Args,
    mut command: Command,
    file: &Path,
    reached: &Reachable,
) -> Result<Done, Failure> {
    let library = library::find(reached.c_library, args.preload_dir.as_deref())?;
    library::verify(file, reached, &library)?;
    let trace = match args.policy {
        Policy::Observe => Tracing::On,
        _ => Tracing::Off,
    };
    let counted = args.stats.map(|_| Counted::create(trace)).transpose()?;
    let mut settings = settings(args)?;
    settings.stats = counted.as_ref().and_then(|counted| counted.path().to_str());
    command
        .env("LD_PRELOAD", library::preload_list(&library))
        .env(VARIABLE, settings.encode());
    let page = match (args.stats, counted) {
        (Some(format), Some(counted)) => Some(witnessed(args, format, counted)?),
        _ => None,
    };
    // No process stands between the program and its signals, its terminal and its parent.
    let error = command.exec();
    if let Some(page) = page {
        witness::dismiss(page);
    }
    Err(cannot_run(&command, error))
}

/// Starts a witness that shows the statistics when the program has ended.
fn witnessed(args: &Args, format: Format, counted: Counted) -> Result<&'static Page, Failure> {
    // Opened before any work, because a name that cannot be written is bad input.
    let file = output(args)?;
    let settings = settings(args)?;
    let counted: &'static Counted = Box::leak(Box::new(counted));
    let page = counted.page();
    let show = |end| {
        let counts = counted.read();
        counted.remove();
        let Some(end) = end else { return };
        let shown = match format {
            Format::Text => stats::text(&settings, &counts),
            Format::Json => stats::json(&settings, &words(&args.program), end, &counts),
        };
        // Whether anybody reads this must not affect the end of the program.
        let _ = match file {
            Some(file) => file.write(shown.as_bytes()),
            None => std::io::stderr().write_all(shown.as_bytes()),
        };
    };
    witness::stand_by(page, || counted.look(), show)?;
    Ok(page)
}

/// Runs the program to its end.
fn supervised(mut command: Command) -> Result<ExitStatus, Failure> {
    let waiting = |error| Failure::Io {
        doing: "waiting for the program".into(),
        error,
    };
    let supervisor = supervise::stand_by().map_err(waiting)?;
    let child = command
        .spawn()
        .map_err(|error| cannot_run(&command, error))?;
    supervisor.wait(&child).map_err(waiting)
}

fn in_control_group(mut command: Command) -> Result<Done, Failure> {
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
    let status = supervised(command)?;
    drop(group);
    supervise::end_like(status)
}

fn settings(args: &Args) -> Result<Settings<'static>, Failure> {
    let mut only = [None; MAX_ONLY];
    if args.only.len() > only.len() {
        return Err(Failure::Input(format!(
            "--only is accepted up to {MAX_ONLY} times"
        )));
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

/// Opens the output for the statistics, if it is not standard error. An existing file keeps its
/// content until the statistics are complete.
fn output(args: &Args) -> Result<Option<Destination>, Failure> {
    let opened = args.stats_to.as_ref().map(|path| {
        Destination::open(path).map_err(|error| Failure::Io {
            doing: format!("writing to {}", path.display()),
            error,
        })
    });
    opened.transpose()
}

fn cannot_run(command: &Command, error: std::io::Error) -> Failure {
    Failure::Io {
        doing: format!("running {}", command.get_program().display()),
        error,
    }
}

fn words(program: &[OsString]) -> Vec<String> {
    program
        .iter()
        .map(|word| OsStr::to_string_lossy(word).into_owned())
        .collect()
}

fn policies() -> impl TypedValueParser<Value = Policy> {
    PossibleValuesParser::new(
        Policy::ALL.map(|(_, name, what)| clap::builder::PossibleValue::new(name).help(what)),
    )
    .map(|name| Policy::named(&name).expect("only names are possible"))
}

pub(crate) fn parse_only(text: &str) -> Result<Only, String> {
    Only::parse(text).ok_or_else(|| {
        "accepted: a port from 1 to 65535, an address, or a network such as 10.0.0.0/8".to_owned()
    })
}

fn parse_watchdog(text: &str) -> Result<Duration, String> {
    let unit = |suffix: &str, per_second: f64| {
        let number: f64 = text.strip_suffix(suffix)?.parse().ok()?;
        Some(number / per_second)
    };
    unit("ms", 1e3)
        .or_else(|| unit("us", 1e6))
        .filter(|seconds| (0.000_1..=0.1).contains(seconds))
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "accepted: 0.1ms to 100ms, such as 1ms or 500us".to_owned())
}
