//! The paper's numbers.

/// A line of Table 1.
#[derive(Clone, Copy, Debug)]
pub struct Retrieval {
    /// Its name in the table.
    pub name: &'static str,
    /// The mean of 100 transactions, in ms.
    pub mean: f64,
    /// The standard deviation as printed, in ms.
    pub deviation: f64,
    /// The standard deviation in percent of the mean, as printed.
    pub percent: f64,
    /// Half of the 95 % confidence interval, in ms.
    pub confidence: f64,
}

/// Table 1.
pub const TABLE_1: [Retrieval; 4] = [
    retrieval("HTTP", 43.0, 4.0, 94.0, 8.0),
    retrieval("P-HTTP", 605.0, 10.0, 16.0, 19.7),
    retrieval("P-HTTP, first fix", 195.0, 1.9, 1.0, 0.38),
    retrieval("P-HTTP, both fixes", 26.0, 8.8, 33.0, 1.7),
];

/// "The time between the second and third data segments is consistently 170-190ms" (section 2.2;
/// section 2.3 has the same sentence).
pub const STALL_MS: [f64; 2] = [170.0, 190.0];

const fn retrieval(
    name: &'static str,
    mean: f64,
    deviation: f64,
    percent: f64,
    confidence: f64,
) -> Retrieval {
    Retrieval {
        name,
        mean,
        deviation,
        percent,
        confidence,
    }
}

impl Retrieval {
    /// Returns the standard deviation that follows from the percentage, in ms.
    #[must_use]
    pub fn deviation_by_percent(&self) -> f64 {
        self.mean * self.percent / 100.0
    }

    /// Returns the standard deviation that follows from the confidence interval of 100 samples, in
    /// ms.
    #[must_use]
    pub fn deviation_by_confidence(&self) -> f64 {
        self.confidence * 10.0 / 1.96
    }
}

/// A line of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its time, in microseconds.
    pub at_us: u64,
    /// Its text, without ports and with the SYNs' sequence numbers counted from 0.
    pub text: &'static str,
}

const fn line(at_us: u64, text: &'static str) -> Line {
    Line { at_us, text }
}

/// Figure 2: the short-initial-segment problem.
pub const FIGURE_2: [Line; 9] = [
    line(0, "client > server: S 0:0(0) win 16384 <mss 1460>"),
    line(251, "server > client: S 0:0(0) ack 1 win 16384 <mss 1460>"),
    line(460, "client > server: . ack 1 win 16384"),
    line(1_110, "client > server: P 1:53(52) ack 1 win 16384"),
    line(3_285, "server > client: P 1:227(226) ack 53 win 16384"),
    line(4_911, "server > client: . 227:1687(1460) ack 53 win 16384"),
    line(189_201, "client > server: . ack 1687 win 16384"),
    line(
        190_647,
        "server > client: . 1687:3147(1460) ack 53 win 16384",
    ),
    line(
        191_879,
        "server > client: . 3147:4607(1460) ack 53 win 16384",
    ),
];

/// Figure 4: the odd/short-final-segment problem; "connection setup and first P-HTTP request
/// omitted".
pub const FIGURE_4: [Line; 8] = [
    line(10_598, "client > server: P 53:111(58) ack 6676 win 16384"),
    line(11_122, "server > client: . ack 111 win 16326"),
    line(
        19_869,
        "server > client: . 6676:8136(1460) ack 111 win 16384",
    ),
    line(
        21_099,
        "server > client: . 8136:9596(1460) ack 111 win 16384",
    ),
    line(
        22_103,
        "server > client: P 9596:10772(1176) ack 111 win 16384",
    ),
    line(22_835, "client > server: . ack 9596 win 16384"),
    line(189_262, "client > server: . ack 10772 win 16384"),
    line(
        189_479,
        "server > client: P 10772:10785(13) ack 111 win 16384",
    ),
];
