//! What the tools say of captures whose truth is known.

use super::*;

const KINDS_OF_NAGLE: [&str; 4] = [
    "write-write-read",
    "odd-full-short-final",
    "buffer-tearing",
    "nagle-round-trip",
];

/// A capture in which diagnose is certain that another wait is one of these: a known error (book/src/evidence/diagnose.md).
const MISTAKEN: [&str; 1] = ["gvisor-header-and-slow-body"];

/// Captures in which it counts another stall as one of these, likely or behind a full buffer.
const NOT_TOLD: [&str; 2] = [
    "answer-first-window-of-one-far",
    "smoltcp-send-buffer-of-2048",
];

#[test]
fn yes_and_no_agree_with_what_is_known_of_every_capture() {
    for corpus in ["corpus", "corpus/rare"] {
        let corpus = folder(corpus);
        let mut client = Client::start(&["--root", &corpus]);
        let truth = fs::read(format!("{corpus}/truth.json")).unwrap();
        let truth: Vec<Value> = serde_json::from_slice(&truth).unwrap();
        let mut count = BTreeMap::new();
        let mut silent = Vec::new();
        for one in &truth {
            let pattern = one["pattern"].as_str().unwrap();
            let told = client.call(
                "is_it_nagle",
                &json!({"capture": format!("{pattern}.pcap")}),
            );
            let stalls = one["stalls"].as_array().unwrap();
            let is_nagle = stalls
                .iter()
                .any(|it| KINDS_OF_NAGLE.contains(&it["kind"].as_str().unwrap_or_default()));
            let answer = told["answer"].as_str().unwrap();
            *count.entry(answer.to_owned()).or_insert(0) += 1;
            let is_mistaken = MISTAKEN.contains(&pattern);
            assert!(
                answer != "yes" || is_nagle || is_mistaken,
                "{pattern}: {told}"
            );
            assert!(
                answer == "cannot_tell" || !NOT_TOLD.contains(&pattern),
                "{pattern}: {told}"
            );
            if answer == "no" && is_nagle {
                silent.push(pattern.to_owned());
            }
            let frames = told["frames"].as_array().unwrap();
            assert_eq!(
                answer == "yes",
                told["stalls"].as_u64().unwrap() > 0,
                "{pattern}: {told}"
            );
            assert!(answer != "yes" || !frames.is_empty(), "{pattern}: {told}");
            assert_eq!(
                answer == "cannot_tell",
                !told["why_not_told"].as_array().unwrap().is_empty(),
                "{pattern}: {told}"
            );
            agrees_with_diagnose(&told, &format!("{corpus}/{pattern}.pcap"));
            assert!(
                told.to_string().len() < 12_000,
                "{pattern}: {} octets",
                told.to_string().len()
            );
        }
        println!("{corpus}: {count:?}; no, although it was: {silent:?}");
        assert_eq!(silent, Vec::<String>::new());
    }
}

/// The two doors say the same of a capture: a yes counts each hold by what released it, and what is only likely is told.
fn agrees_with_diagnose(told: &Value, capture: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_tinygram"))
        .args(["diagnose", "--json", capture])
        .output()
        .unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = document["findings"].as_array().unwrap();
    let is_counted = |one: &&Value| one["confidence"] != "possible";
    let is_of_nagle = |one: &&Value| KINDS_OF_NAGLE.contains(&one["kind"].as_str().unwrap());
    let count = |name: &str| told[name]["count"].as_u64().unwrap();
    if findings
        .iter()
        .filter(is_counted)
        .any(|one| one["kind"] == "small-buffer")
    {
        // A tail may have waited for room then: diagnose says so with the other finding.
        return;
    }
    let counted: Vec<_> = findings
        .iter()
        .filter(is_counted)
        .filter(is_of_nagle)
        .collect();
    let of_round_trip = counted
        .iter()
        .filter(|one| one["kind"] == "nagle-round-trip")
        .count() as u64;
    let all = counted.len() as u64;
    let expected = match told["answer"].as_str().unwrap() {
        "yes" => (all, all - of_round_trip, of_round_trip, 0),
        _ => (0, 0, 0, all),
    };
    let found = (
        told["stalls"].as_u64().unwrap(),
        count("until_delayed_ack"),
        count("for_a_round_trip"),
        count("likely"),
    );
    assert_eq!(found, expected, "{capture}: {told}");
    let sentence = told["sentence"].as_str().unwrap();
    if found.1 > 0 && found.2 > 0 {
        let said = format!(
            "{} of these holds lasted until the other side's delayed ACK",
            found.1
        );
        assert!(sentence.contains(&said), "{capture}: {sentence}");
    }
    if found.3 > 0 {
        let said = told["why_not_told"].to_string();
        assert!(said.contains("which diagnose counts"), "{capture}: {told}");
    }
    let next = told["next"].as_str().unwrap();
    assert!(
        !findings.is_empty() || !next.contains("what else"),
        "{capture}: {next}"
    );
}

