//! Real captures made by others, in the folder `shared` beside the repository; each gives what its
//! name says. Skipped if the folder is missing.

mod common;

use std::path::PathBuf;

use tinygram_diagnose::{Finding, Kind, Obstacle, Report, Side};

fn report(name: &str) -> Option<Report> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures");
    let path = folder.join(name);
    if !path.exists() {
        println!("skipped: ../shared/captures/{name} is not there");
        return None;
    }
    Some(common::diagnose(&path))
}

fn stalls(report: &Report) -> Vec<&Finding> {
    report
        .findings
        .iter()
        .filter(|f| f.kind.is_stall() && f.tier().accuses())
        .collect()
}

/// Sender and cost in whole milliseconds of each stall.
fn costs(report: &Report) -> Vec<(Side, i64)> {
    let ms = |f: &&Finding| (f.sender, (f.cost_ns + 500_000) / 1_000_000);
    stalls(report).iter().map(ms).collect()
}

use Side::{Client, Server};

#[test]
fn write_write_read_agrees_with_its_ground_truth() {
    let Some(report) = report("write-write-read-41ms.pcap") else {
        return;
    };
    assert_eq!(
        costs(&report),
        [(Client, 41), (Client, 40), (Client, 41), (Client, 40)]
    );
    // The log has a line for each event: the client reads once the held body has left, and the
    // server logs when it has read the body.
    let log = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/captures/write-write-read-41ms.ground-truth.log");
    let text = std::fs::read_to_string(log).expect("the log lies beside the capture");
    let mut wrote_body = None;
    let mut waits_ms = Vec::new();
    for line in text.lines() {
        let Some(seconds) = line
            .split_whitespace()
            .next()
            .and_then(|t| t.parse::<f64>().ok())
        else {
            continue;
        };
        if line.ends_with("client: will write body") {
            wrote_body = Some(seconds);
        } else if line.ends_with("server: read body packet")
            && let Some(began) = wrote_body.take()
        {
            waits_ms.push((seconds - began) * 1e3);
        }
    }
    let late: Vec<_> = waits_ms.into_iter().filter(|ms| *ms > 20.0).collect();
    assert_eq!(late.len(), 4, "{late:?}");
    for (finding, waited_ms) in stalls(&report).into_iter().zip(late) {
        let found_ms = finding.cost_ns as f64 / 1e6;
        assert!(
            (found_ms - waited_ms).abs() <= 1.0,
            "{found_ms} and {waited_ms}"
        );
        assert_eq!(finding.kind, Kind::WriteWriteRead);
    }
}

#[test]
fn plc_has_35_of_200_ms() {
    let Some(report) = report("plc-windows-200ms.pcapng") else {
        return;
    };
    let costs = costs(&report);
    assert_eq!(costs.len(), 35);
    assert!(
        costs
            .iter()
            .all(|&(side, ms)| side == Server && (190..=215).contains(&ms)),
        "{costs:?}"
    );
}

#[test]
fn dnp3_has_one_of_40_and_one_of_200_on_opposite_sides() {
    let Some(report) = report("dnp3-40ms-and-200ms.pcap") else {
        return;
    };
    assert_eq!(costs(&report), [(Client, 40), (Server, 201)]);
}

#[test]
fn smtp_has_one_of_40_before_three_bytes() {
    let Some(report) = report("smtp-short-final-segment-40ms.pcap") else {
        return;
    };
    let of_client = report.findings.iter().filter(|f| f.sender == Client);
    let held: Vec<_> = of_client
        .filter_map(|f| match &f.facts {
            tinygram_diagnose::Facts::Hold(hold) => Some((f.cost_ns / 1_000_000, hold.held_len)),
            tinygram_diagnose::Facts::Flood(_) => None,
        })
        .collect();
    assert_eq!(held, [(40, 3)]);
    // The server has a stall, too: it answers RCPT and DATA, which arrived together (frame 11), in
    // two writes, and the second (14) leaves one round trip after the ACK (13), 41 ms after the
    // first (12).
    assert_eq!(costs(&report), [(Server, 41), (Client, 40)]);
}

