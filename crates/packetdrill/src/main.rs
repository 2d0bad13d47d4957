//! Runs packetdrill's suites against this stack, or against the running kernel, and reports what
//! differs from the expectations.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use clap::{Parser, ValueEnum};
use tinygram_packetdrill::commands;
use tinygram_packetdrill::conformance::{Expectations, Outcome, Run, Under, scripts, table};

/// Runs the packetdrill scripts below a folder.
///
/// Exit code 0: everything as expected; 1: not so; 2: it could not be run.
#[derive(Debug, Parser)]
struct Arguments {
    /// A folder of scripts: gtests/net/tcp of google/packetdrill, freebsd-net/tcp-testsuite, or ours.
    folder: PathBuf,
    /// packetdrill's program, built from google/packetdrill.
    #[arg(long, default_value = "packetdrill")]
    packetdrill: PathBuf,
    /// The TCP to test.
    #[arg(long, value_enum, default_value_t = Whose::Ours)]
    under: Whose,
    /// Which scripts are expected to fail, and why (see expected/ of this crate).
    #[arg(long)]
    expected: Option<PathBuf>,
    /// A file with the scripts to run, one per line, if not all are meant.
    #[arg(long)]
    only: Option<PathBuf>,
    /// Only scripts whose path contains this.
    #[arg(long)]
    filter: Option<String>,
    /// Settings of our stack: profile=NAME, suite=freebsd, or any name of sysctl's.
    #[arg(long, default_value = "")]
    settings: String,
    /// An argument for packetdrill; can be given several times.
    #[arg(long = "argument", allow_hyphen_values = true)]
    arguments: Vec<String>,
    /// A name for which #ifdef holds in scripts; can be given several times.
    #[arg(long = "define", value_name = "NAME")]
    defined: Vec<String>,
    /// How many scripts run at once.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Prints the table of all scripts, the kernel's outcomes beside ours.
    #[arg(long)]
    table: bool,
    /// Outcomes of the kernel as `--outcomes` wrote them, for the table.
    #[arg(long)]
    kernel: Option<PathBuf>,
    /// Writes the outcomes, a script in a line.
    #[arg(long)]
    outcomes: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Whose {
    Ours,
    Kernel,
}

fn main() -> ExitCode {
    if let Some(code) = commands::by_name() {
        return code;
    }
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> io::Result<bool> {
    let read = |path: &Path| {
        fs::read_to_string(path)
            .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))
    };
    let mut all = scripts(&arguments.folder)
        .map_err(|error| io::Error::other(format!("{}: {error}", arguments.folder.display())))?;
    if let Some(only) = &arguments.only {
        let named = read(only)?;
        let first = |line: &str| line.split_whitespace().next().map(str::to_owned);
        let named: Vec<_> = named.lines().filter_map(first).collect();
        all.retain(|script| named.contains(script));
    }
    if let Some(part) = &arguments.filter {
        all.retain(|script| script.contains(part));
    }
    if all.is_empty() {
        return Err(io::Error::other(
            "no script (*.pkt) is there that was meant",
        ));
    }
    let expected = match &arguments.expected {
        Some(path) => Expectations::parse(&read(path)?).map_err(io::Error::other)?,
        None => Expectations::default(),
    };
    let program = env::current_exe()?;
    let object = program.with_file_name("libtinygram_packetdrill.so");
    let scratch = env::temp_dir().join(format!("tinygram-packetdrill-{}", std::process::id()));
    fs::create_dir_all(&scratch)?;
    let run = Run {
        packetdrill: arguments.packetdrill.clone(),
        under: match arguments.under {
            Whose::Kernel => Under::Kernel,
            Whose::Ours => Under::Ours {
                object,
                flags: arguments.settings.clone(),
            },
        },
        arguments: arguments.arguments.clone(),
        defined: arguments.defined.clone(),
        jobs: arguments.jobs,
        program,
        scratch: scratch.clone(),
    };
    let outcomes = run.all(&arguments.folder, &all);
    let _ = fs::remove_dir_all(&scratch);
    let outcomes = outcomes?;
    if let Some(path) = &arguments.outcomes {
        let line = |(script, outcome): (&String, &Outcome)| match outcome {
            Outcome::Pass => format!("{script}\tpass\n"),
            Outcome::Fail(why) => format!("{script}\tfail\t{why}\n"),
        };
        fs::write(path, outcomes.iter().map(line).collect::<String>())?;
    }
    if arguments.table {
        let kernel = match &arguments.kernel {
            Some(path) => Some(read(path)?.lines().filter_map(outcome_of).collect()),
            None => None,
        };
        print!("{}", table(&outcomes, kernel.as_ref(), &expected));
    } else {
        print!("{}", expected.summary(&outcomes));
    }
    let partial = arguments.filter.is_some() || arguments.only.is_some();
    let surprises = expected.surprises(&outcomes, partial);
    for surprise in &surprises {
        eprintln!("{surprise}");
    }
    Ok(surprises.is_empty())
}

/// Reads a line that `--outcomes` wrote: the script, and how it ended.
fn outcome_of(line: &str) -> Option<(String, Outcome)> {
    let mut parts = line.split('\t');
    let script = parts.next()?.to_owned();
    let outcome = match parts.next()? {
        "pass" => Outcome::Pass,
        _ => Outcome::Fail(String::new()),
    };
    Some((script, outcome))
}