/// A fix that makes a flood of packets, or that is impossible here, is told with what warns of it.
#[test]
fn cautions_come_with_the_fixes() {
    let corpus = folder("corpus");
    let mut client = Client::start(&["--root", &corpus]);
    let mut warned = 0;
    for capture in ["wwr-client.pcap", "odd-full-short-final.pcap", "loss.pcap"] {
        let output = Command::new(env!("CARGO_BIN_EXE_tinygram"))
            .args(["diagnose", "--json"])
            .arg(format!("{corpus}/{capture}"))
            .output()
            .unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let mut known: Vec<&Value> = Vec::new();
        for finding in document["findings"].as_array().unwrap() {
            let caution = &finding["caution"];
            if !caution.is_null() && !known.contains(&caution) {
                known.push(caution);
            }
        }
        warned += known.len();
        for tool in ["diagnose", "is_it_nagle"] {
            let told = client.call(tool, &json!({"capture": capture}));
            let cautions: Vec<_> = told["cautions"].as_array().unwrap().iter().collect();
            assert_eq!(cautions, known, "{tool} of {capture}");
        }
    }
    assert!(warned >= 2, "{warned}");
}

/// An agent can join a time with what a person reads of the same capture, ask for what comes from then on, and tell the day.
#[test]
fn times_are_counted_from_the_captures_first_frame_as_diagnose_prints_them() {
    let corpus = folder("corpus");
    let capture = format!("{corpus}/wwr-client.pcap");
    let printed = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
        let output = command.arg("diagnose").arg(&capture).args(words).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let document: Value = serde_json::from_str(&printed(&["--json"])).unwrap();
    let text = printed(&["--verbose"]);
    let mut client = Client::start(&["--root", &corpus]);
    let told = client.call("diagnose", &json!({"capture": "wwr-client.pcap"}));
    assert_eq!(told["capture_start"], document["captures"][0]["start"]);
    let findings = told["findings"].as_array().unwrap();
    assert!(findings.len() > 2, "{told}");
    for finding in findings {
        let at_s = finding["at_s"].as_f64().unwrap();
        let frames = &finding["frames"];
        let frames = frames.as_array().unwrap().iter().map(ToString::to_string);
        let frames = frames.collect::<Vec<_>>().join(", ");
        let row = text
            .lines()
            .find(|line| line.contains(&format!("  {frames}  ")));
        let row = row.unwrap_or_else(|| panic!("{frames}: {text}"));
        assert!(
            row.trim_start().starts_with(&format!("{at_s:.6} s ")),
            "{at_s}: {row}"
        );
        let since = told["capture_start"].as_f64().unwrap() + at_s;
        let known = document["findings"].as_array().unwrap().iter();
        let mut starts = known.map(|known| known["start"].as_f64().unwrap());
        assert!(starts.any(|start| (start - since).abs() < 2e-6), "{since}");
    }
    let mut times: Vec<_> = findings
        .iter()
        .map(|it| it["at_s"].as_f64().unwrap())
        .collect();
    times.sort_by(f64::total_cmp);
    let from_s = times[1] - 1e-5;
    let part = json!({"capture": "wwr-client.pcap", "from_s": from_s});
    let told = client.call("diagnose", &part);
    let later = told["findings"].as_array().unwrap().iter();
    let later: Vec<_> = later.map(|it| it["at_s"].as_f64().unwrap()).collect();
    assert!(
        !later.is_empty() && later.iter().all(|at_s| *at_s >= from_s),
        "{told}"
    );
    assert!(
        later.iter().any(|at_s| (at_s - times[1]).abs() < 1e-6),
        "{told}"
    );
    let told = client.call("is_it_nagle", &json!({"capture": "wwr-client.pcap"}));
    let first = told["frames"][0]["at_s"].as_f64().unwrap();
    assert!(
        times.iter().any(|at_s| (at_s - first).abs() < 1e-6),
        "{told}"
    );
}
