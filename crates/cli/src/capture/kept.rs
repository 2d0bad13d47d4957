//! The files of a capture: opened before the run, filled after it.

use std::io;
use std::path::{Path, PathBuf};

use tinygram_report::Destination;
use tinygram_sim::medium::{MediumFrame, Side};

use super::{CaptureAt, write_pcapng, write_text};
use crate::files::{failed, opened};
use crate::outcome::{Done, Failure};
use crate::terminal;

/// The outputs of `--pcapng` and `--trace`, which were checked to be writable.
pub(crate) struct Kept {
    pcapng: Option<(PathBuf, Destination)>,
    trace: Option<TraceTo>,
}

/// The output for the text of a capture.
enum TraceTo {
    /// Standard output, in place of the results.
    Stdout,
    File(PathBuf, Destination),
}

impl Kept {
    /// Opens the outputs, or says which one cannot be written.
    pub(crate) fn open(pcapng: Option<&Path>, trace: Option<&Path>) -> Result<Self, Failure> {
        Ok(Self {
            pcapng: opened(pcapng, Destination::open)?,
            trace: match trace {
                Some(path) if path == Path::new("-") => Some(TraceTo::Stdout),
                path => {
                    opened(path, Destination::open)?.map(|(path, file)| TraceTo::File(path, file))
                }
            },
        })
    }

    /// Returns whether the text replaces the results on standard output.
    pub(crate) fn goes_to_stdout(&self) -> bool {
        matches!(self.trace, Some(TraceTo::Stdout))
    }

    /// Writes the files from the frames that were `seen`; the capture's first frame carries
    /// `comment`.
    pub(crate) fn write_files(
        self,
        seen: &[(Side, MediumFrame)],
        comment: &str,
    ) -> Result<(), Failure> {
        let written =
            |path: &Path, result: io::Result<()>| result.map_err(|error| failed(path, error));
        if let Some((path, file)) = self.pcapng {
            written(&path, file.fill(|into| write_pcapng(seen, comment, into)))?;
        }
        if let Some(TraceTo::File(path, file)) = self.trace {
            written(&path, file.fill(|into| write_text(seen, into)))?;
        }
        Ok(())
    }
}

/// Returns where the tap is, if a capture is kept.
pub(crate) fn placed(at: Option<CaptureAt>, is_kept: bool) -> Result<Option<CaptureAt>, Failure> {
    match at {
        Some(_) if !is_kept => Err(Failure::Input(
            "--capture-at belongs to --pcapng and --trace".into(),
        )),
        at => Ok(is_kept.then(|| at.unwrap_or(CaptureAt::Sender))),
    }
}

/// Prints the frames that were seen, in place of the results.
pub(crate) fn print(seen: &[(Side, MediumFrame)]) -> Result<Done, Failure> {
    let mut text = Vec::new();
    write_text(seen, &mut text).expect("memory takes every write");
    terminal::print(&text)
}
