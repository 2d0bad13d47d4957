//! Random captures: stacks, paths and programs drawn from a seed, played by the engine, so that the
//! truth about every segment is known. `RANDOM_CAPTURES=N` judges as many (from seed
//! `RANDOM_FIRST`), and prints what was wrong or missed with `RANDOM_LOG=1`. `RANDOM_INTO=FOLDER`
//! keeps the captures; `RANDOM_PROGRAM=PATH` has them judged by another build of the program.

mod random;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use random::capture::{self, Capture, Truth};
use random::dice::Dice;
use random::made::{self, Shape, Sort};
use random::score::{Claim, Score};
use tinygram_diagnose::{Analyzer, Facts, Kind, Parameters, Report, Side, Tier};
use tinygram_stalls::Cure;
use tinygram_wire::capture::{LinkType, PcapWriter};

fn diagnose(capture: &Capture) -> Report {
    let mut analyzer = Analyzer::new(Parameters::default());
    for (number, record) in capture.records.iter().enumerate() {
        analyzer.frame(&record.frame(number as u64 + 1));
    }
    analyzer.finish()
}

fn claims(report: &Report) -> Vec<Claim> {
    report
        .findings
        .iter()
        .map(|f| {
            let frames: Vec<_> = f.frames.iter().map(|m| m.frame).collect();
            Claim {
                kind: f.kind.to_string(),
                tier: f.tier().to_string(),
                frame: frames.last().copied().unwrap_or(0),
                cost_ns: f.cost_ns,
                write_once: f
                    .advice()
                    .steps
                    .iter()
                    .any(|s| s.cure == Cure::WriteOnce && !s.text.starts_with("if ")),
                text: format!(
                    "{} frames {frames:?} {:.1} ms",
                    f.sender,
                    f.cost_ns as f64 / 1e6
                ),
            }
        })
        .collect()
}

/// Writes the capture to a file.
fn keep(capture: &Capture, path: &Path) {
    let file = std::fs::File::create(path).expect("the folder can be written");
    let into = std::io::BufWriter::new(file);
    let mut writer = PcapWriter::new(into, LinkType::ETHERNET, 96).expect("a header fits");
    for (number, record) in capture.records.iter().enumerate() {
        writer
            .frame(&record.frame(number as u64 + 1))
            .expect("a frame fits");
    }
}

/// What another build of the program says of a capture.
fn claims_of(program: &std::ffi::OsStr, path: &Path) -> Vec<Claim> {
    let output = Command::new(program)
        .args(["diagnose", "--json"])
        .arg(path)
        .output()
        .expect("the program runs");
    let said: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("the program prints JSON");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let writes_once = |step: &serde_json::Value| {
        step["cure"] == Cure::WriteOnce.name() && !text(&step["text"]).starts_with("if ")
    };
    let findings = said["findings"].as_array().expect("it lists what it found");
    findings
        .iter()
        .map(|f| Claim {
            kind: text(&f["kind"]),
            tier: text(&f["confidence"]),
            frame: f["frames"]
                .as_array()
                .and_then(|frames| frames.last()?.as_u64())
                .unwrap_or(0),
            cost_ns: (f["cost_ms"].as_f64().unwrap_or(0.0) * 1e6) as i64,
            write_once: f["steps"]
                .as_array()
                .is_some_and(|steps| steps.iter().any(writes_once)),
            text: f["frames"].to_string(),
        })
        .collect()
}

/// Why the segments of these frames were not accused.
fn excused(report: &Report) -> BTreeMap<u64, &'static str> {
    let of = report.connections.iter().flat_map(|c| c.ruled_out.events());
    of.map(|event| (event.frame, event.kind.name())).collect()
}

fn judged(capture: &Capture, excuses: &mut BTreeMap<u64, &'static str>) -> Vec<Claim> {
    let into = std::env::var_os("RANDOM_INTO");
    let program = std::env::var_os("RANDOM_PROGRAM");
    let folder = into.map_or_else(std::env::temp_dir, Into::into);
    let path = folder.join(format!("random-{}.pcap", capture.seed));
    match program {
        Some(program) => {
            keep(capture, &path);
            claims_of(&program, &path)
        }
        None => {
            if std::env::var_os("RANDOM_INTO").is_some() {
                keep(capture, &path);
            }
            let report = diagnose(capture);
            *excuses = excused(&report);
            claims(&report)
        }
    }
}

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(usual)
}

