//! What `guard` is to do.

use std::path::PathBuf;

use super::accepted::Accept;
use super::args::{Args, Asked};

pub(super) enum Plan {
    /// Judges a recorded run again, and runs nothing.
    Replay { file: PathBuf, accept: Accept },
    /// Runs a command, and looks at its connections.
    Guard(Guard),
}

/// A command that is to be guarded.
pub(super) struct Guard {
    /// The command and its arguments.
    pub(super) command: Vec<String>,
    pub(super) ask: Ask,
    pub(super) accept: Accept,
    /// Fewer connections than this tell nothing.
    pub(super) min_connections: u64,
    /// The file of the JUnit report, if it is wanted.
    pub(super) junit: Option<PathBuf>,
    /// Whether annotations for GitHub are printed.
    pub(super) github: bool,
}

/// Who is asked.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// The kernel where it can be, else the preloaded library.
    Best,
    /// The kernel alone; what it says is also written to `record`, if that is named.
    Kernel { record: Option<PathBuf> },
    /// The preloaded library alone.
    Preload,
}

impl Plan {
    pub(super) fn of(args: &Args) -> Result<Self, String> {
        let accept = Accept {
            lines: args.accept.clone(),
            max_holds: args.max_holds,
        };
        if let Some(file) = args.replay.clone() {
            return Ok(Self::Replay { file, accept });
        }
        Ok(Self::Guard(Guard {
            command: args.command.clone(),
            ask: Ask::of(args)?,
            accept,
            min_connections: args.min_connections,
            junit: args.junit.clone(),
            github: args.github || is_github(),
        }))
    }
}

impl Ask {
    /// Returns who is asked. Only the kernel's answers can be recorded, so `--record` asks it alone.
    fn of(args: &Args) -> Result<Self, String> {
        match (args.source, args.record.clone()) {
            (None, None) => Ok(Self::Best),
            (None | Some(Asked::Kernel), record) => Ok(Self::Kernel { record }),
            (Some(Asked::Preload), None) => Ok(Self::Preload),
            (Some(Asked::Preload), Some(_)) => Err(
                "--record with --source preload: only what the kernel says can be recorded; accepted: --source kernel"
                    .to_owned(),
            ),
        }
    }
}

/// Returns whether this is a workflow of GitHub's.
fn is_github() -> bool {
    std::env::var("GITHUB_ACTIONS").is_ok_and(|value| value == "true")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        args: Args,
    }

    fn ask(options: &[&str]) -> Result<Ask, String> {
        let words = ["guard"].iter().chain(options).chain(&["true"]);
        Ask::of(&Typed::try_parse_from(words).unwrap().args)
    }

    /// A recording of which only the library's part exists would be none.
    #[test]
    fn what_is_recorded_is_asked_of_the_kernel_alone() {
        let recorded = Ask::Kernel {
            record: Some("said".into()),
        };
        assert_eq!(ask(&["--record", "said"]).as_ref(), Ok(&recorded));
        let kernel = ["--source", "kernel", "--record", "said"];
        assert_eq!(ask(&kernel), Ok(recorded));
        let preload = ask(&["--source", "preload", "--record", "said"]);
        assert!(preload.unwrap_err().contains("accepted: --source kernel"));
        // Without a recording the library may be asked.
        assert_eq!(ask(&[]), Ok(Ask::Best));
        assert_eq!(ask(&["--source", "preload"]), Ok(Ask::Preload));
    }
}
