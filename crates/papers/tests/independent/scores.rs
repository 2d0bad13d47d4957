//! Reads scores of an independent simulation.

use std::path::Path;

use serde::Deserialize;
use tinygram_naglemark::hosts::{Model, PaperHosts};
use tinygram_naglemark::{Lengths, MediumKind, Random, Series, TrialType};
use tinygram_papers::mogul::independent::{IndependentScore, Set};
use tinygram_papers::mogul::tables::{VARIANTS, plan};

/// The file's path, relative to the workspace.
pub(crate) const USUAL: &str = "../shared/unseen/scores.json";

#[derive(Deserialize)]
struct Document {
    sets: Vec<Described>,
}

#[derive(Deserialize)]
struct Described {
    name: String,
    medium: String,
    app_buffer: u64,
    socket_buffer: u64,
    mclbytes: u64,
    mss: Option<u16>,
    multiplier: u32,
    lengths: String,
    requests_per_connection: Option<usize>,
    repetitions: u32,
    /// Whether the receiver infers the sender's buffer (section 9).
    #[serde(default)]
    infer: bool,
    cells: Vec<Scored>,
}

#[derive(Deserialize)]
struct Scored {
    variant: String,
    trial: char,
    score_percent: f64,
    sd: f64,
    short_segments_per_transfer: Option<f64>,
}

/// Reads the sets in the file at `path`.
pub(crate) fn read(path: &Path) -> Result<Vec<Set>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let document: Document = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    document.sets.into_iter().map(set).collect()
}

fn set(described: Described) -> Result<Set, String> {
    let medium = match described.medium.as_str() {
        "ethernet" => MediumKind::Ethernet,
        "fddi" => MediumKind::Fddi,
        other => return Err(format!("no medium {other}")),
    };
    let paper = PaperHosts::new(Model::Fitted, medium);
    Ok(Set {
        name: described.name,
        hosts: PaperHosts {
            mss: described.mss.unwrap_or(paper.mss),
            mclbytes: described.mclbytes,
            infer: described.infer,
            ..paper
        },
        plan: plan(described.repetitions, SEED)
            .app_buffers([described.app_buffer])
            .socket_buffers([described.socket_buffer])
            .lengths(lengths(&described.lengths)?)
            .requests_per_connection(described.requests_per_connection)
            .multiplier(described.multiplier),
        scores: described
            .cells
            .iter()
            .map(score)
            .collect::<Result<_, _>>()?,
    })
}

/// The program's default seed.
const SEED: u64 = 1;

fn score(scored: &Scored) -> Result<IndependentScore, String> {
    let variant = VARIANTS.iter().find(|variant| **variant == scored.variant);
    let variant = variant.ok_or(format!("no variant {}", scored.variant))?;
    let trial_type = TrialType::with_letter(scored.trial);
    Ok(IndependentScore {
        variant: (*variant).to_owned(),
        trial_type: trial_type.ok_or(format!("no trial type {}", scored.trial))?,
        percent: scored.score_percent,
        sd: scored.sd,
        short_segments_per_transfer: scored.short_segments_per_transfer,
    })
}

/// `FROM..TO/STEP,random:FROM..TO`.
fn lengths(text: &str) -> Result<Lengths, String> {
    let mut lengths = Lengths::PAPER;
    for part in text.split(',') {
        let refused = || format!("no lengths {part}");
        let (range, step) = part.split_once('/').unwrap_or((part, "1"));
        let (random, range) = match range.strip_prefix("random:") {
            Some(range) => (true, range),
            None => (false, range),
        };
        let (from, to) = range.split_once("..").ok_or_else(refused)?;
        let number = |text: &str| text.parse().map_err(|_| refused());
        let (from, to, step): (u32, u32, u32) = (number(from)?, number(to)?, number(step)?);
        if random {
            lengths.random = Random {
                from,
                to,
                ..lengths.random
            };
        } else {
            let transfers = (to - from) / step + 1;
            lengths.series = Series {
                from,
                to,
                step,
                transfers,
            };
        }
    }
    Ok(lengths)
}
