//! Runs diagnose's corpus live, and compares what the kernel says about each pattern with the log
//! of the applications that played it.
//!
//! `WATCH_PATTERNS=wwr-client,loss` plays only these patterns, with both sets of tracepoints;
//! without it the second set is tested with only a few patterns. `-- --nocapture` prints a line for
//! each.

mod common;
#[path = "common/lateness.rs"]
mod lateness;

use std::process::Command;

use common::Watched;
use lateness::Lateness;
use serde_json::Value;
use tinygram_diagnose::{Kind, Side, Tier};
use tinygram_watch::finding::{Finding, Part};
use tinygram_watch::kernel::{Hooks, SourceOptions};

#[test]
fn what_the_kernel_says_is_what_the_applications_saw() {
    for hooks in [Hooks::WriteEnd, Hooks::WriteBegin] {
        if let Some(missing) = TOOLS.iter().find(|tool| !exists(tool)) {
            println!("skipped: {missing} is not installed");
            return;
        }
        let Some(mut watched) = Watched::open(&SourceOptions {
            hooks: Some(hooks),
            ..SourceOptions::default()
        }) else {
            return;
        };
        let names = patterns(hooks);
        let mut wrong = Vec::new();
        // A pattern mostly waits, so several are played at once.
        for names in names.chunks(AT_ONCE) {
            for (name, played) in names.iter().zip(play(names, &mut watched)) {
                // A busy machine delays the players and so changes the log. A real error occurs
                // every time, also when its pattern is played alone.
                let mut complaints = judge(name, &played);
                for _ in 1..PLAYS {
                    if complaints.is_empty() {
                        break;
                    }
                    println!("{name}: played again, for {}", complaints.join("; "));
                    let alone = play(std::slice::from_ref(name), &mut watched);
                    complaints = judge(name, &alone[0]);
                }
                wrong.extend(complaints);
            }
        }
        assert!(wrong.is_empty(), "{}:\n{}", hooks.name(), wrong.join("\n"));
    }
}

/// What became of one pattern.
struct Played {
    /// What the applications logged.
    truth: Value,
    /// What the kernel source found meanwhile, in all processes.
    findings: Vec<Finding>,
    /// How late the machine woke a thread meanwhile, in milliseconds.
    lateness_ms: f64,
}

/// Plays patterns at the same time, each in namespaces of its own.
fn play(names: &[String], watched: &mut Watched) -> Vec<Played> {
    let players = names.iter().map(|name| {
        let mut player = Command::new("python3");
        player.arg(PLAYER).arg(name);
        player
    });
    let lateness = Lateness::begin();
    let (outputs, findings) = watched.during(&mut players.collect::<Vec<_>>());
    let lateness_ms = lateness.end_ms();
    let played = names.iter().zip(outputs).map(|(name, output)| {
        assert!(
            output.status.success(),
            "{name}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Played {
            truth: serde_json::from_slice(&output.stdout).expect("the player prints JSON"),
            findings: findings.clone(),
            lateness_ms,
        }
    });
    played.collect()
}

/// Returns what the kernel source said wrongly about a pattern.
fn judge(name: &str, played: &Played) -> Vec<String> {
    let (truth, lateness_ms) = (&played.truth, played.lateness_ms);
    let stalls = truth["stalls"].as_array().expect("a list");
    let pid = truth["pid"].as_u64().expect("a number") as u32;
    let mut wrong = Vec::new();
    // Other programs run on this host, too.
    let (findings, possible): (Vec<&Finding>, Vec<&Finding>) = played
        .findings
        .iter()
        .filter(|f| f.process.pid == pid)
        .partition(|f| f.tier > Tier::Possible);
    // The path takes a round trip in any case. A hold over one is reported, but it is a stall only
    // if the log has it as one.
    let round_trips = stalls.iter().any(is_round_trip);
    let mut found: Vec<&Finding> = findings
        .iter()
        .copied()
        .filter(|f| f.kind.is_stall() && (round_trips || f.kind != Kind::NagleRoundTrip))
        .filter(|f| !is_known_accusation(name, f))
        .collect();
    let (told, mut off) = (found.len(), Vec::new());
    let mut left = Vec::new();
    for stall in stalls {
        match found.iter().position(|finding| fits(finding, stall)) {
            Some(at) => {
                let finding = found.remove(at);
                let (cost_ms, logged_ms) = (finding.cost.time_ns as f64 / 1e6, ms(stall));
                off.push(((cost_ms - logged_ms).abs(), logged_ms, finding.part));
            }
            None => left.push(stall),
        }
    }
    if let Some((_, why)) = KNOWN_MISMATCHES.iter().find(|(known, _)| *known == name) {
        println!(
            "{name:28} {:2} stalls logged, {told:2} told: {why}",
            stalls.len()
        );
        assert!(
            !left.is_empty(),
            "{name} is found now: no longer a mismatch"
        );
        return wrong;
    }
    for stall in left {
        // The receiver's end sees a single late acknowledgment, and a single one blames nobody.
        let alone = |f: &&Finding| f.part == Part::AcknowledgedLate && fits(f, stall);
        if stalls.len() == 1 && possible.iter().any(alone) {
            println!("{name}: the log's only stall is found, and called possible");
            continue;
        }
        let as_round_trip = findings
            .iter()
            .find(|f| f.kind == Kind::NagleRoundTrip && is_at(f, stall));
        wrong.push(format!(
            "{name}: not found: {stall}; taken for a round trip: {as_round_trip:?}"
        ));
    }
    for finding in found {
        wrong.push(format!("{name}: nobody's stall: {finding:?}"));
    }
    off.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut median_ms = 0.0;
    if let Some((off_ms, logged_ms, part)) = off.get(off.len() / 2) {
        median_ms = *off_ms;
        // The log includes the delays of the scheduler, so its outliers are not our errors. A
        // receiver does not know when the sender wrote, so it counts from its own last read.
        let most_ms = match part {
            Part::Sent => (logged_ms * 0.02).max(1.0),
            Part::AcknowledgedLate => 6.0,
        };
        // On a machine that other programs keep busy, the players read and log their clocks late.
        if *off_ms > most_ms + lateness_ms {
            wrong.push(format!(
                "{name}: the cost is off by {off_ms:.2} ms of {logged_ms:.1}"
            ));
        }
    }
    let is_flood = |f: &&&Finding| f.kind == Kind::TinygramFlood;
    let floods = findings.iter().filter(is_flood).count();
    if (floods > 0) != (truth["floods"].as_u64() > Some(0)) {
        wrong.push(format!("{name}: {floods} floods"));
    }
    println!(
        "{name:28} {:2} stalls logged, {told:2} told, off by {median_ms:.2} ms (median; wake-ups late by {lateness_ms:.2} ms)",
        stalls.len()
    );
    wrong
}

