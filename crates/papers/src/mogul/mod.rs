//! Mogul & Minshall, "Rethinking the TCP Nagle algorithm", ACM Computer Communication Review 2001.

pub mod aggregate;
mod captured;
mod definitions;
mod figures;
pub mod model;
pub mod naglemark;
mod phase_locking;
pub mod prevalence;
pub mod published;
pub mod response;
mod scores;
mod section_9;
mod slopes;
mod stalled;
pub mod tables;
mod vulnerable;

use crate::Experiment;
use crate::experiment::Paper;

/// Its experiments.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        id: "mogul-table-1",
        paper: Paper::Mogul,
        title: "Table 1: share of responses that are vulnerable by their length",
        source: "section 3.3",
        run: vulnerable::run,
    },
    Experiment {
        id: "mogul-table-2",
        paper: Paper::Mogul,
        title: "Table 2: the trial types and their letters",
        source: "section 7",
        run: definitions::trial_types,
    },
    Experiment {
        id: "mogul-table-3",
        paper: Paper::Mogul,
        title: "Table 3: the variants and their names",
        source: "section 7",
        run: definitions::variants,
    },
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
    Experiment {
        id: "mogul-figure-7",
        paper: Paper::Mogul,
        title: "Figure 7: good naglemark performance",
        source: "section 6",
        run: figures::figure_7,
    },
    Experiment {
        id: "mogul-figure-8",
        paper: Paper::Mogul,
        title: "Figure 8: poor naglemark performance",
        source: "section 6",
        run: figures::figure_8,
    },
    Experiment {
        id: "mogul-figure-9",
        paper: Paper::Mogul,
        title: "Figure 9: Minshall's variant with a buffer below the MSS",
        source: "section 8",
        run: figures::figure_9,
    },
    Experiment {
        id: "mogul-figure-10",
        paper: Paper::Mogul,
        title: "Figure 10: MSMV tears buffers",
        source: "section 8",
        run: figures::figure_10,
    },
    Experiment {
        id: "mogul-figure-11",
        paper: Paper::Mogul,
        title: "Figure 11: EOM beyond the socket buffer",
        source: "section 8",
        run: figures::figure_11,
    },
    Experiment {
        id: "mogul-figure-12",
        paper: Paper::Mogul,
        title: "Figure 12: EOM, MORE and MSMV together",
        source: "section 8",
        run: figures::figure_12,
    },
    Experiment {
        id: "mogul-phase-locking",
        paper: Paper::Mogul,
        title: "Phase locking: delayed answers wait for the same part of the clock",
        source: "section 3.2",
        run: phase_locking::run,
    },
    Experiment {
        id: "mogul-slopes",
        paper: Paper::Mogul,
        title: "Regression slopes and packets, delayed transfers left out",
        source: "section 8.1",
        run: slopes::run,
    },
    Experiment {
        id: "mogul-section-9",
        paper: Paper::Mogul,
        title: "Section 9: buffers below two segments, and the message of 12,289 octets",
        source: "section 9",
        run: section_9::run,
    },
];
