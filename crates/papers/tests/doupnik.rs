//! Doupnik's Table 1: every entry, and what it depends on.

use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_papers::Source;
use tinygram_papers::doupnik::published::{File, Pair, Setting, TABLE};
use tinygram_papers::doupnik::table::{fitted_costs, test};
use tinygram_papers::doupnik::web::WebTest;
use tinygram_papers::doupnik::{EXPERIMENTS, tail_behind_an_odd_segment};
use tinygram_papers::experiment::{Class, Effort, Outcome, PlotSeries, Row, Status};
use tinygram_papers::value::Tolerance;

fn outcome() -> Outcome {
    (EXPERIMENTS[0].run)(&Effort::PAPER)
}

fn stalls(parameters: &WebTest) -> bool {
    let mean_ms = parameters.run().mean_ms();
    assert!(!(20.0..190.0).contains(&mean_ms), "{mean_ms} ms is neither");
    mean_ms > 100.0
}

#[test]
fn no_entry_of_table_1_is_missed() {
    let rows = outcome().rows;
    let published = |row: &&Row| row.standard.is_some();
    let missed = |row: &&Row| row.status() == Status::Miss;
    assert_eq!(rows.iter().find(missed), None);
    // 22 lines of two files, a verdict and two rates each; six lines of the new policy, a ratio each.
    assert_eq!(rows.iter().filter(published).count(), 22 * 6 + 6 * 2);
    // Verdicts and ratios are ours.
    let is_wanted = |row: &&Row| row.source() == Some(Source::Derived);
    assert_eq!(rows.iter().filter(is_wanted).count(), 22 * 2 + 6 * 2);
}

/// A mismatch that agrees now must be removed from the list.
#[test]
fn known_mismatches_are_off() {
    let rows = outcome().rows;
    let known = rows
        .iter()
        .filter(|row| matches!(row.class, Class::KnownMismatch(_)));
    for row in known.clone() {
        assert_eq!(row.status(), Status::KnownMismatch, "{row:?}");
    }
    assert_eq!(known.count(), 10);
}

#[test]
fn verdicts_are_exact_and_ratios_within_5_percent() {
    for row in outcome().rows {
        let measure = row.cell.last().expect("the measure").1.to_string();
        match measure.as_str() {
            "stall" => assert_eq!(row.tolerance, Tolerance::Exact),
            "relative to Nagle off" => assert_eq!(row.tolerance, Tolerance::Share(0.05)),
            _ => assert_ne!(row.tolerance, Tolerance::Unbounded),
        }
    }
}

/// What the draft does not state changes no verdict: how the headers share their octets, and send
/// buffers that are larger (smaller ones would change some).
#[test]
fn verdicts_do_not_hang_on_what_was_assumed() {
    for pair in &TABLE {
        let costs = fitted_costs(pair);
        for setting in Setting::ALL {
            for file in File::BOTH {
                let given = test(pair, pair.server.policy(setting), file);
                let given = WebTest { costs, ..given };
                let expected = stalls(&given);
                for headers in [[30, 90], [90, 30], [110, 10]] {
                    let other = WebTest {
                        headers,
                        ..given.clone()
                    };
                    assert_eq!(stalls(&other), expected, "{other:?}");
                }
                for send_buffer in [24_576, 32_768, 65_535] {
                    let other = WebTest {
                        send_buffer,
                        ..given.clone()
                    };
                    assert_eq!(stalls(&other), expected, "{other:?}");
                }
            }
        }
    }
}

/// The draft's strict Nagle tests each segment, BSD's form each pass: with a small window the last
/// pass begins idle.
#[test]
fn unixware_with_4_kb_tells_strict_from_bsd() {
    let [wide, narrow] = [&TABLE[2], &TABLE[3]];
    let stalls = |pair: &Pair, policy| stalls(&test(pair, policy, File::Long));
    assert!(stalls(wide, SendPolicy::StrictNagle) && stalls(wide, SendPolicy::Nagle));
    assert!(stalls(narrow, SendPolicy::StrictNagle) && !stalls(narrow, SendPolicy::Nagle));
}

/// Strict Nagle stalls if the last full segment is an odd one or if there is none: this depends on
/// the file's size alone.
#[test]
fn strict_nagle_stalls_by_parity() {
    for pair in [&TABLE[0], &TABLE[2], &TABLE[3]] {
        let costs = fitted_costs(pair);
        for file in (1..40_000).step_by(487) {
            let parameters = WebTest {
                file,
                costs,
                requests: 1,
                ..test(pair, SendPolicy::StrictNagle, File::Long)
            };
            let expected = tail_behind_an_odd_segment(file);
            assert_eq!(stalls(&parameters), expected, "{file} B, {pair:?}");
        }
    }
}

/// "It works as well as both liberal Nagle (but without the held tail effect) and non-Nagle":
/// whatever the file, the window and the form.
#[test]
fn the_new_policy_never_stalls() {
    for pair in &TABLE {
        for policy in [
            SendPolicy::Doupnik,
            SendPolicy::DoupnikLiberal,
            SendPolicy::Off,
        ] {
            for file in (1..40_000).step_by(1231) {
                let given = test(pair, policy.clone(), File::Long);
                let parameters = WebTest {
                    file,
                    requests: 1,
                    ..given
                };
                assert!(!stalls(&parameters), "{file} B, {policy}, {pair:?}");
            }
        }
    }
}

/// It "retains grouping which non-Nagle mode does not": where a kernel hands a write down in
/// pieces, as FreeBSD does.
#[test]
fn the_new_policy_sends_fewer_segments_than_nagle_off() {
    let segments = |policy| test(&TABLE[0], policy, File::Long).run().segments().count();
    assert!(segments(SendPolicy::Doupnik) < segments(SendPolicy::Off));
}

#[test]
fn the_plots_show_parity_and_the_notes_the_misprints() {
    let outcome = outcome();
    for plot in [0, 2] {
        let [strict, _, liberal, new, parity] = &outcome.plots[plot].series[..] else {
            panic!("a row for each of four policies and one for parity")
        };
        // A policy has the same place, and so the same colour, in the other picture.
        for (row, line) in outcome.plots[plot]
            .series
            .iter()
            .zip(&outcome.plots[plot + 1].series)
        {
            assert!(
                row.name.starts_with(&line.name),
                "{} {}",
                row.name,
                line.name
            );
        }
        let sizes = |series: &PlotSeries| -> Vec<f64> {
            series.points.iter().map(|point| point.0).collect()
        };
        assert_eq!(sizes(strict), sizes(parity));
        assert!(sizes(liberal).len() > 100);
        assert!(new.points.is_empty());
    }
    for misprint in ["7553 req/sec", "3912 KB/sec"] {
        assert!(outcome.notes.iter().any(|note| note.contains(misprint)));
    }
    for trace in &outcome.traces {
        let in_order = trace.sent.is_sorted_by_key(|(_, frame)| frame.at);
        assert!(in_order && trace.sent.len() > 4, "{}", trace.title);
    }
}

/// Sections 1.4 to 2.3: what the draft says of each form of the rules is reproduced.
#[test]
fn every_example_comes_out_as_the_draft_has_it() {
    let outcome = (EXPERIMENTS[1].run)(&Effort::PAPER);
    assert_eq!(outcome.rows.len(), 9 * 5);
    for row in outcome.rows {
        assert_eq!(row.status(), Status::Match, "{row:?}");
    }
}
