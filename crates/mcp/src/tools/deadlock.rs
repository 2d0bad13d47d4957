//! `deadlock`: whether a pair of socket buffers stops a bulk transfer.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::documents::{Buffers, Simulated};
use crate::host::Host;
use crate::refusal::Refusal;
use crate::run::{Call, Keep};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    /// The sender's socket buffer, in bytes.
    send_buffer: u64,
    /// The receiver's socket buffer, in bytes.
    receive_buffer: u64,
    /// The largest segment, in bytes: 1460 on Ethernet, 8960 with jumbo frames.
    mss: u16,
    /// Bytes of each write [8192].
    write: Option<u64>,
    /// The stack at both ends [linux_6], for example modern, freebsd_3_2 or sunos_4_1.
    profile: Option<String>,
}

/// The answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Told {
    sentence: String,
    /// By the inequalities: `safe`, `possible` or `certain`.
    area: String,
    /// Whether the inequalities predict one.
    predicted: bool,
    simulated: Runs,
    /// What helps; empty if there is nothing to help against.
    cures: Vec<Cure>,
}

/// Simulated transfers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Runs {
    runs: u64,
    deadlocked: u64,
    mbit_per_s: Option<f64>,
    /// The share of the time that the receiver's timer was waited for.
    waiting_percent: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Cure {
    change: String,
    works: bool,
    simulated: Runs,
}

pub(crate) const NAME: &str = "deadlock";
pub(crate) const ABOUT: &str = "Tells whether a pair of socket buffers deadlocks a bulk transfer until the receiver's \
    delayed-ACK timer ends, by the inequalities of Moldeklev and Gunningberg and by simulation, and what helps. It takes \
    numbers and looks at no host.";

pub(crate) async fn call(
    host: Arc<Host>,
    asked: Asked,
    stop: CancellationToken,
) -> Result<Told, Refusal> {
    let profile = asked.profile.as_deref().unwrap_or("linux_6");
    let call = Call {
        verb: "deadlock",
        options: vec![
            format!("--send-buffer={}", asked.send_buffer).into(),
            format!("--receive-buffer={}", asked.receive_buffer).into(),
            format!("--mss={}", asked.mss).into(),
            format!("--write={}", asked.write.unwrap_or(8192)).into(),
            format!("--profile={profile}").into(),
            "--format=json".into(),
        ],
        words: Vec::new(),
        file: None,
        keep: Keep::All,
        instead: "ask for larger writes",
    };
    let seen: Buffers = host.program.ask(call, &stop).await?;
    Ok(told(&seen))
}

fn told(seen: &Buffers) -> Told {
    let simulated = &seen.simulated;
    let sentence = match (seen.predicted.deadlock, simulated.deadlocked) {
        (false, 0) => format!(
            "No deadlock: neither by the inequalities nor in {} simulated transfers.",
            simulated.runs
        ),
        (predicted, deadlocked) => format!(
            "{} by the inequalities; {deadlocked} of {} simulated transfers went on only by the receiver's timer ({} ms).",
            if predicted {
                "A deadlock"
            } else {
                "No deadlock"
            },
            simulated.runs,
            seen.parameters.ack_timer_ms
        ),
    };
    let cures = seen.cures.iter().map(|cure| Cure {
        change: cure.change.clone(),
        works: cure.works,
        simulated: runs(&cure.simulated),
    });
    Told {
        sentence,
        area: seen.area.clone(),
        predicted: seen.predicted.deadlock,
        simulated: runs(simulated),
        cures: cures.collect(),
    }
}

fn runs(simulated: &Simulated) -> Runs {
    Runs {
        runs: simulated.runs,
        deadlocked: simulated.deadlocked,
        mbit_per_s: simulated.mbit_per_s,
        waiting_percent: simulated.waiting_percent,
    }
}
