//! The table, the sentences and the JSON document of `whatif`.

use std::fmt::Write;

use serde::Serialize;
use tinygram_report::{Column, Document, Entry, Row, Table, json};
use tinygram_whatif::forecast::Forecast;
use tinygram_whatif::offer::Offer;
use tinygram_whatif::prediction::{Estimate, Figures, LEAST_TURNS, Prediction};
use tinygram_whatif::settling::MOST_STEPS;

use super::answer::answer;
use super::done::Foreseen;
use super::plan::{From, Plan};
use crate::amount::three;
use crate::outcome::Failure;
use crate::terminal::{canvas, print_text};
use tinygram_report::units::counted;

pub(super) fn show(plan: &Plan, foreseen: &Foreseen) -> Result<(), Failure> {
    let text = match plan.as_json {
        true => document(plan, foreseen),
        false => text(plan, foreseen),
    };
    print_text(&text)?;
    Ok(())
}

fn text(plan: &Plan, foreseen: &Foreseen) -> String {
    let name = plan.from.name();
    let Some(forecast) = &foreseen.forecast else {
        return match foreseen.found {
            0 => format!("{name}: no connection was seen.\n"),
            found => format!(
                "{name}: cannot tell: no turn was seen in {:.1} s on {}.\n",
                foreseen.seconds,
                counted(found as u64, "connection")
            ),
        };
    };
    let seen = &forecast.seen;
    let mut text = String::new();
    if let Some(answer) = answer(forecast, plan.changes.len()) {
        let _ = writeln!(text, "{name}: {answer}");
    }
    let _ = writeln!(
        text,
        "{name}: {} in {:.1} s on {} of {}. As seen: p50 {} ms, p99 {} ms, {:.2} data segments a turn.",
        counted(seen.turns as u64, "turn"),
        foreseen.seconds,
        foreseen.played,
        counted(foreseen.found as u64, "connection"),
        three(seen.p50_ms),
        three(seen.p99_ms),
        seen.segments,
    );
    if foreseen.lost > 0 {
        let _ = writeln!(text, "{} steps were lost.", foreseen.lost);
    }
    text += &told(plan, forecast);
    text.push('\n');
    if !forecast.tells() {
        return text;
    }
    let (ink, width) = canvas(usize::MAX);
    text += &table(forecast).to_text(width, ink);
    text += &unsettled(forecast);
    text
}

/// Says of which changes it is not known to which rates BBR comes; nothing if there are none.
fn unsettled(forecast: &Forecast) -> String {
    let rows = forecast.rows.iter();
    let unsettled = rows.filter(|(_, prediction)| prediction.is_unsettled);
    let names: Vec<_> = unsettled
        .map(|(offer, _)| offer.change.to_string())
        .collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(
            "\n{}: BBR's rates still changed after {MOST_STEPS} replays; the intervals span all of these.\n",
            names.join(", ")
        ),
    }
}

/// Says what the answer stands on.
fn told(plan: &Plan, forecast: &Forecast) -> String {
    match (forecast.agree, forecast.of) {
        _ if forecast.seen.turns < LEAST_TURNS => {
            format!("Cannot tell: fewer than {LEAST_TURNS} turns were seen.\n")
        }
        (0, _) => "Cannot tell: played again under the present settings, the turns take another time than was seen.\n"
            .to_owned(),
        (1, 1) => match plan.from {
            From::Live(_) => "Both ends were seen.\n".to_owned(),
            From::Capture(_) => "A capture shows no writes: what was held counts as written right behind what came before it.\n".to_owned(),
        },
        (agree, of) if matches!(plan.from, From::Capture(_)) => format!(
            "No handshake measured every round trip, and ACKs say only how long it can be at most. Of {of} guesses of those \
             {agree} agree with what was seen, and the intervals span them.\n"
        ),
        (agree, of) => format!(
            "One end was seen. Of {of} guesses about the other end's round trip, holds and acknowledgments {agree} agree \
             with it, and the intervals span them.\n"
        ),
    }
}

