//! Flags that several verbs have, each declared once. A verb flattens the groups that it needs.

use std::path::PathBuf;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::capture::CaptureAt;
use crate::exit::Failure;
use crate::values::count;

/// Where chance begins.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Chance {
    /// Seed of the random numbers: the same seed gives the same output
    #[arg(
        long, value_name = "N", value_parser = count(0..=u64::MAX), default_value_t = 1,
        help_heading = RUN
    )]
    pub(crate) seed: u64,
}

/// What computes.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Processors {
    /// Threads to compute on; the output does not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = count(1_u16..=1024), help_heading = RUN)]
    pub(crate) threads: Option<u16>,
}

impl Processors {
    /// Returns the threads to compute on.
    pub(crate) fn pool(self) -> Result<ThreadPool, Failure> {
        ThreadPoolBuilder::new()
            .num_threads(self.threads.unwrap_or(0).into())
            .build()
            .map_err(|error| Failure::Input(format!("--threads: {error}")))
    }
}

/// Where results go. In which format is each verb's own flag: a group over several types would share the default
/// of the first that is asked for.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Output {
    /// Write the results here instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) output: Option<PathBuf>,
}

/// What is kept of the packets of a simulation.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Packets {
    /// Write one run as a capture for Wireshark: the first repetition of the only cell, or the first run
    /// that deadlocks (if none does, the first run; at most 100,000 segments)
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) pcapng: Option<PathBuf>,

    /// Keep them as text, as tcpdump prints them; - writes them to standard output in place of the
    /// results
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) trace: Option<PathBuf>,

    /// Where the packets are captured [default: sender]
    #[arg(long, value_enum, value_name = "WHERE", help_heading = OUTPUT)]
    pub(crate) capture_at: Option<CaptureAt>,
}

/// Headings of `--help` that verbs share.
pub(crate) const RUN: &str = "Run";
pub(crate) const OUTPUT: &str = "Output";
