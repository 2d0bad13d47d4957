//! The papers' experiments that can be measured on this kernel's sockets.

use tinygram_papers::Experiment;
use tinygram_papers::experiment::Paper;

use super::measured;

/// All of them.
pub(crate) const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        id: "here-moldeklev",
        paper: Paper::Moldeklev,
        title: "on this kernel: which pairs of buffers deadlock, with Nagle's algorithm and without",
        source: "Tables 1 and 2, sections 3 and 4.1",
        run: measured::moldeklev,
    },
    Experiment {
        id: "here-heidemann",
        paper: Paper::Heidemann,
        title: "on this kernel: the page of Table 1, with each fix, and its stalls",
        source: "Table 1, sections 2.1 to 2.3",
        run: measured::heidemann,
    },
    Experiment {
        id: "here-doupnik",
        paper: Paper::Doupnik,
        title: "on this kernel: web pages per second under the forms of the rules, and sizes that stall",
        source: "Table 1, section 3.0",
        run: measured::doupnik,
    },
    Experiment {
        id: "here-davids",
        paper: Paper::Davids,
        title: "on this kernel: packets and delay of 50 writes of 10 octets",
        source: "Figures 1 to 7",
        run: measured::davids,
    },
];