fn table(forecast: &Forecast) -> Table {
    let mut rows = vec![row("as it is".to_owned(), &forecast.present, false)];
    for (offer, prediction) in &forecast.rows {
        let setting = format!("{}, {}", offer.change, offer.at.words());
        rows.push(row(setting, prediction, true));
    }
    let [p50, p99, segments, packets] =
        ["p50", "p99", "segments a turn", "packets a second"].map(Column::numbers);
    let [turn, wire] = ["A turn, in ms", "On the wire"];
    Table {
        title: String::new(),
        columns: vec![
            Column::words("Setting"),
            p50.in_group(turn),
            p99.in_group(turn),
            Column::words("p99 becomes").in_group(turn),
            segments.in_group(wire),
            packets.in_group(wire),
        ],
        rows,
        notes: NOTES.map(str::to_owned).into(),
    }
}

/// How to read the table.
const NOTES: [&str; 3] = [
    "A turn: from the first write of a request to the read of the end of its answer. p50, p99: the median, and what one \
     in a hundred exceeds.",
    "Segments: those with data, of both ends. Packets: all, on one connection.",
    "All are replays. [a, b] is where nine of ten measurements of as many turns are expected.",
];

fn row(setting: String, prediction: &Prediction, changes: bool) -> Row {
    let Figures {
        p50_ms,
        p99_ms,
        segments,
        packets_per_second,
        ..
    } = prediction.figures;
    let becomes = match (changes, prediction.p99_change_ms) {
        (false, _) => "",
        (true, None) => "cannot tell",
        (true, Some(change)) => match change.sign() {
            -1 => "better",
            1 => "worse",
            _ => "not shown",
        },
    };
    let [p50, p99, segments, packets] =
        [p50_ms, p99_ms, segments, packets_per_second].map(interval);
    [setting, p50, p99, becomes.to_owned(), segments, packets]
        .map(Entry::new)
        .into()
}

fn interval(estimate: Option<Estimate>) -> String {
    estimate.map_or("cannot tell".to_owned(), |estimate| {
        let Estimate { value, low, high } = estimate;
        let [value, low, high] = [value, low, high].map(|it| match it {
            0.0 => "0".to_owned(),
            _ => three(it),
        });
        format!("{value} [{low}, {high}]")
    })
}

fn document(plan: &Plan, foreseen: &Foreseen) -> String {
    json(&Document {
        schema: "tinygram.whatif/1",
        parameters: Parameters {
            from: plan.from.name(),
            is_capture: matches!(plan.from, From::Capture(_)),
            changes: plan.changes.iter().map(ToString::to_string).collect(),
            look_s: plan.look.as_secs_f64(),
            seed: plan.seed,
            one_end: plan.one_end,
        },
        results: Results {
            connections: foreseen.found,
            recorded: foreseen.recorded,
            played: foreseen.played,
            lost_steps: foreseen.lost,
            looked_s: foreseen.seconds,
            guesses: foreseen.forecast.as_ref().map_or(0, |forecast| forecast.of),
            guesses_that_agree: foreseen
                .forecast
                .as_ref()
                .map_or(0, |forecast| forecast.agree),
            answer: foreseen
                .forecast
                .as_ref()
                .and_then(|forecast| answer(forecast, plan.changes.len())),
            seen: foreseen.forecast.as_ref().map(|forecast| SeenRow {
                turns: forecast.seen.turns,
                p50_ms: forecast.seen.p50_ms,
                p99_ms: forecast.seen.p99_ms,
                segments_per_turn: forecast.seen.segments,
            }),
            present: foreseen
                .forecast
                .as_ref()
                .map(|forecast| FiguresRow::of(&forecast.present, false)),
            changes: foreseen
                .forecast
                .iter()
                .flat_map(|forecast| &forecast.rows)
                .map(|(offer, prediction)| change(offer, prediction))
                .collect(),
        },
    })
}

fn change(offer: &Offer, prediction: &Prediction) -> ChangeRow {
    ChangeRow {
        change: offer.change.to_string(),
        at: offer.at.words(),
        needs: offer.change.needs().words(),
        rates_settle: !prediction.is_unsettled,
        figures: FiguresRow::of(prediction, true),
    }
}

#[derive(Serialize)]
struct Parameters {
    from: String,
    is_capture: bool,
    changes: Vec<String>,
    look_s: f64,
    seed: u64,
    one_end: bool,
}

