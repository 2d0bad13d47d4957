//! Mogul & Minshall, "Rethinking the TCP Nagle algorithm", ACM Computer Communication Review 2001.

pub mod aggregate;
mod captured;
pub mod model;
pub mod naglemark;
pub mod prevalence;
pub mod published;
pub mod response;
mod scores;
pub mod tables;

use crate::Experiment;
use crate::experiment::Paper;

/// Its experiments.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        id: "mogul-table-4",
        paper: Paper::Mogul,
        title: "Table 4: delayed transfers on Ethernet, by variant and buffer sizes",
        source: "section 8",
        run: |effort| scores::run(4, effort),
    },
    Experiment {
        id: "mogul-table-5",
        paper: Paper::Mogul,
        title: "Table 5: delayed transfers on FDDI, by variant and buffer sizes",
        source: "section 8",
        run: |effort| scores::run(5, effort),
    },
    Experiment {
        id: "mogul-table-6",
        paper: Paper::Mogul,
        title: "Table 6: delayed transfers on Ethernet, receiver inferring the sender's buffer",
        source: "section 9",
        run: |effort| scores::run(6, effort),
    },
    Experiment {
        id: "mogul-table-7",
        paper: Paper::Mogul,
        title: "Table 7: delayed transfers on FDDI, receiver inferring the sender's buffer",
        source: "section 9",
        run: |effort| scores::run(7, effort),
    },
];
