//! Moldeklev & Gunningberg, "Deadlock situations in TCP over ATM".

mod copying;
pub mod cures;
pub mod hosts;
pub mod plane;
pub mod predict;
pub mod published;
mod tables;
mod timings;
pub mod transfer;
mod walk;

use crate::Experiment;
use crate::experiment::Paper;

/// Its experiments.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        id: "moldeklev-table-1",
        paper: Paper::Moldeklev,
        title: "throughput by send buffer and receive buffer, with Nagle's algorithm",
        source: "Table 1, section 3",
        run: |effort| tables::run(&tables::WITH_NAGLE, effort),
    },
    Experiment {
        id: "moldeklev-table-2a",
        paper: Paper::Moldeklev,
        title: "throughput with Nagle's algorithm, printed a second time",
        source: "Table 2, upper values, section 4.1",
        run: |effort| tables::run(&tables::WITH_NAGLE_AGAIN, effort),
    },
    Experiment {
        id: "moldeklev-table-2b",
        paper: Paper::Moldeklev,
        title: "throughput without Nagle's algorithm",
        source: "Table 2, lower values, section 4.1",
        run: |effort| tables::run(&tables::WITHOUT_NAGLE, effort),
    },
    Experiment {
        id: "moldeklev-table-3a",
        paper: Paper::Moldeklev,
        title: "throughput with the change to Nagle's algorithm",
        source: "Table 3, upper values, section 4.2.1",
        run: |effort| tables::run(&tables::WITH_THE_CHANGE, effort),
    },
    Experiment {
        id: "moldeklev-table-3b",
        paper: Paper::Moldeklev,
        title: "throughput with an MSS of 8192 octets",
        source: "Table 3, lower values, section 4.2.2",
        run: |effort| tables::run(&tables::WITH_AN_MSS_OF_8192, effort),
    },
    Experiment {
        id: "moldeklev-table-a1",
        paper: Paper::Moldeklev,
        title: "deadlock of S=16k R=32k, step by step",
        source: "Table A.1 and Figure A.1, appendix",
        run: walk::table,
    },
    Experiment {
        id: "moldeklev-timings",
        paper: Paper::Moldeklev,
        title: "times and amounts of two transfers up to their deadlock",
        source: "Figures 5 (a) and 6 (a), sections 3.1.2 and 3.1.3, appendix",
        run: timings::run,
    },
    Experiment {
        id: "moldeklev-4.3",
        paper: Paper::Moldeklev,
        title: "buffers that deadlock without the limit of 4 KiB for a copy",
        source: "Section 4.3",
        run: copying::without_limit,
    },
    Experiment {
        id: "moldeklev-figure-4",
        paper: Paper::Moldeklev,
        title: "pairs of buffers that deadlock on the ATM network, with the inequalities",
        source: "Figure 4, section 3.1",
        run: plane::figure_4,
    },
    Experiment {
        id: "moldeklev-figure-7",
        paper: Paper::Moldeklev,
        title: "pairs of buffers that deadlock on Ethernet, with the inequalities",
        source: "Figure 7, section 3.1.5",
        run: plane::figure_7,
    },
];
