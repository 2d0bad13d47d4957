//! What `watch` is to do.

use std::time::Duration;

use tinygram_host::root::Root;
use tinygram_host::target::Target;
use tinygram_watch::kernel::SourceOptions;
use tinygram_watch::live::Choice;

use super::Args;
use super::args::Source;

/// What is watched, and by which source.
pub(super) struct Plan {
    /// All connections if there are none.
    pub(super) targets: Vec<Target>,
    pub(super) root: Root,
    pub(super) choice: Choice,
    pub(super) options: SourceOptions,
    /// The interface whose packets are read; every one if there is none.
    pub(super) interface: Option<String>,
    /// How long; until Ctrl-C if it is not said.
    pub(super) length: Option<Duration>,
}

impl Plan {
    pub(super) fn of(args: &Args) -> Result<Self, String> {
        let targets = args.places.targets(&args.targets)?;
        Ok(Self {
            root: args.places.root()?,
            choice: choice(args)?,
            options: SourceOptions {
                by_connection: !targets.is_empty(),
                hooks: args.hooks.map(Into::into),
                least_hold: args.least_hold,
                ..SourceOptions::default()
            },
            targets,
            interface: args.interface.clone().filter(|name| name != "any"),
            length: args.once,
        })
    }
}

/// Returns which source is asked. An interface on the command line selects packets.
fn choice(args: &Args) -> Result<Choice, String> {
    match (args.source, &args.interface) {
        (Some(Source::Kernel), Some(_)) => Err(
            "--interface is for --source packets: the kernel is asked for all interfaces".into(),
        ),
        (Some(source), _) => Ok(source.into()),
        (None, Some(_)) => Ok(Choice::Packets),
        (None, None) => Ok(Choice::Best),
    }
}
