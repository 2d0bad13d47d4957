//! One conversation before all judges: `watch` by the kernel and by packets (which is how `diagnose` judges), `guard` with
//! both sources, `run --policy observe` and `ps`. All must say the same of it: how many stalls, of which kind, by which
//! side, and at what cost; whether it is a flood, of how many segments; or that they cannot tell. What a flood costs is
//! Davids' overhead, in a simulated trace, a capture of it, and the kernel's counts alike.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tinygram_diagnose::{Analyzer, Report};
use tinygram_papers::davids::trace::{Measured, Parameters};
use tinygram_stalls::flood;
use tinygram_watch::event::{Connection, Event, SentTally, Writer};
use tinygram_watch::finding::{Facts, Finding};
use tinygram_watch::judge::Judge;
use tinygram_wire::capture::{Frame, LinkType};
use tinygram_wire::encode::{Path, encode};
use tinygram_wire::sequence::{Numbering, Sequence};

/// A way to talk, and what is to be said of it.
struct Way {
    name: &'static str,
    /// The kind and the side of its stalls.
    stalls: Option<(&'static str, &'static str)>,
    /// The side that floods. `run --policy observe` and `guard` look for stalls alone, and find none there.
    floods: Option<&'static str>,
    /// Whether only the kernel can see them: a corked segment leaves by a timer of its sender, and nothing on the wire or in
    /// the program's calls tells that from a program that thinks. The others say that they cannot tell.
    by_kernel_alone: bool,
}

const WAYS: [Way; 10] = [
    Way::stalls("client in two writes", "write-write-read", "client"),
    Way::stalls("server in two writes", "write-write-read", "server"),
    Way::clean("client in two writes, NODELAY"),
    Way::clean("server in two writes, NODELAY"),
    Way::clean("server thinks"),
    Way::clean("whole messages"),
    Way::seen_by_kernel_alone("client corks", "cork-held", "client"),
    Way::seen_by_kernel_alone("server corks", "cork-held", "server"),
    Way::floods("client in thirty writes, NODELAY", "client"),
    Way::floods("server in thirty writes, NODELAY", "server"),
];

impl Way {
    const fn clean(name: &'static str) -> Self {
        Self {
            name,
            stalls: None,
            floods: None,
            by_kernel_alone: false,
        }
    }

    const fn floods(name: &'static str, side: &'static str) -> Self {
        Self {
            floods: Some(side),
            ..Self::clean(name)
        }
    }

    const fn stalls(name: &'static str, kind: &'static str, side: &'static str) -> Self {
        Self {
            name,
            stalls: Some((kind, side)),
            floods: None,
            by_kernel_alone: false,
        }
    }

    const fn seen_by_kernel_alone(
        name: &'static str,
        kind: &'static str,
        side: &'static str,
    ) -> Self {
        Self {
            by_kernel_alone: true,
            ..Self::stalls(name, kind, side)
        }
    }

    /// Returns how many stalls the kernel shows: the first exchange of a connection is acknowledged at once, and a
    /// cork holds in that one, too.
    fn most(&self) -> usize {
        match (self.stalls, self.by_kernel_alone) {
            (None, _) => 0,
            (Some(_), false) => EXCHANGES - 1,
            (Some(_), true) => EXCHANGES,
        }
    }
}

/// What a judge said of the conversation: kinds with sides, and costs in milliseconds.
#[derive(Debug, Default)]
struct Said {
    stalls: Vec<(String, String)>,
    costs_ms: Vec<f64>,
    /// Floods: their sides and segments.
    floods: Vec<(String, u64)>,
    /// Messages of which it says that it cannot tell.
    untold: u64,
}