#[derive(Serialize)]
struct Results {
    connections: usize,
    recorded: usize,
    played: usize,
    lost_steps: u64,
    looked_s: f64,
    guesses: usize,
    guesses_that_agree: usize,
    /// A sentence; null where nothing can be told.
    answer: Option<String>,
    seen: Option<SeenRow>,
    present: Option<FiguresRow>,
    changes: Vec<ChangeRow>,
}

#[derive(Serialize)]
struct SeenRow {
    turns: usize,
    p50_ms: f64,
    p99_ms: f64,
    segments_per_turn: f64,
}

#[derive(Serialize)]
struct ChangeRow {
    change: String,
    at: &'static str,
    needs: &'static str,
    /// Whether BBR comes to rates at which it stays, or between which it goes round; true where it paces nothing.
    rates_settle: bool,
    #[serde(flatten)]
    figures: FiguresRow,
}

/// A figure is null where it cannot be told.
#[derive(Serialize)]
struct FiguresRow {
    p50_ms: Option<Interval>,
    p99_ms: Option<Interval>,
    segments_per_turn: Option<Interval>,
    packets_per_turn: Option<Interval>,
    packets_per_second: Option<Interval>,
    p50_change_ms: Option<Interval>,
    p99_change_ms: Option<Interval>,
}

#[derive(Serialize)]
struct Interval {
    value: f64,
    low: f64,
    high: f64,
}

impl FiguresRow {
    fn of(prediction: &Prediction, changes: bool) -> Self {
        let interval = |estimate: Option<Estimate>| {
            estimate.map(|Estimate { value, low, high }| Interval { value, low, high })
        };
        let change = |estimate| interval(estimate).filter(|_| changes);
        let figures = prediction.figures;
        Self {
            p50_ms: interval(figures.p50_ms),
            p99_ms: interval(figures.p99_ms),
            segments_per_turn: interval(figures.segments),
            packets_per_turn: interval(figures.packets),
            packets_per_second: interval(figures.packets_per_second),
            p50_change_ms: change(prediction.p50_change_ms),
            p99_change_ms: change(prediction.p99_change_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use tinygram_engine::Duration;
    use tinygram_report::Ink;
    use tinygram_whatif::change::Change;
    use tinygram_whatif::offer::At;
    use tinygram_whatif::prediction::Seen;

    use super::*;

    /// Returns figures as wide as they become: three digits and an interval of three digits.
    fn prediction(p50: f64, p99_change: f64) -> Prediction {
        let about = |value: f64| {
            Some(Estimate {
                value,
                low: value - 0.011,
                high: value + 0.029,
            })
        };
        Prediction {
            figures: Figures {
                p50_ms: about(p50),
                p99_ms: about(4.0 * p50),
                segments: about(12.5),
                packets: about(24.0),
                packets_per_second: about(1520.0),
            },
            p50_change_ms: about(p99_change),
            p99_change_ms: about(p99_change),
            is_unsettled: false,
        }
    }

    fn forecast() -> Forecast {
        let offer = |change, at| Offer { change, at };
        Forecast {
            seen: Seen {
                turns: 490,
                p50_ms: 41.9,
                p99_ms: 49.9,
                segments: 3.0,
            },
            present: prediction(41.8, 0.0),
            rows: vec![
                (
                    offer(Change::Nodelay(true), At::Server),
                    prediction(0.193, -41.0),
                ),
                (
                    offer(Change::DelackMax(Duration::from_millis(8)), At::Client),
                    prediction(9.81, 0.0),
                ),
            ],
            agree: 1,
            of: 1,
        }
    }

    #[test]
    fn the_table_fits_a_terminal_and_says_what_its_columns_are() {
        let table = table(&forecast());
        for width in [80, 100, 120, 200] {
            let drawn = table.to_text(width, Ink::Plain);
            let widest = drawn.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{width}:\n{drawn}");
            // A row of figures is whole: no interval goes on in the next line.
            let whole = "0.193 [0.182, 0.222]";
            assert!(
                drawn.lines().any(|line| line.contains(whole)),
                "{width}:\n{drawn}"
            );
            let row = drawn
                .lines()
                .find(|line| line.contains("nodelay=on, server"));
            assert!(row.is_some_and(|row| row.contains("better")), "{drawn}");
            for word in ["A turn:", "p50, p99:", "Segments:", "Packets:", "[a, b]"] {
                assert!(drawn.contains(word), "{word}: {drawn}");
            }
        }
    }
}