/// Returns whether the log has the stall as a hold over one round trip of the path.
fn is_round_trip(stall: &Value) -> bool {
    stall["kind"] == "nagle-round-trip"
}

/// Returns whether the kernel source is known to report a stall here although nobody waited.
fn is_known_accusation(name: &str, finding: &Finding) -> bool {
    (name, finding.kind, finding.part)
        == (KNOWN_ACCUSATION, Kind::SmallBuffer, Part::AcknowledgedLate)
}

/// Returns whether this finding is the stall in the log: the same connection, sender and time, and
/// the same kind. Of the kind only whether it is a round trip must agree.
fn fits(finding: &Finding, stall: &Value) -> bool {
    is_round_trip(stall) == (finding.kind == Kind::NagleRoundTrip) && is_at(finding, stall)
}

/// Returns whether connection, sender and time are the same.
fn is_at(finding: &Finding, stall: &Value) -> bool {
    let connection = &finding.connection;
    let client_port = match finding.side {
        Side::Client => connection.local.port(),
        Side::Server => connection.remote.port(),
    };
    let start_ns = stall["written_ns"].as_i64().expect("a number");
    let end_ns = stall["read_ns"].as_i64().expect("a number");
    let overlap =
        (finding.start_ns + finding.cost.time_ns).min(end_ns) - finding.start_ns.max(start_ns);
    stall["client_port"] == client_port
        && stall["sender"] == finding.sender().to_string()
        && overlap * 2 > end_ns - start_ns
}

fn ms(stall: &Value) -> f64 {
    stall["cost_ms"].as_f64().expect("a number")
}

fn patterns(hooks: Hooks) -> Vec<String> {
    if let Ok(some) = std::env::var("WATCH_PATTERNS") {
        return some.split(',').map(str::to_owned).collect();
    }
    if hooks == Hooks::WriteBegin {
        return FEW.map(str::to_owned).to_vec();
    }
    let listed = Command::new("python3")
        .args([PLAYER, "--list"])
        .output()
        .expect("python3");
    let all = String::from_utf8(listed.stdout).expect("names");
    all.lines().map(str::to_owned).collect()
}

fn exists(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(tool).exists())
}

/// The tools that the players use.
const TOOLS: [&str; 3] = ["python3", "ip", "ethtool"];
/// How often a pattern is played before what is wrong counts.
const PLAYS: usize = 3;
const AT_ONCE: usize = 4;
/// One pattern of each sort: held by the client, by the server, by a cork, by a window, by nothing.
const FEW: [&str; 6] = [
    "wwr-client-v6",
    "wwr-server",
    "cork-held",
    "slow-start-delayed-ack",
    "one-way-push",
    "flood-nodelay",
];

/// The patterns that the kernel source does not find, with the reason.
const KNOWN_MISMATCHES: [(&str, &str); 1] = [(
    "idle-restart",
    "a congestion window cut after an idle period holds full segments: no hold of a short one",
)];

/// A server that reads a slow file pauses in its answers; at the client the pauses look like waits for a
/// late acknowledgment behind a small buffer.
const KNOWN_ACCUSATION: &str = "slow-file";

const PLAYER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/play.py");