impl Said {
    fn mean_ms(&self) -> f64 {
        self.costs_ms.iter().sum::<f64>() / (self.costs_ms.len() as f64).max(1.0)
    }
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn all_judges_say_the_same() {
    let Some(probe) = watch(&["--once", "1ms"]) else {
        return;
    };
    ended(probe);
    for way in &WAYS {
        // What a busy machine delays may be one stall more or fewer for some of them.
        let agree = (0..TRIES).any(|_| match differs(way) {
            None => true,
            Some(difference) => {
                eprintln!("{}: {difference}", way.name);
                false
            }
        });
        assert!(agree, "{}: not the same in {TRIES} tries", way.name);
    }
}

/// Davids' client with TCP_NODELAY, for 200 writes and not for 50, which are no habit. The simulation, a capture of it and
/// what the kernel counts of as much have one overhead and one cost.
#[test]
fn a_flood_costs_davids_overhead() {
    let parameters = Parameters {
        writes: 200,
        naglim: 1,
        ..Parameters::FAST
    };
    let trace = parameters.run();
    let (data, acks) = (trace.data.len() as u32, trace.acks.len() as u32);
    let overhead = trace.percent_of_data(trace.total_overhead());

    let report = captured(&trace);
    let [of_packets] = report.findings.as_slice() else {
        panic!("{:?}", report.findings);
    };
    let tinygram_diagnose::Facts::Flood(flood) = &of_packets.facts else {
        panic!("{of_packets:?}");
    };
    assert_eq!(flood.segments, data);
    assert!(
        (flood.overhead_percent - overhead).abs() < 1e-9,
        "{flood:?} and {overhead}"
    );

    let of_the_kernel = counted(&parameters, data);
    let Facts::Flood {
        segments, bytes, ..
    } = of_the_kernel.facts
    else {
        panic!("{of_the_kernel:?}");
    };
    let counts = flood::Counts {
        bytes,
        ..flood::Counts::default()
    };
    let counted_overhead = counts.overhead_percent(segments as u32, acks);
    assert!(
        (counted_overhead - overhead).abs() < 1e-9,
        "{counted_overhead} and {overhead}"
    );
    assert_eq!(of_packets.cost(), of_the_kernel.cost);
    assert_eq!(of_packets.sender, of_the_kernel.side);
    assert_eq!(of_packets.tier(), of_the_kernel.tier);
}

/// Returns what `diagnose` says of a capture of a trace, taken where each segment left.
fn captured(trace: &Measured) -> Report {
    let ends: [SocketAddr; 2] = ["10.0.0.1:50000", "10.0.0.2:23"].map(|it| it.parse().unwrap());
    let numbers = [Sequence::new(1_000), Sequence::new(2_000)];
    let mut sent = trace.sent.clone();
    sent.sort_by_key(|(_, frame)| frame.at);
    let mut analyzer = Analyzer::new(tinygram_diagnose::Parameters::default());
    let mut packet = Vec::new();
    for (at, (from, frame)) in sent.iter().enumerate() {
        let [own, other] = [from.index(), from.other().index()];
        let path = Path::new(ends[own], ends[other]).unwrap();
        let numbering = Numbering {
            data: numbers[own],
            acks: numbers[other],
            window_shift: 0,
        };
        let payload = vec![0; frame.segment.len as usize];
        encode(&path, &numbering, &frame.segment, &payload, &mut packet);
        analyzer.frame(&Frame {
            number: at as u64 + 1,
            // The writes come at equal steps, and what no clock stamps is not judged.
            time_ns: 1_700_000_000_000_000_000
                + frame.at.as_nanos() as i64
                + (at * at) as i64 * 37 % 1_000,
            link: LinkType::RAW,
            data: &packet,
            wire_len: packet.len() as u32,
        });
    }
    analyzer.finish()
}

/// Returns what `watch` says of as many segments, by the kernel's counts: each write came at once behind the one before.
fn counted(parameters: &Parameters, segments: u32) -> Finding {
    let mut found = Vec::new();
    let tally = SentTally {
        connection: Connection {
            cookie: 1,
            netns: 1,
            local: "10.0.0.1:50000".parse().unwrap(),
            remote: "10.0.0.2:23".parse().unwrap(),
            mss: 1460,
            srtt_ns: 0,
            min_rtt_ns: None,
            accepted: Some(false),
        },
        writer: Writer {
            pid: 1,
            thread: 1,
            uid: 0,
            cgroup: 1,
            comm: "client".into(),
        },
        start_ns: 0,
        end_ns: parameters.generating.as_nanos() as i64,
        bytes: u64::from(parameters.writes) * parameters.write,
        segments,
        writes: parameters.writes,
        close: parameters.writes - 1,
        slower: 0,
        unseen: 0,
        turns: 0,
        short_holds: 0,
        nodelay: true,
    };
    Judge::default().take(Event::Tally(tally), |finding| found.push(finding));
    found.pop().expect("a flood")
}

/// Returns in which way the judges differ.
fn differs(way: &Way) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let watches = [
        watch(&[]).expect("it could before"),
        watch(&["-i", "lo"]).expect("with the same rights"),
    ];
    let observed = folder.path().join("observed");
    let (port, signs) = talk(way, &observed);
    thread::sleep(Duration::from_millis(300));
    let [kernel, packets] = watches.map(|watch| of_port(&ended(watch), &port));
    let observed = observe(&observed);
    let guards = ["kernel", "preload"].map(|source| guarded(way, source));

