//! What `set` is to do.

use std::time::Duration;

use tinygram_host::hand::Setting;
use tinygram_host::knob::KnobSetting;
use tinygram_host::scope::{Peer, Scope};

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
    pub(super) knobs: Vec<KnobSetting>,
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
        let (settings, knobs) = read(&settings)?;
        let targets: Vec<String> = targets.into_iter().cloned().collect();
        let targets = args.places.targets(&targets)?;
        if settings.is_empty() && knobs.is_empty() {
            return Err("nothing to set: accepted is OPTION=VALUE, as in nodelay=on".to_owned());
        }
        if args.follow && settings.is_empty() {
            return Err(format!(
                "--follow: {} holds for connections to come already; accepted with an option of sockets, or --for",
                knobs[0].knob
            ));
        }
        if args.follow
            && let Some(by_descriptor) = settings.iter().find(|one| one.option.takes_descriptor())
        {
            return Err(format!(
                "--follow: {by_descriptor} takes the program's descriptor of each connection; accepted without --follow"
            ));
        }
        if let Some(of_namespace) = knobs.iter().find(|one| !one.knob.is_of_route())
            && !args.peer.is_empty()
        {
            return Err(format!(
                "--peer: {} holds for every connection of a network namespace, whatever its other end",
                of_namespace.knob
            ));
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
                root: args.places.root()?,
            },
            settings,
            knobs,
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

/// Reads each `OPTION=VALUE`, and refuses what is given twice.
fn read(words: &[&String]) -> Result<(Vec<Setting>, Vec<KnobSetting>), String> {
    let mut settings: Vec<Setting> = Vec::new();
    let mut knobs: Vec<KnobSetting> = Vec::new();
    for word in words {
        let (name, is_new) = match KnobSetting::parse(word) {
            Some(knob) => {
                let knob = knob?;
                let is_new = knobs.iter().all(|other| other.knob != knob.knob);
                knobs.push(knob);
                (knob.knob.name(), is_new)
            }
            None => {
                let setting = Setting::parse(word)?;
                let option = setting.option;
                let is_new = settings.iter().all(|other| other.option != option);
                settings.push(setting);
                (option.name(), is_new)
            }
        };
        if !is_new {
            return Err(format!("{name} is given twice"));
        }
    }
    Ok((settings, knobs))
}

fn command() -> String {
    let words = std::env::args_os().skip(1);
    let words: Vec<_> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    words.join(" ")
}