#[test]
fn what_is_found_in_random_captures_is_true() {
    let (first, count) = (number("RANDOM_FIRST", 1), number("RANDOM_CAPTURES", 300));
    let mut score = Score::default();
    let mut log = Vec::new();
    for seed in first..first + count {
        let capture = capture::of(seed);
        let mut excuses = BTreeMap::new();
        let claims = judged(&capture, &mut excuses);
        score.add(&capture, &claims, &excuses, &mut log);
    }
    if std::env::var_os("RANDOM_LOG").is_some() {
        println!("{}", log.join("\n"));
    }
    println!("{score}");
    if std::env::var_os("RANDOM_PROGRAM").is_none() {
        assert!(score.precision() >= 0.99, "{score}");
    }
}

/// A report contradicts itself nowhere.
fn agrees(report: &Report, frames: usize) -> Result<(), String> {
    let accusing = || report.findings.iter().filter(|f| f.tier().accuses());
    let stalls = accusing().filter(|f| f.kind.is_stall()).count() as u64;
    let cost_ns: i64 = accusing().map(|f| f.cost_ns).sum();
    let summary = &report.summary;
    if (summary.stalls, summary.cost_ns) != (stalls, cost_ns) {
        return Err(format!("{stalls} findings cost {cost_ns}: {summary:?}"));
    }
    let mut held = std::collections::BTreeSet::new();
    for finding in &report.findings {
        let numbers: Vec<_> = finding.frames.iter().map(|m| m.frame).collect();
        let of = report
            .connections
            .iter()
            .find(|c| c.id == finding.connection);
        let c = of.ok_or_else(|| format!("{numbers:?} of no connection"))?;
        let sorted = numbers.is_sorted() && numbers.iter().all(|n| (1..=frames as u64).contains(n));
        if !sorted || !(0..=c.duration_ns()).contains(&finding.cost_ns) {
            return Err(format!("{numbers:?} cost {}", finding.cost_ns));
        }
        // Each says what was asked, and what keeps it from being certain.
        let is_tiny = matches!(&finding.facts, Facts::Flood(flood) if flood.is_tiny);
        if finding.checks.is_empty() && !is_tiny {
            return Err(format!("{numbers:?}: nothing was asked"));
        }
        if finding.bounded_by().is_none() != (finding.tier() == Tier::Certain) {
            let asked = &finding.checks;
            return Err(format!("{numbers:?}: {} by {asked:?}", finding.tier()));
        }
        // Nobody is accused of holding what the same report says is not held.
        let policy = c.directions[usize::from(finding.sender == Side::Server)].policy;
        if finding.tier().accuses() && by_a_rule(finding.kind) && policy == "nodelay" {
            return Err(format!("{numbers:?}: {} by {policy}", finding.kind));
        }
        let last = numbers.last().copied();
        if finding.kind.is_stall() && !held.insert((finding.connection, last)) {
            return Err(format!("{numbers:?} is told twice"));
        }
        if let Facts::Hold(hold) = &finding.facts
            && let (Some(part_ns), Some(whole_ns)) = (hold.sender_distance_ns, c.rtt_ns)
            && part_ns > whole_ns
        {
            return Err(format!(
                "{numbers:?}: {part_ns} ns is a part of {whole_ns} ns"
            ));
        }
    }
    for c in &report.connections {
        let own = || accusing().filter(|f| f.connection == c.id);
        let cost_ns: i64 = own().map(|f| f.cost_ns).sum();
        let count = own().filter(|f| f.kind.is_stall()).count();
        if (c.cost_ns, c.stalls as usize) != (cost_ns, count) || c.cost_ns > c.duration_ns() {
            return Err(format!(
                "connection {}: {count} cost {cost_ns}, {c:?}",
                c.id
            ));
        }
        for (kind, tally) in c.ruled_out.iter() {
            let frame = tally.first_frame;
            if !(1..=frames as u64).contains(&frame) || tally.time_ns < 0 {
                return Err(format!("{} begins in frame {frame}", kind.name()));
            }
        }
    }
    Ok(())
}

/// Returns whether a rule about small segments holds what is of this kind.
fn by_a_rule(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::WriteWriteRead | Kind::OddFullShortFinal | Kind::BufferTearing | Kind::NagleRoundTrip
    )
}

