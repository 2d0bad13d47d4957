//! Errors of the papers: misprints, slips, and sentences that their own results contradict.

use crate::experiment::Paper;

impl Paper {
    /// Returns each error with its correction, as far as that can be determined.
    #[must_use]
    pub const fn errata(self) -> &'static [&'static str] {
        match self {
            Self::Mogul => MOGUL,
            Self::Moldeklev => MOLDEKLEV,
            Self::Heidemann => HEIDEMANN,
            Self::Doupnik => DOUPNIK,
            Self::Davids => DAVIDS,
        }
    }
}

const MOGUL: &[&str] = &[
    "Section 7 speaks of \"ten choices\" of variant; Table 3 has eleven. Its 360 trials for each \
     network, and the 324 of the next sentence, are 396.",
    "Table 1's MCLBYTES of 8196 is 8192, as the text above it has it.",
    "Section 7 refers to section 8.1 for Tru64's acknowledgment policy, and so does section 10; it \
     is section 9.",
    "Figure 6 clears TF_DELDDETCR; the flag is TF_DLDETCR.",
    "Section 5.2's \"if the socket buffer size is a multiple of MCLBYTES\" must mean the octets in \
     the buffer: by its size the exception would always hold, and MSMV never delay.",
    "Section 7 gives a receive buffer of 32 KB; Table 5's columns ask for a window of 64 KB.",
    "Section 9's 21,560 octets/s over buffers of 8192 octets is one segment for each tick of 200 \
     ms; the BSD rules of section 3 send the rest of the buffer with it.",
    "Section 6 says that every point of Figure 7 is above length / rate + 10 ms; no host takes 10 \
     ms for 100 octets on a LAN.",
];

const MOLDEKLEV: &[&str] = &[
    "Tables 1 and 3 are headed \"R \\ S\"; lines are S and columns R, as the text's examples prove.",
    "Table A.1, line 5: 5180 should be 5108. Line 24: 9204 in the receive buffer should be 1012. \
     Lines 36 and 37 are missing. Line 50's receive buffer of 4096 should be 8192.",
    "Section 4.2 changes Nagle's test to \"more than an MSS\" unacknowledged; the conclusions and \
     the results have \"an MSS or more\".",
];

const HEIDEMANN: &[&str] = &[
    "Table 1's standard deviations of 4.0 and 10 ms must be about 40 and 100: the percentages \
     beside them say so.",
    "A segment of 1175 octets should be 1176: 4096 less two of 1460.",
];

const DOUPNIK: &[&str] = &[
    "\"7553 req/sec\" is KB/s.",
    "\"3912\" is inconsistent with 1665 requests a second.",
    "The \"33 KB\" file is really of about 32.1 KB.",
];

const DAVIDS: &[&str] = &[];
