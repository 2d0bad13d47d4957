//! Runs the command and looks at its connections, or judges a recorded run again.

use std::fs::File;
use std::path::Path;

use tinygram_watch::kernel::Source;
use tinygram_watch::kernel::recording::Recording;

use super::looked::{Looked, Replayed};
use super::plan::{Ask, Guard};
use super::{kernel, preload};
use crate::outcome::{Failure, plain};

/// Runs the command, and asks whom the plan names.
pub(super) fn look(guard: &Guard) -> Result<Looked, Failure> {
    let command = &guard.command;
    match &guard.ask {
        Ask::Best => match Source::open(&kernel::options()) {
            Ok(source) => kernel::look(command, source),
            Err(lacking) => preload::look(command, Some(&lacking)),
        },
        Ask::Kernel { record } => {
            let mut source = Source::open(&kernel::options())
                .map_err(|lacking| Failure::Blind(format!("could not look: {lacking}")))?;
            if let Some(path) = record {
                let file = File::create(path).and_then(|file| source.record(Box::new(file)));
                file.map_err(|error| Failure::writing(path, error))?;
            }
            kernel::look(command, source)
        }
        Ask::Preload => preload::look(command, None),
    }
}

/// Reads a recorded run, and judges it again.
pub(super) fn replay(path: &Path) -> Result<Replayed, Failure> {
    let recording = File::open(path).and_then(Recording::read);
    let recording = recording.map_err(|error| {
        Failure::Input(match error.kind() {
            std::io::ErrorKind::InvalidData => format!(
                "{} is no recording of this version, or is damaged; accepted: what guard --record writes",
                path.display()
            ),
            _ => format!("{}: {}", path.display(), plain(&error)),
        })
    })?;
    Ok(kernel::replay(recording))
}