#[test]
fn rsync_has_three_in_both_directions() {
    let Some(report) = report("rsync-both-directions-40ms.pcap") else {
        return;
    };
    assert_eq!(costs(&report), [(Client, 38), (Server, 40), (Server, 38)]);
}

#[test]
fn ssh_has_four_of_41() {
    let Some(report) = report("ssh-41ms.pcap") else {
        return;
    };
    let costs = costs(&report);
    assert_eq!(costs.len(), 4);
    assert!(
        costs.iter().all(|&(_, ms)| (40..=42).contains(&ms)),
        "{costs:?}"
    );
}

#[test]
fn vnc_is_a_flood_without_a_stall() {
    let Some(report) = report("vnc-tinygram-flood.pcap") else {
        return;
    };
    assert_eq!(costs(&report), []);
    assert!(report.summary.floods > 0);
    assert!(report.findings.iter().all(|f| f.blame == Client));
}

#[test]
fn the_controls_have_nothing() {
    for name in [
        "control-no-stall.pcap",
        "control-periodic-sender-not-nagle.pcap",
    ] {
        if let Some(report) = report(name) {
            assert!(report.findings.is_empty(), "{name}: {:#?}", report.findings);
        }
    }
}

/// Frames of the stalls that accuse somebody.
fn accused(report: &Report) -> Vec<Vec<u64>> {
    let frames = |f: &&Finding| f.frames.iter().map(|m| m.frame).collect();
    let found = stalls(report);
    found.iter().map(frames).collect()
}

#[test]
fn behind_a_slow_server_every_ack_is_delayed() {
    if let Some(report) = report("slow-server-behind-delayed-ack.pcap") {
        assert_eq!(accused(&report), [[16, 17, 18]]);
        assert_eq!(costs(&report), [(Client, 216)]);
    }
}

#[test]
fn data_that_crosses_ends_no_wait() {
    if let Some(report) = report("peer-data-crossing-ssh.pcap") {
        assert!(accused(&report).contains(&vec![8, 11, 12]));
    }
}

/// The notes beside the capture name 39 to 41 and mention three. By hand there are five: each time
/// the switch's second message left 0.94 to 1.05 ms after an ACK that was 40 ms late, and the
/// handshake shows that the switch is that far away; four of them were answered.
#[test]
fn old_echoes_of_a_stack_that_ignores_acks_refute_nothing() {
    if let Some(report) = report("timestamps-not-updated-by-acks.pcap") {
        let frames = [17, 22, 27, 34, 39].map(|first| vec![first, first + 1, first + 2]);
        assert_eq!(accused(&report), frames);
    }
}

#[test]
fn nobody_is_accused_through_a_relay() {
    if let Some(report) = report("control-phone-vpn-relay.pcap") {
        assert_eq!(accused(&report), Vec::<Vec<u64>>::new());
    }
}

#[test]
fn a_slow_uplink_is_no_delayed_ack() {
    if let Some(report) = report("control-slow-uplink.pcap") {
        assert!(report.summary.cost_ns <= 90_000_000);
    }
}

/// The notes beside the capture concern 145 to 147, where 241 ms fit no timer. The other
/// accusations there are right, by hand: the POP3 server writes `+OK` and then the message. A
/// message longer than a segment leaves with the `+OK`; a shorter one (662 bytes, each time) leaves
/// one round trip of 80 ms after the client's ACK, which is 41 to 50 ms late.
#[test]
fn a_wait_that_fits_no_timer_is_no_cork() {
    let Some(report) = report("control-not-corked.pcap") else {
        return;
    };
    assert!(report.findings.iter().all(|f| f.kind != Kind::CorkHeld));
    for finding in stalls(&report) {
        let tinygram_diagnose::Facts::Hold(hold) = &finding.facts else {
            panic!("a stall has a hold");
        };
        assert_eq!((finding.sender, hold.held.frame == 147), (Server, false));
        let (late_ns, reaction_ns) = (hold.ack_wait_ns, hold.reaction_ns);
        let prompt = finding.kind == Kind::NagleRoundTrip;
        assert!(
            prompt || (38_000_000..60_000_000).contains(&late_ns),
            "{hold:?}"
        );
        assert!((70_000_000..115_000_000).contains(&reaction_ns), "{hold:?}");
    }
}

