use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::flags::Places;
use crate::host_flags::JournalFolder;
use crate::values::{duration, span};

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only these: a process (id or name), a local or remote port, or a control group (a path, or the
    /// name of a container or a unit)
    #[arg(value_name = "TARGET")]
    pub(super) targets: Vec<String>,

    #[command(flatten)]
    pub(super) places: Places,

    /// Watch for this long, then print the summary and end (10s, 5m; up to 24h)
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(super) once: Option<Duration>,

    /// One JSON document a line: each finding, and the summary at the end (schema tinygram.watch/1)
    #[arg(long)]
    pub(super) json: bool,

    /// Serve the counts in OpenMetrics' format at http://ADDR/metrics, for Prometheus; a port alone is on
    /// the loopback address
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = super::addresses::of_metrics)]
    pub(super) metrics: Option<SocketAddr>,

    /// Send the counts and the lengths of holds to an OpenTelemetry collector, over HTTP (port 4318); each
    /// minute (OTEL_METRIC_EXPORT_INTERVAL, in milliseconds) and at the end
    #[arg(long, value_name = "ADDRESS", value_parser = super::addresses::of_collector)]
    pub(super) otlp: Option<String>,

    /// Write the lines of code that stalled or flooded at the end, for contrib/lint/annotate (schema tinygram.sites/1)
    #[arg(long, value_name = "FILE")]
    pub(super) sites: Option<PathBuf>,

    /// Count shorter holds without listing them
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1ms")]
    pub(super) least_hold: Duration,

    /// What to ask [default: the kernel if it can be asked, else packets]
    #[arg(long, value_name = "SOURCE", value_enum)]
    pub(super) source: Option<Source>,

    /// Read the packets of this interface, or of `any`
    #[arg(short, long, value_name = "INTERFACE", conflicts_with = "hooks")]
    pub(super) interface: Option<String>,

    /// The tracepoints at which writes are seen [default: write-end]
    #[arg(long, value_name = "HOOKS", value_enum)]
    pub(super) hooks: Option<Hooks>,

    #[command(flatten)]
    pub(super) journal: JournalFolder,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum Source {
    /// BPF at the kernel's tracepoints: exact; CAP_BPF and CAP_PERFMON, Linux 6.1
    Kernel,
    /// Packets, judged as diagnose judges a capture; CAP_NET_RAW
    Packets,
}

impl From<Source> for tinygram_watch::live::Choice {
    fn from(source: Source) -> Self {
        match source {
            Source::Kernel => Self::Kernel,
            Source::Packets => Self::Packets,
        }
    }
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum Hooks {
    /// the end of a write: Linux 6.1
    WriteEnd,
    /// tcp_sendmsg_locked besides: Linux 6.16
    WriteBegin,
}

impl From<Hooks> for tinygram_watch::kernel::Hooks {
    fn from(hooks: Hooks) -> Self {
        match hooks {
            Hooks::WriteEnd => Self::WriteEnd,
            Hooks::WriteBegin => Self::WriteBegin,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  tinygram watch                      everything, until Ctrl-C
  tinygram watch --once 30s nginx     half a minute of every process of that name
  tinygram watch --namespace shop     the pods of one namespace of Kubernetes
  tinygram watch 8080 --json          one port, for a program to read
  tinygram watch -i any --once 1m     packets instead, on any Linux

On a node of Kubernetes, from outside (IMAGE has the program; see the book: pods):
  kubectl debug node/NODE --profile=sysadmin -it --image=IMAGE -- \\
    tinygram watch --namespace shop --once 30s";
