//! The paper's hosts: two SPARCstations 20/71 under SunOS 4.1.3 on a 10 Mbit/s Ethernet, Apache 1.1b4
//! and a client in Perl (section 2.1).

use tinygram_engine::Duration;
use tinygram_engine::connection::Config;
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::AckTimer;
use tinygram_sim::WorldConfig;
use tinygram_sim::costs::{HostCosts, SegmentCost};
use tinygram_sim::dice::{Dice, Purpose};
use tinygram_sim::medium::{Ethernet, ImpairmentRules, Medium, Wire};
use tinygram_sim::workload::http::{Document, HttpPlan, ServerHabits};

use super::transaction::Setting;
use crate::experiment::{Origin, Parameter};

/// "A 16KB default TCP window size" (section 2.1), in octets.
pub(super) const WINDOW: u64 = 16_384;
/// Ethernet's MSS (section 2.2), in octets.
pub(super) const MSS: u16 = 1460;
/// "Apache writes data at the application-layer in 4KB chunks" (section 2.3), in octets.
pub const APACHE_BUFFER: u64 = 4096;
/// The headers, in octets: 226 in Figure 2, and in Figure 4, where 4109 octets were sent for a
/// document of 3883.
pub const HEADERS: u64 = 226;
/// The documents of section 2.1, in octets.
pub const BODIES: [u64; 3] = [6651, 3883, 1866];
/// The sizes of the requests, in octets: 52 in Figures 2 and 4, and 58 for the next one in Figure
/// 4.
pub const REQUESTS: [u64; 3] = [52, 58, 58];

/// The times that the programs take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    /// The client's time to open a connection.
    pub(super) open: Duration,
    /// The client's time to close a connection.
    pub(super) close: Duration,
    /// The client's time to make a request.
    pub(super) think: Duration,
    /// The server's time to begin with a request.
    pub(super) service: Duration,
}

/// The times, fitted to 43, 195 and 26 ms, and to Figure 2.
pub(super) const PACE: Pace = Pace {
    open: Duration::from_micros(2200),
    close: Duration::from_micros(4750),
    think: Duration::from_micros(100),
    service: Duration::from_micros(2080),
};

/// Returns the rules of one end, whose first tick of [`AckTimer::BSD_TICK`] falls after `first_tick`.
pub(super) fn end(mss: u16, first_tick: Duration) -> Config {
    let mut config = (Profile::SUNOS_4_1.config)(&Sizes {
        mss,
        send_buffer: WINDOW,
        receive_buffer: WINDOW,
    });
    config.receiver.timer = AckTimer::Cyclic {
        period: AckTimer::BSD_TICK,
        phase: first_tick,
        slow: None,
    };
    config
}

const IN: Duration = Duration::from_micros(90);
const OUT: Duration = Duration::from_micros(60);

/// The costs of work on these hosts.
const COSTS: HostCosts = HostCosts {
    input: SegmentCost::flat(IN),
    output: SegmentCost::flat(OUT),
    wakeup: Duration::from_micros(100),
    read: Duration::from_micros(50),
    write: Duration::from_micros(100),
    chunk: Duration::from_micros(50),
    copy_ps_per_octet: 50_000,
    jitter_percent: 10,
    ..HostCosts::NONE
};

/// Returns the Ethernet between them.
fn ethernet(seed: u64) -> Medium {
    // Preamble 8, header 14, IP and TCP 40, trailer 4, gap 12; a frame has at least 64 octets
    // besides preamble and gap.
    let wire = Wire::new(10_000_000, 78, 84, Duration::from_micros(1));
    Medium::Ethernet(Ethernet::new(wire, Dice::new(seed, Purpose::Backoff)))
}

/// Returns the page: a text and two images.
pub(super) fn page() -> Vec<Document> {
    let documents = REQUESTS.into_iter().zip(BODIES);
    documents
        .map(|(request, body)| document(request, body))
        .collect()
}

/// Returns a document that is requested without delay.
pub(super) fn document(request: u64, body: u64) -> Document {
    Document {
        request,
        headers: HEADERS,
        body,
        pause: Duration::ZERO,
    }
}

/// The paper's fixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fixes {
    /// The flush after the headers is removed (section 2.2): "first fix" in Table 1.
    pub(super) headers_with_data: bool,
    /// Nagle's algorithm is disabled (section 2.3).
    pub(super) nodelay: bool,
}

impl Fixes {
    /// No fix.
    pub(super) const NONE: Self = Self {
        headers_with_data: false,
        nodelay: false,
    };
    /// The fix of section 2.2.
    pub(super) const FIRST: Self = Self {
        headers_with_data: true,
        nodelay: false,
    };
    /// The fix of section 2.3 alone.
    pub(super) const SECOND: Self = Self {
        headers_with_data: false,
        nodelay: true,
    };
    /// Both fixes.
    pub(super) const BOTH: Self = Self {
        headers_with_data: true,
        nodelay: true,
    };
    /// All four, in the paper's order.
    pub(super) const ALL: [Self; 4] = [Self::NONE, Self::FIRST, Self::SECOND, Self::BOTH];

