//! What the arguments mean, checked before any work.

use std::path::{Path, PathBuf};

use tinygram_diagnose::Parameters;

use super::args::Args;
use super::fail_on::Condition;
use crate::exit::Failure;

pub(super) struct Plan {
    pub(super) inputs: Vec<Input>,
    pub(super) json: bool,
    pub(super) html: Option<PathBuf>,
    pub(super) annotate: Option<PathBuf>,
    pub(super) xplot: Option<PathBuf>,
    pub(super) fail_on: Vec<Condition>,
    pub(super) verbose: bool,
    pub(super) parameters: Parameters,
}

pub(super) enum Input {
    File(PathBuf),
    Stdin,
}

impl Input {
    pub(super) fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Stdin => "-".to_owned(),
        }
    }
}

impl Plan {
    pub(super) fn of(args: Args) -> Result<Self, Failure> {
        let inputs = inputs(&args.captures)?;
        let live = inputs.iter().any(|i| matches!(i, Input::Stdin));
        let second_reading = [
            ("--html", args.html.is_some()),
            ("--annotate", args.annotate.is_some()),
            ("--xplot", args.xplot.is_some()),
        ];
        for (flag, asked) in second_reading {
            if live && asked {
                return Err(Failure::Input(format!(
                    "{flag} reads the capture twice and standard input can be read once \
                     (accepted: a file; tcpdump -w FILE, then tinygram diagnose FILE {flag} ...)"
                )));
            }
        }
        if args.annotate.is_some() && inputs.len() > 1 {
            return Err(Failure::Input(
                "--annotate writes the copy of one capture (accepted: one CAPTURE)".to_owned(),
            ));
        }
        for out in [&args.html, &args.annotate].into_iter().flatten() {
            refuse_overwriting(out, &args.captures)?;
        }
        Ok(Self {
            inputs,
            json: args.json,
            html: args.html,
            annotate: args.annotate,
            xplot: args.xplot,
            fail_on: args.fail_on,
            verbose: args.verbose,
            parameters: Parameters {
                connection_limit: args.connection_limit as usize,
                finding_limit: args.finding_limit as usize,
                ..Parameters::default()
            },
        })
    }
}

fn inputs(captures: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    let mut inputs = Vec::new();
    for path in captures {
        if path.as_os_str() == "-" {
            if inputs.iter().any(|i| matches!(i, Input::Stdin)) {
                return Err(Failure::Input(
                    "- stands for standard input, which can be read once".to_owned(),
                ));
            }
            inputs.push(Input::Stdin);
            continue;
        }
        let failure = |error| Failure::Io {
            doing: format!("reading {}", path.display()),
            error,
        };
        if std::fs::metadata(path).map_err(failure)?.is_dir() {
            return Err(Failure::Input(format!(
                "{} is a folder (accepted: capture files, or - for standard input)",
                path.display()
            )));
        }
        inputs.push(Input::File(path.clone()));
    }
    Ok(inputs)
}

fn refuse_overwriting(out: &Path, captures: &[PathBuf]) -> Result<(), Failure> {
    let Ok(out) = out.canonicalize() else {
        return Ok(());
    };
    let same = |capture: &&PathBuf| capture.canonicalize().is_ok_and(|c| c == out);
    match captures.iter().find(same) {
        Some(capture) => Err(Failure::Input(format!(
            "{} is a capture to read and would be overwritten (accepted: another file)",
            capture.display()
        ))),
        None => Ok(()),
    }
}
