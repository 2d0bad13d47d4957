//! The paper's two hosts, Sun IPXs with SunOS 4.1.1 on a FORE ATM network (section 3), and their
//! fitted parameters.

use tinygram_engine::Duration;
use tinygram_engine::connection::Config;
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_sim::costs::{ComesIn, Hiccup, HostCosts, SegmentCost};
use tinygram_sim::medium::Wire;

use crate::experiment::{Origin, Parameter};

/// The MSS on the paper's ATM network: an MTU of 9244 minus 40 (section 1), in octets.
pub const ATM_MSS: u16 = 9204;
/// The MSS on Ethernet (Figure 7), in octets.
pub const ETHERNET_MSS: u16 = 1460;
/// "The user data size of the write/read system call was 8192 bytes" (section 3).
pub const CALL: u64 = 8192;
/// "TCP transfer 16 Mbytes" (section 3).
pub const TRANSFER: u64 = 16 << 20;

/// The rules on which every experiment rests.
pub const RULES: &[&str] = &[
    "A segment leaves if it is full, or if it ends the buffer and the connection is idle (tested \
     on entry to the output pass), or if it is half of the largest window ever offered (2.3, \
     3.1.4).",
    "A write is copied in pieces of at most 4096 octets, and output runs after each piece. A \
     writer sleeps rather than split a cluster of 1 KiB (2.1).",
    "The receiver does not acknowledge when a segment arrives. After a read it acknowledges if \
     the window can move by 35 % of the buffer, or by two segments with nothing left to read \
     (2.2).",
    "A free-running tick of 200 ms acknowledges all data that is not yet acknowledged (2.2).",
    "When an ACK arrives, output runs before the sleeping writer may copy (2.4).",
    "A read empties the receive buffer cluster by cluster. A tick during the read advertises what \
     is free at that time (4.3BSD's soreceive).",
];

/// The origin of the fitted parameters: all were fitted to the same cells.
const FITTED: Origin = Origin::Fitted("41 fast cells of Table 1");

/// Returns the parameters of every transfer between the paper's hosts.
#[must_use]
pub fn parameters() -> Vec<Parameter> {
    let fitted = |name, value: &str| Parameter {
        name,
        value: value.into(),
        origin: FITTED,
    };
    let paper = |name, value: &str, place| Parameter {
        name,
        value: value.into(),
        origin: Origin::Paper(place),
    };
    vec![
        paper("write and read", "8192 octets", "section 3"),
        paper("transfer", "16 MiB", "section 3, which says 16 Mbytes"),
        paper("slow start", "none", "section 3: one IP subnetwork"),
        Parameter {
            name: "phase of the tick",
            value: "drawn at random for each run".into(),
            origin: Origin::Assumed("it is independent of the connection (section 2.2)"),
        },
        Parameter {
            name: "jitter of each cost",
            value: "10 %".into(),
            origin: Origin::Assumed("as in the models of Mogul's and Heidemann's hosts"),
        },
        fitted("system call", "305 us; a write pays it on entry"),
        fitted("copying by the user's call", "71 ns/octet"),
        fitted("segment out", "66 us"),
        fitted("octet out, the wire's time included", "66.3 ns"),
        fitted("segment in", "284 us"),
        fitted("octet in", "239 ns"),
        fitted("wake-up of a reader", "51 us"),
        fitted("ACK, out and in", "52 us each"),
        fitted("latency", "50 us one way"),
    ]
}

/// The costs of work. The table to which they were fitted does not determine single costs: other
/// sets fit as well.
pub const COSTS: HostCosts = HostCosts {
    input: SegmentCost {
        data: Duration::from_micros(284),
        data_ps_per_octet: 239_000,
        empty: Duration::from_micros(52),
    },
    output: SegmentCost {
        data: Duration::from_micros(66),
        data_ps_per_octet: 66_300,
        empty: Duration::from_micros(52),
    },
    write_entry: Duration::from_micros(305),
    // A reader pays for its call and its wake-up when there is something to read.
    take: Duration::from_micros(305 + 51),
    copy_ps_per_octet: 71_000,
    take_unit: Some(1024),
    // On SunOS frames interrupt calls, too. But these costs were fitted to calls that frames do not
    // interrupt: if frames interrupt, Table A.1's reads and arrivals change places; and if timers
    // interrupt writes, cells of Tables 1 to 3 leave their tolerance.
    comes_in: ComesIn::Timers,
    jitter_percent: 10,
    ..HostCosts::NONE
};

/// Other work on the hosts: a millisecond in one of ten wake-ups. It is used for cells that
/// deadlock only if a tick hits a certain millisecond. Workstations have such work; without it, the
/// tick meets the same instants of the transfer again and again.
pub const OTHER_WORK: Hiccup = Hiccup {
    length: Duration::from_millis(1),
    per_million: 100_000,
};

/// Returns the network. Its rate has no visible effect: at 140 Mbit/s, AAL3/4's cells take 69 ns
/// per octet of data, which is the fitted cost of a leaving segment. The processor feeds the
/// adapter cell by cell, so host and wire are busy together.
#[must_use]
pub fn wire() -> Wire {
    Wire::new(u64::MAX, 0, 0, Duration::from_micros(50))
}

/// Today's hosts, for which the paper has no costs: microseconds instead of hundreds of them. The
/// throughput after a deadlock does not depend on them.
pub const TODAY: HostCosts = HostCosts {
    input: SegmentCost::flat(Duration::from_micros(5)),
    output: SegmentCost::flat(Duration::from_micros(5)),
    wakeup: Duration::from_micros(5),
    read: Duration::from_micros(1),
    write: Duration::from_micros(1),
    copy_ps_per_octet: 100,
    jitter_percent: 10,
    ..HostCosts::NONE
};

/// Returns a link of 100 Mbit/s with a round trip of 1 ms and Ethernet's 78 octets around each
/// segment's data.
#[must_use]
pub fn link_today() -> Wire {
    Wire::new(100_000_000, 78, 84, Duration::from_micros(500))
}

/// Returns SunOS 4.1 between two hosts of one subnet, "where slow start is not an issue" (section 3).
#[must_use]
pub fn sun_os(sizes: &Sizes) -> Config {
    let mut config = (Profile::SUNOS_4_1.config)(sizes);
    config.sender.initial_cwnd = config.sender.cwnd_cap;
    config
}
