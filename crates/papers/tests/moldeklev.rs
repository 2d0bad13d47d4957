//! Every value of Moldeklev & Gunningberg's within its tolerance.

use tinygram_papers::Experiment;
use tinygram_papers::experiment::{Class, Effort, Outcome, Row, Status, Value};
use tinygram_papers::moldeklev::EXPERIMENTS;

fn outcome(id: &str) -> Outcome {
    let experiment: &Experiment = EXPERIMENTS
        .iter()
        .find(|experiment| experiment.id == id)
        .expect("an experiment of the paper");
    (experiment.run)(&Effort::PAPER)
}

/// No value is off but those known by name, and those really are.
fn agrees(id: &str) -> Outcome {
    let outcome = outcome(id);
    let mut wrong = Vec::new();
    for row in &outcome.rows {
        let known = matches!(row.class, Class::KnownMismatch(_));
        let status = row.status();
        if status == Status::Miss || (known && status != Status::KnownMismatch) {
            wrong.push(format!(
                "{:?}: {status:?}, paper {:?}, ours {:?}",
                row.cell, row.published, row.reproduced
            ));
        }
    }
    assert!(wrong.is_empty(), "{id}:\n{}", wrong.join("\n"));
    outcome
}

#[test]
fn table_1_agrees() {
    agrees("moldeklev-table-1");
}

#[test]
fn table_2_agrees() {
    agrees("moldeklev-table-2a");
    agrees("moldeklev-table-2b");
}

#[test]
fn table_3_agrees() {
    agrees("moldeklev-table-3a");
    agrees("moldeklev-table-3b");
}

#[test]
fn table_a1_agrees_from_line_7_on() {
    let outcome = agrees("moldeklev-table-a1");
    let known = |row: &&Row| matches!(row.class, Class::KnownMismatch(_));
    let lines = outcome
        .rows
        .iter()
        .filter(known)
        .map(|row| row.cell[0].1.clone());
    assert_eq!(lines.collect::<Vec<_>>(), [4, 5, 6].map(Value::Count));
}

#[test]
fn inequality_1_is_exact_and_inequality_2_an_outer_bound() {
    for id in ["moldeklev-figure-4", "moldeklev-figure-7"] {
        let outcome = agrees(id);
        for row in &outcome.rows {
            println!(
                "{:?} {:?} {:?} {:?}",
                row.cell[0].1,
                row.status(),
                row.published,
                row.reproduced
            );
        }
    }
}
