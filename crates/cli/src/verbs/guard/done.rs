//! Runs the command, and looks at its connections.

use std::fs::File;

use tinygram_watch::kernel::Source;

use super::looked::Looked;
use super::{Args, Asked, kernel, preload, writing};
use crate::exit::Failure;

/// Runs the command under the requested source, or under the best one available.
pub(super) fn look(args: &Args) -> Result<Looked, Failure> {
    if args.source == Some(Asked::Preload) {
        if args.record.is_some() {
            return Err(Failure::Input(
                "--record with --source preload: only what the kernel says can be recorded; accepted: --source kernel"
                    .to_owned(),
            ));
        }
        return preload::look(&args.command, None);
    }
    match Source::open(&kernel::options()) {
        Ok(mut source) => {
            if let Some(path) = &args.record {
                let file = File::create(path).and_then(|file| source.record(Box::new(file)));
                file.map_err(|error| writing(path, error))?;
            }
            kernel::look(&args.command, source)
        }
        Err(lacking) if args.source.is_none() && args.record.is_none() => {
            preload::look(&args.command, Some(&lacking))
        }
        Err(lacking) => Err(Failure::Blind(format!("could not look: {lacking}"))),
    }
}
