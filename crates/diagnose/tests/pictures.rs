//! What is reported for each capture of the recorded corpus, number by number, as pictures beside
//! this file.
//!
//! A change of a rule shows here which numbers of which capture it changed; `INSTA_UPDATE=always`
//! renews the pictures. `corpus.rs` checks that the stalls are true.

mod common;

use std::fmt::Write as _;
use std::path::PathBuf;

use tinygram_diagnose::{
    ConnectionReport, Direction, Facts, Finding, Lookalike, Report, Sight, Summary,
};

/// Connections and findings of one capture that are drawn; the totals count all of them.
const DRAWN: usize = 6;

fn us(ns: i64) -> String {
    format!("{}.{:03} us", ns / 1000, (ns % 1000).abs())
}

fn perhaps(ns: Option<i64>) -> String {
    ns.map_or("unknown".to_owned(), us)
}

fn sight(sight: &Sight) -> String {
    let dominant = sight
        .dominant()
        .map_or("nothing", |(dominant, _)| dominant.name());
    format!(
        "data segments {}, one direction {}, gappy {}, clock steps {}, fine clock {}\n\
         lifetime {}, loss {}, zero window {}, server {}; most of it: {dominant}\n\
         unwatched {} for {}\n",
        sight.data,
        sight.one_direction,
        sight.gappy,
        sight.clock_steps,
        sight.fine_clock,
        us(sight.lifetime_ns),
        us(sight.loss_ns),
        us(sight.zero_window_ns),
        us(sight.server_ns),
        sight.unwatched,
        us(sight.unwatched_ns),
    )
}

fn totals(summary: &Summary) -> String {
    format!(
        "{}: {} frames, {} segments, {} connections, {} stalls of {}, {} possible of {}, {} floods\n",
        summary.verdict().name(),
        summary.frames,
        summary.segments,
        summary.connections,
        summary.stalls,
        us(summary.cost_ns),
        summary.possible,
        us(summary.possible_ns),
        summary.floods
    ) + &sight(&summary.sight)
}

fn direction(of: &Direction) -> String {
    format!(
        "{} bytes in {} segments, {} short, {} again; MSS {} ({}), offload {}, {}, ACK timer {}, ACK every {}\n",
        of.bytes,
        of.segments,
        of.short,
        of.retransmitted,
        of.mss,
        of.mss_source,
        of.offload,
        of.policy,
        perhaps(of.ack_timer_ns),
        of.ack_every
            .map_or("unknown".to_owned(), |n| format!("{n:.3}")),
    )
}

fn connection(of: &ConnectionReport) -> String {
    let mut text = format!(
        "\nconnection {} {} > {}: {} frames in {}, handshake {}, round trip {}, {}, {} stalls of {}\n",
        of.id,
        of.client,
        of.server,
        of.frames,
        us(of.duration_ns()),
        of.handshake,
        perhaps(of.rtt_ns),
        of.capture_point.name(),
        of.stalls,
        us(of.cost_ns)
    );
    text += &format!("  client: {}", direction(&of.directions[0]));
    text += &format!("  server: {}", direction(&of.directions[1]));
    for (lookalike, tally) in of.ruled_out.iter() {
        let events = of.ruled_out.events();
        let frames: Vec<_> = events
            .iter()
            .filter(|event| event.kind == lookalike)
            .map(|event| event.frame)
            .collect();
        let (count, time) = (tally.count, us(tally.time_ns));
        let _ = writeln!(
            text,
            "  {}: {count} of {time}, first {}, frames {frames:?}",
            lookalike.name(),
            tally.first_frame
        );
    }
    text
}

fn finding(of: &Finding) -> String {
    let frames: Vec<_> = of.frames.iter().map(|mark| mark.frame).collect();
    let mut text = format!(
        "\n{} {} by the {} ({} to blame) in connection {}, frames {frames:?}, {}, {:?}\n",
        of.tier(),
        of.kind,
        of.sender,
        of.blame,
        of.connection,
        of.cost(),
        of.pieces
    );
    let _ = match &of.facts {
        Facts::Hold(hold) => writeln!(
            text,
            "  {} + {} bytes behind {}, ACK after {}, reaction {}, distance {}, off {}, room {}, MSS {}, \
             pushed {}, fresh {}, prompt {}, repeated {}",
            hold.trigger_len,
            hold.held_len,
            hold.flight,
            us(hold.ack_wait_ns),
            us(hold.reaction_ns),
            perhaps(hold.sender_distance_ns),
            us(hold.off_ns),
            hold.room,
            hold.mss,
            hold.pushed,
            hold.fresh,
            hold.prompt,
            hold.repeated,
        ),
        Facts::Flood(flood) => writeln!(
            text,
            "  {} of {} short, {} bytes, {} to be saved, {:.3} % for {:.3} %, {:.3} a second",
            flood.short,
            flood.segments,
            flood.bytes,
            flood.saved,
            flood.overhead_percent,
            flood.coalesced_percent,
            flood.per_second
        ),
    };
    for sentence in of.evidence() {
        let _ = writeln!(text, "  {sentence}");
    }
    text
}

fn picture(report: &Report) -> String {
    let connections = report.connections.iter().take(DRAWN).map(connection);
    let findings = report.findings.iter().take(DRAWN).map(finding);
    totals(&report.summary) + &connections.chain(findings).collect::<String>()
}

#[test]
fn every_number_of_every_recorded_capture_is_as_it_was_drawn() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut captures: Vec<_> = std::fs::read_dir(folder)
        .expect("the corpus is kept")
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.extension().is_some_and(|end| end == "pcap"))
        .collect();
    captures.sort();
    assert!(captures.len() >= 50, "the corpus has shrunk");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("pictures");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for path in captures {
            let name = path.file_stem().expect("a name").to_string_lossy();
            insta::assert_snapshot!(name.as_ref(), picture(&common::diagnose(&path)));
        }
    });
}

/// Every lookalike is in `ALL` at the place of its number, so that the list covers all tallies.
#[test]
fn every_lookalike_has_its_place_in_the_list() {
    for (at, lookalike) in Lookalike::ALL.into_iter().enumerate() {
        assert_eq!(lookalike as usize, at);
    }
}
