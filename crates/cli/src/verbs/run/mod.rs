//! `tinygram run`: an unmodified program, made to coalesce its small writes and to flush when it
//! waits. What it does to a program, and what it costs, is in docs/run.md.

mod cgroup;
mod library;
mod reach;
mod stats;

use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tinygram_coalesce::{Policy, Rules};
use tinygram_preload::settings::{MAX_ONLY, Only, Settings, VARIABLE};

use crate::exit::{Done, Failure};
use crate::supervise;

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

    /// Hold from the first write on, and however rare the answers are: the fewest segments, for up to
    /// 50 us of CPU an answer that comes alone
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

    /// For programs no library can reach: let the kernel set TCP_NODELAY on every connection of the
    /// program's control group; nothing is held
    #[arg(long, conflicts_with_all = ["policy", "watchdog", "hold_below", "eager", "only", "stats"])]
    cgroup: bool,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
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
    if let Some((file, reason)) = reach::obstacle(&file) {
        return Err(Failure::Input(format!(
            "{} {reason}; {ALTERNATIVES}",
            file.display()
        )));
    }
    held(args, command)
}

/// What to do about a program that cannot be reached.
const ALTERNATIVES: &str = "instead, tinygram run --cgroup sets TCP_NODELAY for it in the kernel, or on the machine \
     that receives: ip route change ... quickack 1";

fn held(args: &Args, mut command: Command) -> Result<Done, Failure> {
    let counted = args.stats.map(|_| stats::Counted::create()).transpose()?;
    let mut settings = settings(args)?;
    settings.stats = counted.as_ref().and_then(|counted| counted.path().to_str());
    command
        .env("LD_PRELOAD", library::preload_list(&library::unpack()?))
        .env(VARIABLE, settings.encode());
    let (Some(format), Some(counted)) = (args.stats, &counted) else {
        // Nothing is left for us to do, so we become the program: no process stands between it and
        // its signals, its terminal and its parent.
        let error = command.exec();
        return Err(cannot_run(&command, error));
    };
    // Opened before any work: a name that cannot be written is bad input.
    let mut out = output(args)?;
    let status = supervised(command)?;
    let counts = counted.read();
    let shown = match format {
        Format::Text => stats::text(&settings, &counts),
        Format::Json => stats::json(&settings, &words(&args.program), status, &counts),
    };
    // The program's own end matters more than whether anybody reads this.
    let _ = out.write_all(shown.as_bytes());
    supervise::end_like(status)
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

fn output(args: &Args) -> Result<Box<dyn Write>, Failure> {
    match &args.stats_to {
        None => Ok(Box::new(std::io::stderr())),
        Some(path) => match std::fs::File::create(path) {
            Ok(file) => Ok(Box::new(file)),
            Err(error) => Err(Failure::Io {
                doing: format!("writing to {}", path.display()),
                error,
            }),
        },
    }
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

fn parse_only(text: &str) -> Result<Only, String> {
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
