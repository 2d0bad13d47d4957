//! Flags that several verbs have, each declared once. A verb flattens the groups that it needs.

use std::path::PathBuf;

use rayon::{ThreadPool, ThreadPoolBuilder};
use serde::Serialize;
use tinygram_sim::medium::Impairment;

use crate::capture::CaptureAt;
use crate::outcome::Failure;
use crate::values::{count, share};

/// Where chance begins.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
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

/// What happens to segments or packets on their path.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Impaired {
    /// Share of segments that are lost
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0%")]
    loss: f64,

    /// Share of segments that arrive after their successor
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0%")]
    reorder: f64,

    /// Share of segments that arrive twice
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0%")]
    duplicate: f64,
}

impl From<Impaired> for Impairment {
    fn from(typed: Impaired) -> Self {
        Self {
            loss: typed.loss,
            reorder: typed.reorder,
            duplicate: typed.duplicate,
        }
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

/// Which pods and containers, by their names.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Places {
    /// Only what runs in pods of this namespace of Kubernetes; `shop-*` means each that begins so
    #[arg(long, value_name = "NAMESPACE", help_heading = PLACES)]
    pub(crate) namespace: Vec<String>,

    /// Only what runs in this pod, by its name or its beginning (`cart-*`)
    #[arg(long, value_name = "POD", help_heading = PLACES)]
    pub(crate) pod: Vec<String>,

    /// Only what runs in this container, by its name, its beginning or its ID
    #[arg(long, value_name = "CONTAINER", help_heading = PLACES)]
    pub(crate) container: Vec<String>,

    /// Where the host's root is mounted, for names of pods and containers [default: /host if it is there, else /]
    #[arg(long, value_name = "FOLDER", help_heading = PLACES)]
    pub(crate) host_root: Option<PathBuf>,
}

impl Places {
    /// Returns whether a place is named.
    pub(crate) fn is_given(&self) -> bool {
        !(self.namespace.is_empty() && self.pod.is_empty() && self.container.is_empty())
    }
}

/// Headings of `--help` that verbs share.
pub(crate) const RUN: &str = "Run";
pub(crate) const OUTPUT: &str = "Output";
const PLACES: &str = "Pods and containers";