    let most = way.most();
    let elsewhere = if way.by_kernel_alone { 0 } else { most };
    let counts = [
        ("watch by the kernel", kernel.stalls.len(), most),
        ("watch by packets", packets.stalls.len(), elsewhere),
        ("run --policy observe", observed.stalls.len(), elsewhere),
        ("guard by the kernel", guards[0], most),
        ("guard by the library", guards[1], elsewhere),
    ];
    if let Some((judge, is, should)) = counts.iter().find(|(_, is, should)| is != should) {
        return Some(format!("{judge} says {is} stalls and not {should}"));
    }
    let (kind, side) = way.stalls.unwrap_or_default();
    for said in [&kernel, &packets] {
        if let Some(other) = said.stalls.iter().find(|(k, s)| k != kind || s != side) {
            return Some(format!("{other:?} instead of {kind} by the {side}"));
        }
    }
    if let Some((_, other)) = observed.stalls.iter().find(|(_, s)| s != side) {
        return Some(format!("run --policy observe blames the {other}"));
    }
    if elsewhere > 0 {
        let means = [kernel.mean_ms(), packets.mean_ms(), observed.mean_ms()];
        let least = means.iter().copied().fold(f64::MAX, f64::min);
        let longest = means.iter().copied().fold(0.0, f64::max);
        if longest - least > MOST_APART_MS {
            return Some(format!("mean costs of {means:?} ms"));
        }
    }
    // Where one sees less, it says that it cannot tell. Others talk on this interface, too.
    let untold = [packets.untold, observed.untold];
    if way.by_kernel_alone && untold.iter().any(|count| *count < LEAST_UNTOLD) {
        return Some(format!(
            "packets and observe cannot tell {untold:?} messages only"
        ));
    }
    let floods = [("kernel", &kernel.floods), ("packets", &packets.floods)];
    floods
        .into_iter()
        .find_map(|(source, floods)| wrong_flood(way, floods).map(|why| format!("{source}: {why}")))
        .or_else(|| wrong_sign(way, &signs))
}

/// Returns what is wrong with the floods that a `watch` saw.
fn wrong_flood(way: &Way, floods: &[(String, u64)]) -> Option<String> {
    let Some(side) = way.floods else {
        return (!floods.is_empty()).then(|| format!("floods: {floods:?}"));
    };
    let segments: u64 = floods.iter().map(|(_, segments)| segments).sum();
    let other = floods.iter().find(|(by, _)| by != side);
    // What the kernel counts after its last look is not in a finding.
    let most = (EXCHANGES * PIECES) as u64;
    let all = (most * 3 / 4..=most).contains(&segments);
    (other.is_some() || !all).then(|| format!("{floods:?}, and not {most} segments by the {side}"))
}

/// Returns what is wrong with the signs that `ps` saw, each with its end: it sees an instant, and what it calls held must be
/// held, by the end that holds; and a flood is one by the law's measure.
fn wrong_sign(way: &Way, signs: &[(String, String)]) -> Option<String> {
    let (known, side): (&[&str], &str) = match (way.stalls, way.floods) {
        (Some((_, side)), _) if way.by_kernel_alone => (&["corked-now"], side),
        (Some((_, side)), _) => (&["held-now", "looks-like-stall"], side),
        (None, Some(side)) => (&["looks-like-flood"], side),
        (None, None) => (&[], ""),
    };
    let fits = |(kind, end): &&(String, String)| known.contains(&kind.as_str()) && end == side;
    if let Some((kind, end)) = signs.iter().find(|sign| !fits(sign)) {
        return Some(format!("ps says {kind} of the {end}"));
    }
    let needed = known.first().filter(|_| !way.by_kernel_alone)?;
    let never = !signs.iter().any(|(kind, _)| kind == needed);
    never.then(|| format!("ps never says {needed}"))
}

/// Holds the conversation while `run --policy observe` counts, and returns its port and the signs that `ps` saw, each with
/// its end.
fn talk(way: &Way, observed: &std::path::Path) -> (String, Vec<(String, String)>) {
    let mut command = tinygram(&["run", "--policy", "observe", "--stats=json", "--stats-to"]);
    command
        .arg(observed)
        .arg("--")
        .args(conversation(way, "0.3"));
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut port = String::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    lines.read_line(&mut port).unwrap();
    let port = port.trim().to_owned();
    let mut signs = Vec::new();
    while child.try_wait().unwrap().is_none() {
        let output = tinygram(&["ps", "--json", &port]).output().unwrap();
        let Ok(seen) = serde_json::from_slice::<Value>(&output.stdout) else {
            continue;
        };
        for connection in seen["connections"].as_array().into_iter().flatten() {
            if let Some(kind) = connection["verdict"]["kind"].as_str() {
                let local = connection["local"].as_str().unwrap_or_default();
                let serves = local.ends_with(&format!(":{port}"));
                let end = if serves { "server" } else { "client" };
                signs.push((kind.to_owned(), end.to_owned()));
            }
        }
    }
    (port, signs)
}

