//! The counts of a run as text and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;
use tinygram_coalesce::{Policy, Rules};
use tinygram_preload::page::Cause;
use tinygram_preload::settings::Settings;
use tinygram_report::Columns;

use super::{Counts, Peer, Waited};
use crate::verbs::run::witness::End;
use tinygram_report::units::counted;

/// Returns the versioned document: the settings, how the program ended, and the counts.
pub(crate) fn json(
    settings: &Settings<'_>,
    program: &[String],
    end: End,
    counts: &Counts,
) -> String {
    tinygram_report::json(&Document {
        schema: "tinygram.run/1",
        parameters: Parameters::of(settings),
        program,
        end,
        in_words: in_words(settings, counts),
        counts,
    })
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    parameters: Parameters,
    program: &'a [String],
    #[serde(flatten)]
    end: End,
    in_words: Vec<String>,
    counts: &'a Counts,
}

/// The settings as the document has them.
#[derive(Serialize)]
struct Parameters {
    policy: &'static str,
    hold_below_bytes: usize,
    watchdog_us: f64,
    eager: bool,
    only: Vec<String>,
}

impl Parameters {
    fn of(settings: &Settings<'_>) -> Self {
        // Every field is named, so that a new setting that is forgotten here does not compile.
        let Settings {
            rules:
                Rules {
                    policy,
                    hold_below,
                    watchdog_ns,
                    eager,
                },
            only,
            stats: _,
        } = settings;
        Self {
            policy: policy.name(),
            hold_below_bytes: *hold_below,
            watchdog_us: *watchdog_ns as f64 / 1e3,
            eager: *eager,
            only: only.iter().flatten().map(ToString::to_string).collect(),
        }
    }
}

/// Returns a line per remote address, then the causes and explanations.
pub(crate) fn text(settings: &Settings<'_>, counts: &Counts) -> String {
    let mut out = format!(
        "\ntinygram run: policy {}, {} process{}\n",
        settings.rules.policy.name(),
        counts.processes,
        if counts.processes == 1 { "" } else { "es" },
    );
    if counts.peers.is_empty() {
        out += "no TCP connection was made or accepted\n";
        return out + &remarks(counts);
    }
    let rows: Vec<_> = counts.peers.iter().take(SHOWN).map(row).collect();
    for line in PEERS.lines(&rows, usize::MAX) {
        out += &line;
        out.push('\n');
    }
    if counts.peers.len() > SHOWN {
        let _ = writeln!(
            out,
            "... and {} more addresses (all of them with --stats=json)",
            counts.peers.len() - SHOWN
        );
    }
    out += &causes(counts);
    for line in in_words(settings, counts) {
        out += &line;
        out.push('\n');
    }
    out + &remarks(counts)
}

const PEERS: Columns<7> = Columns {
    headings: [
        "REMOTE",
        "CONNECTIONS",
        "WRITES",
        "SEGMENTS",
        "MERGED",
        "LONGEST HOLD",
        "RESCUES",
    ],
    left: [true, false, false, false, false, false, false],
};

fn row(peer: &Peer) -> [String; 7] {
    let is_seen = peer.connections_ended_unseen < peer.connections;
    [
        peer.name(),
        peer.connections.to_string(),
        peer.writes.to_string(),
        match is_seen {
            true => peer.segments_sent.to_string(),
            false => "?".to_owned(),
        },
        peer.writes_merged.to_string(),
        format!("{:.0} us", peer.longest_hold_us),
        peer.watchdog_rescues.to_string(),
    ]
}

fn causes(counts: &Counts) -> String {
    let mut totals = BTreeMap::new();
    for (name, count) in counts.peers.iter().flat_map(|peer| &peer.flushes) {
        *totals.entry(*name).or_insert(0) += count;
    }
    let mut parts: Vec<_> = totals.into_iter().filter(|(_, count)| *count > 0).collect();
    // In the order of the library's list; causes that only other programs know come last.
    let place = |name| Cause::ALL.iter().position(|(_, known)| *known == name);
    parts.sort_by_key(|(name, _)| place(*name).unwrap_or(usize::MAX));
    let parts: Vec<_> = parts
        .iter()
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    if parts.is_empty() {
        "flushes: none\n".into()
    } else {
        format!("flushes: {}\n", parts.join(", "))
    }
}

