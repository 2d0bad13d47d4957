//! The parts of the verbs' JSON documents that the tools use.

use serde::Deserialize;

/// `tinygram.diagnose/2`.
#[derive(Debug, Deserialize)]
pub(crate) struct Diagnosis {
    pub(crate) captures: Vec<Capture>,
    pub(crate) summary: Summary,
    pub(crate) connections: Vec<Connection>,
    pub(crate) findings: Vec<Finding>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Capture {
    pub(crate) start: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Summary {
    pub(crate) result: String,
    pub(crate) verdict: Vec<String>,
    pub(crate) cannot_tell: Vec<Untold>,
    pub(crate) dominated_by: Option<Dominated>,
    pub(crate) possible: u64,
    pub(crate) unwatched: u64,
    pub(crate) quic_frames: u64,
    pub(crate) frames: u64,
    pub(crate) segments: u64,
    pub(crate) connections: u64,
    pub(crate) stalls: u64,
    pub(crate) cost_ms: f64,
    pub(crate) floods: u64,
    pub(crate) dropped_findings: u64,
    pub(crate) unlisted_connections: u64,
    pub(crate) incomplete: Vec<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Untold {
    pub(crate) obstacles: Vec<Obstacle>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Obstacle {
    pub(crate) reason: String,
    pub(crate) remedy: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Dominated {
    pub(crate) by: String,
    pub(crate) time_ms: f64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Connection {
    pub(crate) id: u64,
    pub(crate) client: String,
    pub(crate) server: String,
    /// `near-client` and the like.
    pub(crate) capture_point: String,
    pub(crate) ruled_out: Vec<RuledOut>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RuledOut {
    pub(crate) kind: String,
    pub(crate) count: u64,
    pub(crate) time_ms: f64,
    pub(crate) first_frame: u64,
    pub(crate) reason: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Finding {
    pub(crate) kind: String,
    pub(crate) connection: u64,
    pub(crate) direction: String,
    pub(crate) frames: Vec<u64>,
    pub(crate) at_s: f64,
    pub(crate) cost_ms: f64,
    pub(crate) blame: String,
    pub(crate) confidence: String,
    pub(crate) evidence: Vec<String>,
    pub(crate) steps: Vec<Step>,
    pub(crate) caution: Option<String>,
    pub(crate) filter: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Step {
    pub(crate) cure: String,
    pub(crate) side: String,
    pub(crate) effort: String,
    pub(crate) text: String,
}

/// The last line of `tinygram.watch/1`.
#[derive(Debug, Deserialize)]
pub(crate) struct Watched {
    pub(crate) source: String,
    pub(crate) seconds: f64,
    pub(crate) rows: Vec<Row>,
    pub(crate) possible: u64,
    pub(crate) excused: Excused,
    pub(crate) events_lost: u64,
    pub(crate) rows_not_kept: u64,
    pub(crate) seen: Seen,
    pub(crate) nothing_matched: Vec<String>,
    #[serde(default)]
    pub(crate) under_run: Vec<UnderRun>,
    /// What the program lacks to look at all, in its words.
    #[serde(skip)]
    pub(crate) lacking: Option<String>,
}

impl Watched {
    /// Returns what was seen where nothing could be looked at.
    pub(crate) fn blind(lacking: String) -> Self {
        Self {
            source: "none".to_owned(),
            seconds: 0.0,
            rows: Vec::new(),
            possible: 0,
            excused: Excused {
                nobody_waited: 0,
                short: 0,
            },
            events_lost: 0,
            rows_not_kept: 0,
            seen: Seen {
                connections: 0,
                writes: None,
                segments: 0,
                timed: 0,
            },
            nothing_matched: Vec::new(),
            under_run: Vec::new(),
            lacking: Some(lacking),
        }
    }
}

/// A process under `tinygram run`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct UnderRun {
    pub(crate) pid: u32,
    pub(crate) process: String,
    pub(crate) policy: String,
    pub(crate) writes_held: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Excused {
    pub(crate) nobody_waited: u64,
    pub(crate) short: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Seen {
    pub(crate) connections: u64,
    pub(crate) writes: Option<u64>,
    pub(crate) segments: u64,
    pub(crate) timed: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Row {
    pub(crate) kind: String,
    pub(crate) process: Process,
    pub(crate) side: String,
    pub(crate) peer: String,
    pub(crate) port: u16,
    pub(crate) count: u64,
    pub(crate) possible: u64,
    pub(crate) cost_ns: i64,
    pub(crate) cost_median_ns: i64,
    pub(crate) held_bytes_median: u64,
    pub(crate) in_flight_bytes_median: u64,
    pub(crate) segments_saved: u64,
    pub(crate) call_sites: Vec<Called>,
    pub(crate) advice: Vec<Step>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Process {
    pub(crate) pid: Option<u32>,
    pub(crate) name: String,
    pub(crate) script: Option<String>,
    pub(crate) user: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Called {
    pub(crate) count: u64,
    pub(crate) call_site: CallSite,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CallSite {
    pub(crate) function: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
    /// The innermost first.
    #[serde(default)]
    pub(crate) stack: Vec<Frame>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Frame {
    pub(crate) function: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
    #[serde(default, rename = "library")]
    pub(crate) is_of_a_library: bool,
}

/// `tinygram.ps/1`.
#[derive(Debug, Deserialize)]
pub(crate) struct Sockets {
    pub(crate) connections: Vec<Socket>,
    pub(crate) processes_not_readable: Vec<i32>,
    pub(crate) seen: Seen,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Socket {
    pub(crate) owners: Vec<Owner>,
    pub(crate) local: String,
    pub(crate) remote: String,
    pub(crate) state: String,
    pub(crate) options: Option<Options>,
    pub(crate) counts: Counts,
    pub(crate) verdict: Option<serde_json::Value>,
    pub(crate) changed: Vec<Changed>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Owner {
    pub(crate) pid: u32,
    pub(crate) name: String,
    pub(crate) script: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) container: Option<String>,
    #[serde(default)]
    pub(crate) container_name: Option<String>,
    #[serde(default)]
    pub(crate) covered: Option<Covered>,
}

/// What `tinygram run` does in a process.
#[derive(Debug, Deserialize)]
pub(crate) struct Covered {
    pub(crate) policy: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Options {
    pub(crate) nodelay: bool,
    pub(crate) cork: bool,
    pub(crate) quickack: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Counts {
    pub(crate) mss: u32,
    pub(crate) rtt_us: u32,
    pub(crate) data_segments_sent: u64,
    pub(crate) bytes_sent: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Changed {
    pub(crate) change: u64,
    pub(crate) option: String,
    pub(crate) before: String,
    pub(crate) value: String,
}

/// `tinygram.whatif/1`.
#[derive(Debug, Deserialize)]
pub(crate) struct Foreseen {
    pub(crate) connections: u64,
    pub(crate) looked_s: f64,
    pub(crate) guesses_that_agree: u64,
    pub(crate) answer: Option<String>,
    pub(crate) seen: Option<Turns>,
    pub(crate) present: Option<Figures>,
    pub(crate) changes: Vec<Change>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Turns {
    pub(crate) turns: u64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Change {
    pub(crate) change: String,
    pub(crate) at: String,
    pub(crate) needs: String,
    #[serde(flatten)]
    pub(crate) figures: Figures,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Figures {
    pub(crate) p50_ms: Option<Interval>,
    pub(crate) p99_ms: Option<Interval>,
    pub(crate) segments_per_turn: Option<Interval>,
    pub(crate) p50_change_ms: Option<Interval>,
    pub(crate) p99_change_ms: Option<Interval>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Interval {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// `tinygram.cure/1`.
#[derive(Debug, Deserialize)]
pub(crate) struct Cured {
    pub(crate) connections: u64,
    pub(crate) looked_s: f64,
    pub(crate) why_unknown: Option<String>,
    pub(crate) stalls: u64,
    pub(crate) cost_ns: i64,
    pub(crate) stalls_that_no_setting_ends: u64,
    pub(crate) floods: u64,
    pub(crate) remedies: Vec<Remedy>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Remedy {
    pub(crate) setting: String,
    pub(crate) other_connections: u64,
    pub(crate) sockets: Vec<String>,
    pub(crate) expected: Option<Expected>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Expected {
    pub(crate) p50_ms: Option<Against>,
    pub(crate) p99_ms: Option<Against>,
    pub(crate) segments_per_turn: Option<Against>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Against {
    pub(crate) without: Option<f64>,
    pub(crate) value: Option<f64>,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
}

/// `tinygram.prevalence/1`.
#[derive(Debug, Deserialize)]
pub(crate) struct Prevalence {
    pub(crate) log: Log,
    pub(crate) shares: Vec<Share>,
    pub(crate) costs: Vec<Cost>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Log {
    pub(crate) lines: u64,
    pub(crate) unreadable: u64,
    pub(crate) responses: u64,
    pub(crate) days: f64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Share {
    pub(crate) mss: u32,
    pub(crate) mclbytes: Option<u64>,
    pub(crate) delayed: u64,
    pub(crate) share_of_all_percent: f64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Cost {
    pub(crate) policy: String,
    pub(crate) mss: u32,
    pub(crate) delayed: u64,
    pub(crate) delayed_percent: f64,
    pub(crate) stall_s: f64,
    pub(crate) segments: u64,
}

/// `tinygram.deadlock/1`.
#[derive(Debug, Deserialize)]
pub(crate) struct Buffers {
    pub(crate) parameters: BufferParameters,
    pub(crate) area: String,
    pub(crate) predicted: Predicted,
    pub(crate) simulated: Simulated,
    pub(crate) cures: Vec<BufferCure>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct BufferParameters {
    pub(crate) ack_timer_ms: f64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Predicted {
    pub(crate) deadlock: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Simulated {
    pub(crate) runs: u64,
    pub(crate) deadlocked: u64,
    pub(crate) mbit_per_s: Option<f64>,
    pub(crate) waiting_percent: f64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct BufferCure {
    pub(crate) change: String,
    pub(crate) works: bool,
    pub(crate) simulated: Simulated,
}