fn conversation(way: &Way, wait_s: &str) -> Vec<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/judging/conversation.py");
    let times = EXCHANGES.to_string();
    ["python3", script, way.name, &times, wait_s]
        .map(str::to_owned)
        .into()
}

/// Returns how many stalls `guard` counts.
fn guarded(way: &Way, source: &str) -> usize {
    let mut command = tinygram(&["guard", "--source", source, "--"]);
    let output = command.args(conversation(way, "0.1")).output().unwrap();
    let said = said(&output);
    let count = said.lines().find_map(|line| {
        let rest = line.strip_prefix("tinygram guard: ")?;
        let (count, rest) = rest.split_once(' ')?;
        rest.starts_with("connection stall")
            .then(|| count.parse().ok())?
    });
    let count: usize = count.unwrap_or_else(|| panic!("{said}"));
    let is_told = !(way.by_kernel_alone && source == "preload");
    assert_eq!(said.contains("a cork"), !is_told, "{said}");
    let code = if is_told {
        i32::from(count > 0)
    } else {
        CANNOT_TELL
    };
    assert_eq!(output.status.code(), Some(code), "{said}");
    count
}

fn observe(file: &std::path::Path) -> Said {
    let text = std::fs::read_to_string(file).unwrap();
    let stats: Value = serde_json::from_str(&text).unwrap();
    let mut said = Said::default();
    for peer in stats["counts"]["peers"].as_array().unwrap() {
        let side = match peer["accepted"].as_bool() {
            Some(true) => "server",
            _ => "client",
        };
        let stalls = peer["stalls"].as_u64().unwrap();
        said.untold += peer["corked"].as_u64().unwrap();
        let each_ms = peer["stalled_ms"].as_f64().unwrap() / (stalls as f64).max(1.0);
        for _ in 0..stalls {
            said.stalls.push((String::new(), side.to_owned()));
            said.costs_ms.push(each_ms);
        }
    }
    said
}

/// Returns what a `watch` said of a port's connections.
fn of_port(output: &Output, port: &str) -> Said {
    let mut said = Said::default();
    let is_end = |end: &Value| {
        let end = end.as_str().unwrap_or_default();
        end.ends_with(&format!(":{port}"))
    };
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let event: Value = serde_json::from_str(line).expect("JSON");
        said.untold += event["seen"]["timed"].as_u64().unwrap_or(0);
        if event["event"] == "summary" || !(is_end(&event["local"]) || is_end(&event["remote"])) {
            continue;
        }
        if event["tier"] == "possible" {
            continue;
        }
        // Not its side, which is that of the end whose process is known: of a connection that is over, perhaps only the receiver's.
        let word = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        if event["event"] == "flood" {
            let segments = event["segments"].as_u64().unwrap();
            said.floods.push((word("sender"), segments));
            continue;
        }
        said.stalls.push((word("kind"), word("sender")));
        said.costs_ms.push(event["cost_ns"].as_f64().unwrap() / 1e6);
    }
    said
}

/// Starts `watch`, and returns once it sees; `None`, and says why, if it may not.
fn watch(words: &[&str]) -> Option<Child> {
    let mut command = tinygram(&["watch", "--json"]);
    let mut child = command
        .args(words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    said.read_line(&mut line).unwrap();
    // Whatever else it says must find room.
    thread::spawn(move || said.read_to_string(&mut String::new()));
    if line.contains("asking the kernel") || line.contains("reading packets") {
        return Some(child);
    }
    child.wait().unwrap();
    eprintln!("skipped: {}", line.trim());
    None
}

fn ended(watch: Child) -> Output {
    // SAFETY: a process of this test's.
    unsafe { libc::kill(watch.id().cast_signed(), libc::SIGINT) };
    watch.wait_with_output().unwrap()
}

fn tinygram(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    command.args(words);
    command
}

fn said(output: &Output) -> String {
    let text = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    text.concat()
}

const EXCHANGES: usize = 12;
/// A flooding end writes each of its messages in as many.
const PIECES: usize = 30;
const TRIES: usize = 3;
/// Of its 12 messages; the first answers nothing.
const LEAST_UNTOLD: u64 = 6;
/// The exit code of what could not look at everything.
const CANNOT_TELL: i32 = 3;
/// Each judge has its own clock and begins at its own instant: the call, the hold, or the packet before it.
const MOST_APART_MS: f64 = 4.0;
