//! Mogul & Minshall, "Rethinking the TCP Nagle algorithm", ACM Computer Communication Review 2001.

mod definitions;
mod examples;
mod figures;
pub mod independent;
mod phase_locking;
pub mod prevalence;
pub mod published;
pub mod response;
mod scores;
mod section_9;
mod shown;
mod slopes;
mod stalled;
mod statements;
pub mod tables;
mod vulnerable;

use crate::Experiment;
use crate::experiment::Paper;

/// Its experiments.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        id: "mogul-table-1",
        paper: Paper::Mogul,
        title: "share of responses that are vulnerable by their length",
        source: "Table 1, section 3.3",
        run: vulnerable::run,
    },
    Experiment {
        id: "mogul-table-2",
        paper: Paper::Mogul,
        title: "trial types and their letters",
        source: "Table 2, section 7",
        run: definitions::trial_types,
    },
    Experiment {
        id: "mogul-table-3",
        paper: Paper::Mogul,
        title: "variants and their names",
        source: "Table 3, section 7",
        run: definitions::variants,
    },
    Experiment {
        id: "mogul-table-4",
        paper: Paper::Mogul,
        title: "delayed transfers on Ethernet, by variant and buffer sizes",
        source: "Table 4, section 8",
        run: |effort| scores::run(4, effort),
    },
    Experiment {
        id: "mogul-table-5",
        paper: Paper::Mogul,
        title: "delayed transfers on FDDI, by variant and buffer sizes",
        source: "Table 5, section 8",
        run: |effort| scores::run(5, effort),
    },
    Experiment {
        id: "mogul-table-6",
        paper: Paper::Mogul,
        title: "delayed transfers on Ethernet, with a receiver that infers the sender's buffer",
        source: "Table 6, section 9",
        run: |effort| scores::run(6, effort),
    },
    Experiment {
        id: "mogul-table-7",
        paper: Paper::Mogul,
        title: "delayed transfers on FDDI, with a receiver that infers the sender's buffer",
        source: "Table 7, section 9",
        run: |effort| scores::run(7, effort),
    },
    Experiment {
        id: "mogul-figure-1",
        paper: Paper::Mogul,
        title: "a transfer that is not delayed, and one that is",
        source: "Figures 1 and 2, section 3",
        run: examples::figures,
    },
    Experiment {
        id: "mogul-section-3.1",
        paper: Paper::Mogul,
        title: "buffers torn by an application that writes 4096 octets at a time",
        source: "section 3.1",
        run: examples::torn,
    },
    Experiment {
        id: "mogul-figure-7",
        paper: Paper::Mogul,
        title: "good naglemark performance",
        source: "Figure 7, section 6",
        run: figures::figure_7,
    },
    Experiment {
        id: "mogul-figure-8",
        paper: Paper::Mogul,
        title: "poor naglemark performance",
        source: "Figure 8, section 6",
        run: figures::figure_8,
    },
    Experiment {
        id: "mogul-figure-9",
        paper: Paper::Mogul,
        title: "Minshall's variant with an application buffer below the MSS",
        source: "Figure 9, section 8",
        run: figures::figure_9,
    },
    Experiment {
        id: "mogul-figure-10",
        paper: Paper::Mogul,
        title: "buffers torn by MSMV",
        source: "Figure 10, section 8",
        run: figures::figure_10,
    },
    Experiment {
        id: "mogul-figure-11",
        paper: Paper::Mogul,
        title: "EOM for messages longer than the socket buffer",
        source: "Figure 11, section 8",
        run: figures::figure_11,
    },
    Experiment {
        id: "mogul-figure-12",
        paper: Paper::Mogul,
        title: "EOM, MORE and MSMV together",
        source: "Figure 12, section 8",
        run: figures::figure_12,
    },
    Experiment {
        id: "mogul-phase-locking",
        paper: Paper::Mogul,
        title: "phase locking of delayed answers to the delayed-ACK clock",
        source: "section 3.2",
        run: phase_locking::run,
    },
    Experiment {
        id: "mogul-slopes",
        paper: Paper::Mogul,
        title: "regression slopes and packet counts of transfers that are not delayed",
        source: "section 8.1",
        run: slopes::run,
    },
    Experiment {
        id: "mogul-section-9",
        paper: Paper::Mogul,
        title: "buffers below two segments, and a message of 12,289 octets",
        source: "section 9",
        run: section_9::run,
    },
];