/// Returns the result in words: under `observe` what the program suffers and what would cure it,
/// otherwise what it was spared.
fn in_words(settings: &Settings<'_>, counts: &Counts) -> Vec<String> {
    let sum = |count: fn(&Peer) -> u64| counts.peers.iter().map(count).sum::<u64>();
    let (writes, merged) = (sum(|peer| peer.writes), sum(|peer| peer.writes_merged));
    let mut lines = Vec::new();
    if settings.rules.policy == Policy::Observe {
        lines.extend(match counts.waited() {
            None => vec![
                "whether writes waited for an acknowledgment is not measured inside this program; \
                 tinygram watch tells"
                    .to_owned(),
            ],
            Some(waited) => in_words_waited(&waited, counts),
        });
        lines.push(if merged > 0 {
            format!(
                "tinygram run --eager would save {merged} of the {writes} segments that NODELAY sends; without --eager at \
                 most these, and none where answers are rare and take fewer than eight writes"
            )
        } else {
            "holding (tinygram run, also with --eager) would save nothing".to_owned()
        });
        return lines;
    }
    let answers = sum(|peer| peer.answers_in_several_writes);
    if answers > 0 {
        lines.push(format!(
            "{} in several writes without TCP_NODELAY of the program's own: none waited for an acknowledgment \
             (40 ms from a Linux receiver that delays it)",
            counted(answers, "answer")
        ));
    }
    let over = sum(|peer| peer.went_over_to_nodelay);
    if over > 0 {
        lines.push(format!(
            "{} over to NODELAY: the watchdog had to rescue more than one answer in a thousand (the \
             program computes or spins with its answer written)",
            if over == 1 { "1 connection went".to_owned() } else { format!("{over} times a connection went") }
        ));
    }
    let passed = sum(|peer| peer.writes_passed_by_trial);
    if passed > 0 {
        lines.push(format!(
            "{} passed because holding was measured to be worse, or while it was measured",
            counted(passed, "write")
        ));
    }
    lines
}

/// Returns what the waits for acknowledgments cost.
fn in_words_waited(waited: &Waited, counts: &Counts) -> Vec<String> {
    let stalls = waited.stalls;
    if stalls == 0 {
        return vec![
            "no write waited for an acknowledgment; NODELAY would change nothing".to_owned(),
        ];
    }
    let mut lines = vec![format!(
        "{} waited {:.0} ms for an acknowledgment (the longest {:.0} ms); NODELAY alone cures that",
        counted(stalls, "write"),
        waited.stalled_ms / stalls as f64,
        waited.longest_stall_ms,
    )];
    lines.extend(written_by(counts, stalls));
    lines
}

/// Returns the lines that made the writes that waited, the most frequent first.
fn written_by(counts: &Counts, stalls: u64) -> Vec<String> {
    let sites = counts.stall_sites.as_deref().unwrap_or_default();
    let mut lines: Vec<_> = sites
        .iter()
        .take(SITES_SHOWN)
        .map(|one| format!("    {} of them written by {}", one.stalls, one.site))
        .collect();
    let others: u64 = sites.iter().skip(SITES_SHOWN).map(|one| one.stalls).sum();
    if others > 0 {
        lines.push(format!("    {others} of them elsewhere (--stats=json)"));
    }
    let known: u64 = sites.iter().map(|one| one.stalls).sum();
    let unknown = stalls.saturating_sub(known);
    if unknown > 0 {
        lines.push(format!("    {unknown} of them: the line is not known"));
    }
    lines
}

fn remarks(counts: &Counts) -> String {
    let sum = |count: fn(&Peer) -> u64| counts.peers.iter().map(count).sum::<u64>();
    let mut out = String::new();
    if counts.processes == 0 {
        out += "the library was not loaded into any process\n";
    }
    for escaped in &counts.programs_not_covered {
        let _ = writeln!(
            out,
            "not covered: {} ({}, executed {})",
            escaped.name,
            escaped.reason,
            counted(escaped.times, "time")
        );
    }
    if counts.processes_still_running > 0 {
        let _ = writeln!(
            out,
            "{} still running when the program ended: what follows is not counted",
            counted(counts.processes_still_running as u64, "covered process")
                .replace("processs", "processes")
        );
    }
    let unseen = sum(|peer| peer.connections_ended_unseen);
    if unseen > 0 {
        let _ = writeln!(
            out,
            "segments: {unseen} of {} connections ended unseen (the process died, or handed them on); theirs are not counted",
            sum(|peer| peer.connections)
        );
    }
    if counts.unlisted_connections > 0 {
        let _ = writeln!(
            out,
            "{} connections to further addresses are not listed",
            counts.unlisted_connections
        );
    }
    out
}

/// The most addresses in the text.
const SHOWN: usize = 20;
/// The most lines of the program in the text.
const SITES_SHOWN: usize = 5;
