//! Heidemann, "Performance interactions between P-HTTP and TCP implementations", 1997.

mod hosts;
mod problems;
pub mod published;
mod restart;
pub mod retrieval;
mod sizes;
mod table_1;
mod trace;
mod transaction;

use crate::Experiment;
use crate::experiment::Paper;
pub use hosts::{APACHE_BUFFER, BODIES, HEADERS, REQUESTS};

/// Its experiments.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        id: "heidemann-table-1",
        paper: Paper::Heidemann,
        title: "retrieval time of a page over HTTP and P-HTTP, before and after the fixes",
        source: "Table 1, section 2.1",
        run: table_1::table,
    },
    Experiment {
        id: "heidemann-trace-2",
        paper: Paper::Heidemann,
        title: "packet trace of the short-initial-segment problem",
        source: "Figures 1 and 2, section 2.2",
        run: trace::figure_2,
    },
    Experiment {
        id: "heidemann-trace-4",
        paper: Paper::Heidemann,
        title: "packet trace of the odd/short-final-segment problem",
        source: "Figures 3 and 4, section 2.3",
        run: trace::figure_4,
    },
    Experiment {
        id: "heidemann-restart",
        paper: Paper::Heidemann,
        title: "slow-start restart over a wide-area path: latency and burst of each rule",
        source: "Section 2.4",
        run: restart::compare,
    },
    Experiment {
        id: "heidemann-2.2",
        paper: Paper::Heidemann,
        title: "short-initial-segment problem with each fix and with both",
        source: "Section 2.2",
        run: problems::short_initial_segment,
    },
    Experiment {
        id: "heidemann-2.3",
        paper: Paper::Heidemann,
        title: "odd/short-final-segment problem with each fix and with both",
        source: "Section 2.3",
        run: problems::short_final_segment,
    },
    Experiment {
        id: "heidemann-sizes",
        paper: Paper::Heidemann,
        title: "sizes of documents that stall with each fix, as the first or a later one of a \
                connection",
        source: "beyond sections 2.2 and 2.3",
        run: sizes::sweep,
    },
];