/// The capturing host itself held: a relay behind the far address cannot hold what this host's kernel sends.
#[test]
fn a_near_public_peer_clears_nobody_of_what_the_own_host_held() {
    if let Some(report) = report("relay-rule-clears-cloud-vm.pcap") {
        assert_eq!(costs(&report), [(Client, 41)]);
        assert_eq!(stalls(&report)[0].kind, Kind::WriteWriteRead);
    }
}

/// Where a relay may stand between, "no stalls" is not said.
#[test]
fn where_a_relay_may_stand_nothing_can_be_told() {
    for name in ["relay-rule-clears-ssh.pcap", "control-phone-vpn-relay.pcap"] {
        if let Some(report) = report(name) {
            assert_eq!(
                report.summary.obstacles().to_vec(),
                [Obstacle::Relay],
                "{name}"
            );
        }
    }
}

/// Ten of thirteen were called "odd full, short final", though the releasing ACK is that of the status line.
#[test]
fn a_short_one_behind_a_short_one_is_minshalls() {
    if let Some(report) = report("minshall-hold-behind-short.pcap") {
        let odd = |f: &&Finding| f.kind == Kind::OddFullShortFinal;
        assert_eq!(stalls(&report).iter().copied().filter(odd).count(), 0);
        assert!(accused(&report).contains(&vec![12, 13, 14]));
    }
}

/// 35, 36 and 43: "226" comes when the data connection is done. The server sends small segments while small ones are
/// unacknowledged, as the same report says.
#[test]
fn nobody_is_accused_who_holds_nothing() {
    if let Some(report) = report("control-ftp-226-not-held.pcap") {
        assert_eq!(accused(&report), Vec::<Vec<u64>>::new());
    }
}

/// Flights of 2, 2, 3 and 5 segments are slow start, and behind lost SYNs no initial window is raised.
#[test]
fn growing_flights_are_no_small_buffer() {
    if let Some(report) = report("control-slow-start-not-small-buffer.pcap.gz") {
        assert!(report.findings.iter().all(|f| f.kind != Kind::SmallBuffer));
        for finding in stalls(&report) {
            let advice = finding.advice().to_string();
            assert!(!advice.contains("initcwnd"), "{advice}");
        }
    }
}

/// The server sends every 200.04 to 200.8 ms, whatever the ACK does.
#[test]
fn a_clock_near_the_peers_timer_is_no_hold() {
    if let Some(report) = report("control-clock-of-200ms-not-nagle.pcap") {
        assert!(report.findings.is_empty(), "{:#?}", report.findings);
        assert_eq!(report.summary.sight.unwatched, 0);
    }
}

/// Nine SSH logins from a slow host, whose held segment leaves 328 to 440 us after its ACK.
#[test]
fn a_slow_hosts_logins_are_one_habit() {
    if let Some(report) = report("same-habit-328-to-440us.pcap") {
        let found = stalls(&report);
        assert_eq!(found.len(), 9);
        assert!(found.iter().all(|f| f.sender == Client));
    }
}

/// The client asks a second after the second ticket came.
#[test]
fn nobody_waits_for_session_tickets() {
    if let Some(report) = report("tls-tickets-nobody-waits.pcapng") {
        assert!(stalls(&report).is_empty());
        assert_eq!(report.summary.sight.unwatched, 1);
    }
}