    /// Returns the name in words.
    #[must_use]
    pub(super) const fn name(self) -> &'static str {
        match (self.headers_with_data, self.nodelay) {
            (false, false) => "none",
            (true, false) => "headers with data (2.2)",
            (false, true) => "no Nagle (2.3)",
            (true, true) => "both",
        }
    }
}

/// Returns the page's documents over this Ethernet, from this server, with these clocks: `ticks`
/// has the time of each host's first tick.
pub(super) fn setting(
    documents: Vec<Document>,
    over: Over,
    fixes: Fixes,
    pace: Pace,
    ticks: [Duration; 2],
    seed: u64,
) -> Setting {
    Setting {
        plan: HttpPlan {
            documents: documents.into(),
            persistent: over == Over::PHttp,
            server: ServerHabits {
                buffer: APACHE_BUFFER,
                headers_apart: !fixes.headers_with_data,
                nodelay: fixes.nodelay,
                service: pace.service,
            },
            open: pace.open,
            close: pace.close,
            think: pace.think,
        },
        world: WorldConfig {
            medium: ethernet(seed),
            impairment: ImpairmentRules::NONE,
            costs: [COSTS; 2],
            seed,
        },
        ends: ticks.map(|first| end(MSS, first)),
    }
}

/// The protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// A connection per document.
    Http,
    /// One connection for all documents.
    PHttp,
}

/// The rules on which all experiments on the Ethernet rest.
pub(super) const RULES: &[&str] = &[
    "The server's congestion window counts octets, begins with 2 MSS and grows by an MSS with \
     each ACK (section 2.2, footnote 1). It grows by no more than the ACK acknowledges, which \
     makes no difference here. A segment that the window would cut below an MSS is not sent.",
    "Nagle's algorithm is that of BSD: a small segment that empties the buffer leaves if nothing \
     was outstanding when the output pass began; otherwise it waits until everything is \
     acknowledged (section 2.3; Stevens, volume 1, p. 326).",
    "The client acknowledges when it has read 2 MSS, or 35 % of the buffer, beyond what it last \
     advertised. Otherwise it acknowledges with its next request or at the next tick of a \
     free-running 200 ms timer (section 2.2).",
    "The server writes in chunks of 4096 octets (section 2.3), and the kernel decides after each \
     chunk what it sends.",
    "Closing a connection sends all data that waits (section 2.3).",
];

/// Returns the numbers on which they rest.
pub(super) fn parameters() -> Vec<Parameter> {
    let of = |name, value: String, origin| Parameter {
        name,
        value,
        origin,
    };
    let micros = |time: Duration| format!("{:.2} ms", millis(time));
    let paper = Origin::Paper;
    let trace = Origin::Fitted("the times between frames in Figures 2 and 4");
    vec![
        of("MSS", format!("{MSS} octets"), paper("section 2.2")),
        of(
            "socket buffers and window",
            format!("{WINDOW} octets"),
            paper("section 2.1"),
        ),
        of("documents", octets(&BODIES), paper("section 2.1")),
        of("headers", format!("{HEADERS} octets"), paper("Figure 2")),
        of(
            "requests",
            octets(&REQUESTS),
            paper("Figures 2 and 4; the third is assumed"),
        ),
        of(
            "Apache's buffer",
            format!("{APACHE_BUFFER} octets"),
            paper("section 2.3"),
        ),
        of(
            "Ethernet",
            "10 Mbit/s, half duplex, CSMA/CD".into(),
            paper("section 2.1"),
        ),
        of(
            "delayed-ACK timer",
            "200 ms, free-running, with a phase of its own in each host".into(),
            paper("section 2.2"),
        ),
        of(
            "client opens a connection",
            micros(PACE.open),
            Origin::Fitted("43 ms (HTTP)"),
        ),
        of("client makes a request", micros(PACE.think), trace),
        of(
            "server begins a request",
            micros(PACE.service),
            Origin::Fitted("26 ms (P-HTTP, both fixes)"),
        ),
        of(
            "client closes a connection",
            micros(PACE.close),
            Origin::Fitted(
                "195 ms (P-HTTP, first fix): stalls end at ticks, so that retrieval and closing add up to 200 ms",
            ),
        ),
        of("segment in", micros(IN), trace),
        of("segment out", micros(OUT), trace),
        of("wake-up", micros(COSTS.wakeup), trace),
        of("read", micros(COSTS.read), trace),
        of("write", micros(COSTS.write), trace),
        of("chunk", micros(COSTS.chunk), trace),
        of(
            "copying",
            format!("{} ns an octet", COSTS.copy_ps_per_octet / 1000),
            trace,
        ),
        of(
            "jitter of all costs",
            format!("{} %", COSTS.jitter_percent),
            Origin::Assumed("no two segments take the same time"),
        ),
    ]
}

fn octets(sizes: &[u64]) -> String {
    let sizes: Vec<_> = sizes.iter().map(u64::to_string).collect();
    format!("{} octets", sizes.join(", "))
}

/// Returns the time in milliseconds.
pub(super) fn millis(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}
