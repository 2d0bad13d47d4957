//! The results for a terminal.

use std::fmt::Write;

use tinygram_papers::moldeklev::cures::{BufferCure, Examined};
use tinygram_papers::moldeklev::predict::{Area, Deadlock, DeadlockClass};
use tinygram_report::{Column, Entry, Ink, Table};

use super::super::done::Findings;
use super::super::plan::Parameters;
use super::{Inequality, inequalities, subject};
use crate::terminal;

/// Returns the results in sentences, and a table of what helps.
pub(in super::super) fn text(parameters: &Parameters, findings: &Findings) -> String {
    let mut text = String::new();
    let prediction = &findings.asked.prediction;
    let inequalities = inequalities(parameters, &prediction.threshold);
    let _ = writeln!(text, "{}\n", subject(parameters));
    for inequality in &inequalities {
        let verdict = if inequality.holds {
            "holds"
        } else {
            "does not hold"
        };
        let Inequality {
            number,
            rule,
            filled_in,
            ..
        } = inequality;
        let _ = writeln!(text, "  ({number}) {rule}:  {filled_in}:  {verdict}");
    }
    let _ = writeln!(text, "\n{}", verdict(parameters, &findings.asked));
    let (ink, width) = terminal::canvas(terminal::WIDTH);
    // Without a terminal each sentence is a line.
    if ink == Ink::Styled {
        text = terminal::broken(&text, width);
    }
    if !findings.cures.is_empty() {
        let _ = write!(
            text,
            "\n{}",
            cure_table(&findings.cures).to_text(width, ink)
        );
    }
    text
}

fn verdict(parameters: &Parameters, asked: &Examined) -> String {
    let simulated = format!("{}.{}", simulated(asked), disagreement(asked));
    let Some(deadlock) = &asked.prediction.deadlock else {
        let why = match asked.prediction.area {
            Area::Safe => {
                "Safe: whatever is in flight, either it makes the receiver acknowledge or \
                           there is room for a full segment behind it."
            }
            _ => {
                "The inequalities allow a deadlock, but the rules, played through, do not come to one."
            }
        };
        return format!("{why}\nSimulated: {simulated}");
    };
    let how = match deadlock.class {
        DeadlockClass::WindowUpdate => {
            "Deadlocks by the window update rule (1): all of the send buffer is not \
                                enough to make the receiver acknowledge."
        }
        DeadlockClass::Copying => "Deadlocks by how data is copied and held (2): at once.",
        DeadlockClass::Timer => {
            "Deadlocks by the timer and what is held (2): as soon as a timer's ACK comes \
                         while only a part of a flight has arrived."
        }
    };
    let still = standing_still(parameters, asked, deadlock);
    format!(
        "{how}\n{still}\nPredicted: {:.2} Mbit/s, {:.0} bytes for each ACK of the timer, every {} ms.\n\
         Simulated: {simulated}",
        deadlock.mbit_per_s, deadlock.per_timer, parameters.ack_timer_ms
    )
}

/// Returns what to conclude if prediction and simulation disagree.
fn disagreement(asked: &Examined) -> &'static str {
    let seen = !asked.simulated.deadlocks.is_empty();
    match (&asked.prediction.deadlock, seen) {
        (Some(_), false) => {
            "\nThe two disagree: by its rules it can stand still, and with these hosts' costs it was \
             not seen to. Other hosts, or a tick at another instant, may bring it about."
        }
        (None, true) => {
            "\nThe two disagree: the rules, played without time, do not lead there; the hosts' costs \
             and the tick do. Believe the simulation."
        }
        _ => "",
    }
}

/// Returns inequality (3) with its numbers.
fn standing_still(parameters: &Parameters, asked: &Examined, deadlock: &Deadlock) -> String {
    let (sent, buffered) = (deadlock.sent, deadlock.buffered);
    let enough = asked.prediction.threshold.octets();
    let left = buffered - sent;
    let held = if left == 0 {
        "nothing is left to send".to_owned()
    } else if left < u64::from(parameters.mss) {
        format!(
            "the {left} behind them are no full segment ({left} < {})",
            parameters.mss
        )
    } else {
        format!("the {left} behind them are held")
    };
    format!(
        "Then {sent} bytes are in flight, too few for the receiver ({sent} < {enough}), and {held}."
    )
}

fn simulated(examined: &Examined) -> String {
    let simulated = &examined.simulated;
    let through = format!("{:.2} Mbit/s", simulated.mbit_per_s);
    match simulated.deadlocks.len() {
        0 if Findings::waits(examined) => format!(
            "{through}, no deadlock in {} runs, but {:.0} % of the time waiting for the timer",
            simulated.runs,
            100.0 * simulated.waiting
        ),
        0 => format!("{through}, no deadlock in {} runs", simulated.runs),
        deadlocked => format!(
            "{through}, deadlocked in {deadlocked} of {} runs",
            simulated.runs
        ),
    }
}

fn cure_table(cures: &[(BufferCure, Examined)]) -> Table {
    let heads = [
        "What is changed",
        "Predicted",
        "Simulated",
        "Works",
        "Paper",
    ];
    let row = |(cure, examined): &(BufferCure, Examined)| {
        let predicted = match &examined.prediction.deadlock {
            Some(deadlock) => format!("{:.2} Mbit/s", deadlock.mbit_per_s),
            None => "no deadlock".into(),
        };
        let works = match (Findings::works(examined), Findings::waits(examined)) {
            (true, _) => "yes",
            (_, true) => "no",
            _ => "unsure",
        };
        [
            cure.what.clone(),
            predicted,
            simulated(examined),
            works.into(),
            cure.source.into(),
        ]
        .map(Entry::new)
        .into()
    };
    Table {
        title: "What helps".into(),
        columns: heads.map(Column::words).into(),
        rows: cures.iter().map(row).collect(),
        notes: Vec::new(),
    }
}
