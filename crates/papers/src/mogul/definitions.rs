//! Tables 2 and 3, which define names: compared with the names of trials and policies here.

use tinygram_engine::sender::send_policy::Registered;
use tinygram_naglemark::TrialType;

use super::shown::text;
use super::tables::VARIANTS;
use crate::experiment::{Class, Effort, Layout, Outcome, Row};
use crate::standard::Standard;
use crate::value::Tolerance;

/// Table 2: a letter for each way of choosing lengths and connections.
pub(super) fn trial_types(_: &Effort) -> Outcome {
    let row = |(connections, lengths, letter): (&str, &str, char)| {
        let is_it = |trial: &&TrialType| {
            trial.one_connection() == (connections == ONE_FOR_ALL)
                && trial.is_random() == (lengths == RANDOM)
        };
        let ours: String = TrialType::ALL
            .iter()
            .filter(is_it)
            .map(|t| t.letter())
            .collect();
        Row {
            cell: vec![
                ("connections", text(connections)),
                ("lengths", text(lengths)),
            ],
            standard: Some(Standard::printed(text(&letter.to_string()))),
            reproduced: text(&ours),
            tolerance: Tolerance::Exact,
            class: Class::Rules,
        }
    };
    Outcome {
        rules: vec![
            "Sequential lengths go from 100 to 100,000 octets in steps of 100; random ones are \
             uniform between 1 and 100,000 (section 7).",
        ],
        rows: TABLE_2.into_iter().map(row).collect(),
        layout: Layout::Grid {
            down: &["connections"],
            across: &["lengths"],
        },
        ..Outcome::default()
    }
}

/// Table 3: the names of variants, each with the policy that is registered under it.
pub(super) fn variants(_: &Effort) -> Outcome {
    let named = |(what, name): (&str, &str)| Row {
        cell: vec![("variant", text(what))],
        standard: Some(Standard::printed(text(name))),
        reproduced: match Registered::named(name) {
            Some(entry) => text(entry.label),
            None => text("none"),
        },
        tolerance: Tolerance::Exact,
        class: Class::Rules,
    };
    let mut rows: Vec<Row> = TABLE_3.into_iter().map(named).collect();
    rows.push(Row {
        cell: vec![(
            "variant",
            text("number of variants (section 7: \"ten choices\")"),
        )],
        standard: Some(Standard::printed(text("10"))),
        reproduced: text(&VARIANTS.len().to_string()),
        tolerance: Tolerance::Exact,
        class: Class::KnownMismatch("a misprint: Table 3 and Tables 4 to 7 have eleven variants"),
    });
    Outcome {
        rows,
        notes: vec![
            "Section 7 counts 2 * 2 * 10 * 3 * 3 = 360 trials for each network and then speaks of \
             324. With eleven variants there are 396 trials, and all of them are measured here."
                .into(),
        ],
        ..Outcome::default()
    }
}

const ONE_PER_REQUEST: &str = "one per request";
const ONE_FOR_ALL: &str = "one for all requests";
const SEQUENTIAL: &str = "sequential";
const RANDOM: &str = "random";

/// Connections, lengths, and the letter.
const TABLE_2: [(&str, &str, char); 4] = [
    (ONE_PER_REQUEST, SEQUENTIAL, 's'),
    (ONE_PER_REQUEST, RANDOM, 'r'),
    (ONE_FOR_ALL, SEQUENTIAL, 'S'),
    (ONE_FOR_ALL, RANDOM, 'R'),
];

/// Variants, and their nomenclature.
const TABLE_3: [(&str, &str); 11] = [
    ("Traditional Nagle algorithm", "NAGLE"),
    ("Nagle algorithm disabled", "OFF"),
    ("Minshall variant", "MINSHALL"),
    ("Minshall et al. variant", "MSMV"),
    ("EOM variant", "EOM"),
    ("EOM and MORE together", "E+M"),
    ("MINSHALL and MORE together", "MIN+MORE"),
    ("DLDET", "DLDET"),
    ("EOM, MORE, and MSMV", "E+M+M"),
    ("EOM, MORE, and DLDET", "E+M+D"),
    ("Borman variant", "BORMAN"),
];
