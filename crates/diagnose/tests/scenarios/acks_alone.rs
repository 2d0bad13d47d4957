//! Without a handshake ACKs alone tell the round trip, and they bound it: recorded conversations whose SYNs are cut off.

use std::path::Path;

use tinygram_diagnose::{Analyzer, Kind, Lookalike, Parameters, Report, Tier};
use tinygram_engine::Flags;
use tinygram_wire::capture::Reader;
use tinygram_wire::decode;

use crate::player::Player;

/// Whether the frames with SYN are read.
#[derive(Clone, Copy, PartialEq)]
enum Syns {
    Kept,
    Cut,
}

/// Reads a capture of the corpus; the frames keep their numbers.
fn report(name: &str, syns: Syns, explain: Option<u64>) -> Report {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../corpus/{name}.pcap"));
    let file = std::fs::File::open(path).expect("the corpus is kept");
    let mut reader = Reader::new(file).expect("it is a capture");
    let mut analyzer = Analyzer::new(Parameters {
        explain,
        ..Parameters::default()
    });
    while let Some(frame) = reader.next_frame().expect("it is whole") {
        let is_syn = decode::segment(&frame).is_some_and(|it| it.flags.any(Flags::SYN));
        if syns == Syns::Kept || !is_syn {
            analyzer.frame(&frame);
        }
    }
    analyzer.finish()
}

/// Returns how many findings have a reason with these words.
fn with(words: &str, report: &Report) -> usize {
    let findings = report.findings.iter();
    let with = findings.filter(|it| it.evidence().iter().any(|reason| reason.contains(words)));
    with.count()
}

/// Each reason says "at most" of the way to the sender, and each states it as measured behind a handshake.
#[test]
fn a_reason_says_at_most_of_the_way_to_the_sender() {
    let (measured, bounded) = (
        "which is the round trip from the capture point to the client (",
        "the round trip from the capture point to the client is at most ",
    );
    let whole = report("wwr-rtt20-far", Syns::Kept, None);
    assert!(!whole.findings.is_empty());
    assert_eq!(with(measured, &whole), whole.findings.len());
    assert_eq!(with(bounded, &whole), 0);
    let cut = report("wwr-rtt20-far", Syns::Cut, None);
    assert!(!cut.findings.is_empty());
    assert_eq!(with(bounded, &cut), cut.findings.len());
    assert_eq!(with(measured, &cut), 0);
}

/// A prompt ACK is as fast as the path allows, or only as the fastest ACK.
#[test]
fn a_prompt_ack_is_compared_with_the_fastest_one() {
    let (path, fastest) = ("as fast as the path allows", "as fast as its fastest ACK");
    let whole = report("vpn-late-acks", Syns::Kept, None);
    let cut = report("vpn-late-acks", Syns::Cut, None);
    assert!(with(path, &whole) > 0 && with(fastest, &whole) == 0);
    assert!(with(fastest, &cut) > 0 && with(path, &cut) == 0);
}

/// That nobody delayed the ACK is certain only behind a handshake: the fastest ACK may have waited for a timer, too.
#[test]
fn a_round_trip_that_acks_alone_tell_is_never_certain() {
    let certain = |name: &str, syns| {
        let report = report(name, syns, None);
        let of_the_kind = report.findings.iter();
        let of_the_kind = of_the_kind.filter(|it| it.kind == Kind::NagleRoundTrip);
        let (certain, not): (Vec<_>, Vec<_>) =
            of_the_kind.partition(|it| it.tier() == Tier::Certain);
        let bounds = not.iter().filter_map(|it| it.bounded_by());
        let by_the_path = bounds.filter(|it| it.check.name == "bounded-path");
        (certain.len(), by_the_path.count())
    };
    let (whole, bounded) = certain("vpn-late-acks", Syns::Kept);
    assert!(whole > 0 && bounded == 0, "{whole} {bounded}");
    for name in corpus() {
        assert_eq!(certain(&name, Syns::Cut).0, 0, "{name}");
        assert_eq!(certain(&name, Syns::Kept).1, 0, "{name}");
    }
    assert!(certain("vpn-late-acks", Syns::Cut).1 > 0);
}

/// Far from the sender, and without a handshake, one hold for a round trip is no proof. It is possible, and not forgotten.
#[test]
fn what_acks_alone_suggest_is_possible() {
    let asks = "
        10    c P 300
        10.1  s .
        20    s P 300
        60    c .
    ";
    let holds = "
        10    c P 100
        10.1  s .
        50.1  c P 200
        50.3  s P 300
        90.3  c .
    ";
    let mut player = Player::new();
    for _ in 0..4 {
        player.play(asks).later(1000);
    }
    player.play(holds);
    let report = player.report();
    let found: Vec<_> = report
        .findings
        .iter()
        .map(|it| (it.kind, it.tier()))
        .collect();
    assert_eq!(found, [(Kind::NagleRoundTrip, Tier::Possible)]);
}

/// Returns the names of the corpus' captures that this format reads.
fn corpus() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let entries = std::fs::read_dir(folder).expect("the corpus is kept");
    let names = entries.filter_map(|entry| {
        let name = entry.expect("an entry").file_name();
        Some(name.to_str()?.strip_suffix(".pcap")?.to_owned())
    });
    names.collect()
}

/// The lookalike's reason in a row and in the story of a frame.
#[test]
fn a_plain_round_trip_is_one_as_far_as_acks_tell() {
    let path = "as fast as the path allows";
    for (syns, is_paths) in [(Syns::Kept, true), (Syns::Cut, false)] {
        let found = report("round-trip-only", syns, None);
        let row = found.connections.first().expect("a connection");
        assert_eq!(row.rtt_measured, is_paths);
        let reason = Lookalike::RoundTrip.reason_if(row.rtt_measured);
        assert_eq!(reason.contains(path), is_paths);
        let frame = row.ruled_out.of(Lookalike::RoundTrip).first_frame;
        let story = report("round-trip-only", syns, Some(frame)).explanation;
        let said = format!("So it is no stall but round-trip: {reason}.");
        assert!(story.contains(&said), "{story:?}");
    }
}
