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
    "Section 7 speaks of \"ten choices\" of variant, but Table 3 has eleven. So the 360 trials \
     for each network, and the 324 in the next sentence, should be 396.",
    "Table 1 gives MCLBYTES as 8196. It should be 8192, as in the text above the table.",
    "Sections 7 and 10 refer to section 8.1 for Tru64's acknowledgment policy. It is in section \
     9.",
    "Figure 6 clears TF_DELDDETCR. The flag is called TF_DLDETCR.",
    "Section 5.2's \"if the socket buffer size is a multiple of MCLBYTES\" must mean the number \
     of octets in the buffer. If it meant the buffer's size, the exception would always apply, \
     and MSMV would never delay.",
    "Section 7 gives a receive buffer of 32 KB, but Table 5's columns require a window of 64 KB.",
    "Section 9 gives 21,560 octets/s for buffers of 8192 octets, which is one segment for each \
     tick of 200 ms. By the BSD rules of section 3, the rest of the buffer leaves with that \
     segment.",
    "Section 6 says that every point of Figure 7 is above length / rate + 10 ms, but no host \
     takes 10 ms for 100 octets on a LAN.",
];

const MOLDEKLEV: &[&str] = &[
    "Tables 1 and 3 are headed \"R \\ S\", but the lines are S and the columns are R, as the \
     text's examples prove.",
    "In Table A.1, 5180 in line 5 should be 5108, 9204 in line 24's receive buffer should be \
     1012, and 4096 in line 50's receive buffer should be 8192. Lines 36 and 37 are missing.",
    "Section 4.2 changes Nagle's test to \"more than an MSS\" unacknowledged, but the conclusions \
     and the results require \"an MSS or more\".",
];

const HEIDEMANN: &[&str] = &[
    "Table 1's standard deviations of 4.0 and 10 ms must be about 40 and 100 ms, as the \
     percentages beside them show.",
    "A segment of 1175 octets should have 1176 octets: 4096 minus two segments of 1460.",
];

const DOUPNIK: &[&str] = &[
    "\"7553 req/sec\" should be 7553 KB/sec.",
    "\"3912 KB/sec\" is inconsistent with 1665 requests a second.",
    "The \"33 KB\" file really has about 32.1 KB.",
];

const DAVIDS: &[&str] = &[];
