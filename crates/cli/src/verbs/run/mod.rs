//! `tinygram run`: an unmodified program, made to coalesce its small writes and to flush when it waits.

mod library;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use tinygram_preload::policy::{Policy, Rules};
use tinygram_preload::settings::{MAX_ONLY, Only, Settings, VARIABLE};

use crate::exit::{Done, Failure};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to do with small writes
    #[arg(long, default_value = Policy::FlushOnBlock.name(), value_parser = parse_policy)]
    policy: Policy,

    /// The longest a byte may be held while the program runs on without waiting (0.1ms to 100ms)
    #[arg(long, default_value = "1ms", value_name = "TIME", value_parser = parse_watchdog)]
    watchdog: Duration,

    /// Hold only writes shorter than this, in bytes
    #[arg(long, default_value_t = Rules::default().hold_below, value_name = "BYTES")]
    hold_below: usize,

    /// Touch only connections of this service port or to this network; may be given up to 8 times
    #[arg(long, value_name = "PORT|CIDR", value_parser = parse_only)]
    only: Vec<Only>,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
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
        hold_below: args.hold_below,
        watchdog_ns: args.watchdog.as_nanos() as u64,
    };
    let settings = Settings {
        rules,
        only,
        stats: None,
    };
    let mut command = Command::new(&args.program[0]);
    command
        .args(&args.program[1..])
        .env("LD_PRELOAD", library::preload_list(&library::unpack()?))
        .env(VARIABLE, settings.encode());
    Err(Failure::Io {
        doing: format!("running {}", args.program[0].display()),
        error: command.exec(),
    })
}

fn parse_policy(text: &str) -> Result<Policy, String> {
    Policy::named(text).ok_or_else(|| {
        format!(
            "accepted: {}",
            Policy::ALL.map(|(_, name, _)| name).join(", ")
        )
    })
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