#[test]
fn the_numbers_of_a_report_agree_with_each_other() {
    let (first, count) = (number("RANDOM_FIRST", 1), number("RANDOM_CAPTURES", 300));
    let mut wrong = Vec::new();
    for seed in first..first + count {
        let capture = capture::of(seed);
        let report = diagnose(&capture);
        if let Err(said) = agrees(&report, capture.records.len()) {
            wrong.push(format!("seed {seed}: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is accused and what is missed of conversations that are made for a kind.
#[derive(Default)]
struct OfShape {
    /// What the engine says is held, and of that what is found, as this kind or as any.
    held: usize,
    found: usize,
    of_kind: usize,
    /// Accusations of this kind that are not true, and captures that have any.
    wrong: usize,
    wronged: usize,
}

#[test]
fn kinds_that_chance_seldom_brings_are_found_where_they_are() {
    let (first, count) = (number("MADE_FIRST", 1), number("MADE_CAPTURES", 40));
    let usual = (first, count) == (1, 40) && std::env::var_os("RANDOM_PROGRAM").is_none();
    let only = std::env::var("MADE_ONLY").unwrap_or_default();
    for shape in made::SHAPES.iter().filter(|s| s.name.contains(&only)) {
        let mut of = OfShape::default();
        for seed in first..first + count {
            let mut dice = Dice::new(seed);
            let scene = shape.draw(&mut dice);
            let capture = capture::of_scene(&scene, seed, &mut dice);
            let mut excuses = BTreeMap::new();
            let claims = judged(&capture, &mut excuses);
            of.add(shape, &capture, &claims);
            if std::env::var_os("RANDOM_LOG").is_some() {
                println!("{}", missed(shape.name, &capture, &claims, &excuses));
            }
        }
        println!(
            "{:<24} {:<44} {}: {:>4} true, {:>4} found, {:>4} of this kind; {:>3} wrong in {} of {count} captures",
            shape.kind,
            shape.name,
            match shape.sort {
                Sort::Is { .. } => "is   ",
                Sort::Seems { .. } => "seems",
            },
            of.held,
            of.found,
            of.of_kind,
            of.wrong,
            of.wronged
        );
        let holds = match shape.sort {
            Sort::Is { found } => of.found >= found,
            Sort::Seems { accused } => of.wronged <= accused,
        };
        assert!(holds || !usual, "worse than it was: {}", shape.name);
    }
}

/// What is held and was not accused, and why not, a line each.
fn missed(
    name: &str,
    capture: &Capture,
    claims: &[Claim],
    excuses: &BTreeMap<u64, &'static str>,
) -> String {
    let accused = |frame| {
        claims
            .iter()
            .any(|c| c.frame == frame && c.tier != "possible")
    };
    let stalls = capture
        .late
        .iter()
        .filter(|late| matches!(late.truth, Truth::Stall(_) | Truth::Unknowable(_)));
    let lines = stalls.filter(|late| !accused(late.frame)).map(|late| {
        let cause = excuses.get(&late.frame).copied().unwrap_or("unnoticed");
        let (seed, frame) = (capture.seed, late.frame);
        format!(
            "MISS {seed} {name}: frame {frame} {:?} {cause}\n",
            late.truth
        )
    });
    lines.collect()
}

impl OfShape {
    fn add(&mut self, shape: &Shape, capture: &Capture, claims: &[Claim]) {
        let accuses = |c: &&Claim| c.tier != "possible";
        if shape.kind == "tinygram-flood" {
            let found = claims.iter().filter(accuses).any(|c| c.kind == shape.kind);
            let is = matches!(shape.sort, Sort::Is { .. });
            self.held += usize::from(is);
            self.found += usize::from(is && found);
            self.of_kind += usize::from(is && found);
            self.wrong += usize::from(!is && found);
            self.wronged += usize::from(!is && found);
            return;
        }
        let truth = |frame| {
            capture
                .late
                .iter()
                .find(|l| l.frame == frame)
                .map(|l| l.truth)
        };
        let stall = |truth| matches!(truth, Some(Truth::Stall(_) | Truth::Unknowable(_)));
        let all = capture.late.iter().filter(|late| stall(Some(late.truth)));
        self.held += all.count();
        let mut wrong = 0;
        for claim in claims.iter().filter(accuses) {
            let truth = truth(claim.frame);
            self.found += usize::from(stall(truth));
            self.of_kind += usize::from(stall(truth) && claim.kind == shape.kind);
            let untrue = matches!(truth, Some(Truth::Unwatched) | None);
            wrong += usize::from(untrue && claim.kind == shape.kind);
        }
        self.wrong += wrong;
        self.wronged += usize::from(wrong > 0);
    }
}
