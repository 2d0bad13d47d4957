//! Section 4.3: no limit of 4 KiB on what is copied before TCP is called.

use rayon::prelude::*;
use tinygram_engine::Duration;
use tinygram_engine::socket::copy_rule::{CopyRule, SunOs};

use super::cures::most_per_timer;
use super::hosts::{CALL, OTHER_WORK, RULES, parameters};
use super::published::{SIZES, TABLE_1};
use super::tables::FAST;
use super::transfer::{Deadlock, Transfer, on_atm};
use crate::experiment::{Class, Effort, Layout, Origin, Outcome, Parameter, Row};
use crate::standard::Standard;
use crate::value::{PaperValue, Tolerance};

/// A write size, and buffers that deadlock in Table 1; all in octets.
#[derive(Clone, Copy, Debug)]
struct Case {
    write: u64,
    s: u64,
    r: u64,
}

/// "With a user data size of 4 kbytes the connection would deadlock as described earlier."
const SMALL_WRITE: u64 = 4096;
/// "This change avoids only the S=8k R=16k deadlock."
const AVOIDED: (u64, u64) = (8 << 10, 16 << 10);
/// A transfer that has not deadlocked within this time counts as free of deadlocks.
const WATCHED: Duration = Duration::from_secs(600);

pub(super) fn without_limit(effort: &Effort) -> Outcome {
    let cases = cases();
    let rows = cases
        .par_iter()
        .with_max_len(1)
        .map(|case| case.rows(effort));
    let mut parameters = parameters();
    parameters.retain(|parameter| parameter.name != "write and read");
    parameters.push(Parameter {
        name: "write",
        value: "8192 and 4096 octets".into(),
        origin: Origin::Paper("section 4.3"),
    });
    parameters.push(Parameter {
        name: "other work",
        value: "1 ms in one of ten wake-ups".into(),
        origin: Origin::Assumed(
            "without other work, the tick would fall on the same instants of the transfer again \
             and again",
        ),
    });
    Outcome {
        rules: [
            RULES,
            &[
                "The limit of 4096 octets does not apply here: a write is copied as far as there \
                 is space before output runs (4.3).",
            ],
        ]
        .concat(),
        parameters,
        rows: rows.collect::<Vec<_>>().concat(),
        layout: Layout::Grid {
            down: &["write", "s"],
            across: &["r"],
        },
        notes: vec![
            "The paper prints no throughputs here but says which buffers deadlock. The \
             throughputs are ours."
                .into(),
        ],
        ..Outcome::default()
    }
}

/// Returns all buffers of Table 1's deadlocks with 8 KiB writes, and the pair in question with 4
/// KiB writes.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (line, s) in SIZES.into_iter().enumerate() {
        for (column, r) in SIZES.into_iter().enumerate() {
            let cell_loss = s.min(r) >= 48 << 10;
            if TABLE_1[line][column] < FAST && !cell_loss {
                cases.push(Case { write: CALL, s, r });
            }
        }
    }
    cases.push(Case {
        write: SMALL_WRITE,
        s: AVOIDED.0,
        r: AVOIDED.1,
    });
    cases
}

impl Case {
    fn rows(self, effort: &Effort) -> Vec<Row> {
        let deadlock = self.deadlock(effort);
        let word = |deadlocks: bool| match deadlocks {
            true => PaperValue::Text("deadlocks".into()),
            false => PaperValue::Text("runs".into()),
        };
        let cell = vec![
            ("write", PaperValue::Count(self.write)),
            ("s", PaperValue::Count(self.s)),
            ("r", PaperValue::Count(self.r)),
        ];
        let avoided = (self.s, self.r) == AVOIDED && self.write > SMALL_WRITE;
        let mut measured = cell.clone();
        measured.push(("measure", PaperValue::Text("throughput (Mbit/s)".into())));
        let mbit = deadlock.map_or_else(
            || {
                self.transfer()
                    .mean_mbit_per_s(effort.repetitions, effort.seed)
            },
            |deadlock| deadlock.mbit_per_s,
        );
        vec![
            Row {
                cell,
                standard: Some(Standard::printed(word(!avoided))),
                reproduced: word(deadlock.is_some()),
                tolerance: Tolerance::Exact,
                class: Class::Rules,
            },
            Row {
                cell: measured,
                standard: None,
                reproduced: PaperValue::Number(mbit, 2),
                tolerance: Tolerance::Unbounded,
                class: Class::NotPublished,
            },
        ]
    }

    fn deadlock(self, effort: &Effort) -> Option<Deadlock> {
        let mut transfer = self.transfer();
        transfer.costs.hiccup = Some(OTHER_WORK);
        let most = most_per_timer(&transfer);
        transfer
            .at_random_phases(1, effort.seed)
            .find_map(|run| run.deadlock(most, WATCHED))
    }

    fn transfer(self) -> Transfer {
        let mut transfer = on_atm(self.s, self.r);
        transfer.rules.copy_rule = CopyRule::SunOs(SunOs {
            piece: u64::MAX,
            ..SunOs::AS_SHIPPED
        });
        transfer.call = self.write;
        transfer
    }
}
