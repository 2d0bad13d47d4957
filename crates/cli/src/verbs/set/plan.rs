//! What `set` is to do.

use std::time::Duration;

use tinygram_host::hand::Setting;
use tinygram_host::scope::{Peer, Scope};
use tinygram_host::target::Target;

use super::Args;

pub(super) enum Plan {
    Set(Set),
    /// A change by its number, or all that nobody attends to.
    Undo(Option<u64>),
    List,
}

/// Sockets, and what they are to have.
pub(super) struct Set {
    pub(super) scope: Scope,
    pub(super) settings: Vec<Setting>,
    pub(super) lasting: Option<Duration>,
    /// Whether connections to come are meant, too.
    pub(super) follows: bool,
    pub(super) is_dry: bool,
    /// The command, as the journal has it.
    pub(super) command: String,
}

impl Plan {
    pub(super) fn of(args: &Args) -> Result<Self, String> {
        if let Some(number) = args.undo {
            return Ok(Self::Undo(number));
        }
        if args.list {
            return Ok(Self::List);
        }
        let (settings, targets): (Vec<_>, Vec<_>) =
            args.words.iter().partition(|word| word.contains('='));
        let settings = settings.into_iter().map(|word| Setting::parse(word));
        let settings: Vec<Setting> = settings.collect::<Result<_, _>>()?;
        let targets = targets.into_iter().map(|word| Target::parse(word));
        let targets: Vec<Target> = targets.collect::<Result<_, _>>()?;
        if settings.is_empty() {
            return Err("nothing to set: accepted is OPTION=VALUE, as in nodelay=on".to_owned());
        }
        for (index, setting) in settings.iter().enumerate() {
            if settings[..index]
                .iter()
                .any(|other| other.option == setting.option)
            {
                return Err(format!("{} is given twice", setting.option));
            }
        }
        match (targets.is_empty(), args.all) {
            (true, false) => {
                return Err(
                    "no target: accepted are a process, a unit, a container, a port or a control group; \
                     --all for every socket of this network namespace"
                        .to_owned(),
                );
            }
            (false, true) => return Err("--all and a target: accepted is one of them".to_owned()),
            _ => {}
        }
        let peers = args.peer.iter().map(|peer| Peer::parse(peer));
        Ok(Self::Set(Set {
            scope: Scope {
                targets,
                all: args.all,
                peers: peers
                    .collect::<Result<_, _>>()
                    .map_err(|said| format!("--peer {said}"))?,
            },
            settings,
            lasting: args.lasting,
            follows: args.follow,
            is_dry: args.dry_run,
            command: command(),
        }))
    }
}

impl Set {
    /// Returns whether this process puts back what it sets.
    pub(super) fn is_temporary(&self) -> bool {
        self.follows || self.lasting.is_some()
    }
}

fn command() -> String {
    let words = std::env::args_os().skip(1);
    let words: Vec<_> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    words.join(" ")
}
