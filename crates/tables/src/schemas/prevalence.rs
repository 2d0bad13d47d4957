//! The tables that `prevalence` makes from access logs.

use crate::schema::Kind::{Float, Int, Text};
use crate::schema::{Table, always, perhaps};

/// What was read.
pub static PREVALENCE_LOG: Table = Table {
    name: "prevalence_log",
    version: 1,
    about: "One row: what was read, all logs taken together (`prevalence`)",
    columns: &[
        always("lines", Int, "all lines"),
        always("unreadable", Int, "lines that are no response"),
        always("responses", Int, "lines that are one"),
        always(
            "with_body",
            Int,
            "responses with a body: those that Table 1 is about",
        ),
        always("head", Int, "responses without one: answers to HEAD"),
        always("not_modified", Int, "responses without one: status 304"),
        always("empty", Int, "responses without one: a size of `-` or 0"),
        always("body_bytes", Int, "bytes of all bodies"),
        always("distinct_sizes", Int, "different sizes of bodies"),
        perhaps(
            "first",
            Text,
            "the earliest time, UTC (RFC 3339); null without a response",
        ),
        perhaps("last", Text, "the latest"),
        always(
            "days",
            Float,
            "what the logs cover, in days: each from its earliest to its latest, and what several cover once",
        ),
    ],
};

/// Table 1.
pub static PREVALENCE_SHARES: Table = Table {
    name: "prevalence_shares",
    version: 1,
    about: "A row is an entry of Mogul & Minshall's Table 1 for the logs (`prevalence`)",
    columns: &[
        always("mss", Int, "maximum segment size, in bytes"),
        perhaps(
            "mclbytes",
            Int,
            "the kernel's copying unit, in bytes; null where the test for it is ignored",
        ),
        always("delayed", Int, "responses that the paper's model delays"),
        perhaps(
            "share_percent",
            Float,
            "of the responses with a body, 0 to 100; null if there are none",
        ),
        perhaps(
            "share_of_all_percent",
            Float,
            "of all responses, 0 to 100; null if there are none",
        ),
    ],
};

/// What the responses would cost.
pub static PREVALENCE_COSTS: Table = Table {
    name: "prevalence_costs",
    version: 1,
    about: "A row is what the logs' responses take in the simulator under a send policy (`prevalence`)",
    columns: &[
        always("policy", Text, "the server's send policy"),
        always("mss", Int, "maximum segment size, in bytes"),
        perhaps(
            "mclbytes",
            Int,
            "the simulated kernel's copying unit, in bytes; null where it has none",
        ),
        always(
            "delayed",
            Int,
            "responses that come more than 1 ms later than with nothing held",
        ),
        perhaps(
            "delayed_percent",
            Float,
            "of the responses with a body, 0 to 100; null if there are none",
        ),
        always(
            "stall_s",
            Float,
            "how much later all of them come, in seconds",
        ),
        perhaps(
            "stall_s_per_day",
            Float,
            "the same for a day of the log; null if the log has no length in time",
        ),
        always(
            "segments",
            Int,
            "data segments of all responses with a body",
        ),
        perhaps(
            "segments_per_day",
            Float,
            "the same for a day of the log; null if the log has no length in time",
        ),
    ],
};

/// The counts of a part of a log.
pub static RESPONSES: Table = Table {
    name: "responses",
    version: 1,
    about: "A row is how often a size was sent, in one range of one log (the Spark data source)",
    columns: &[
        always("log", Text, "the log as it was named"),
        always("offset", Int, "where the range begins, in bytes"),
        always(
            "what",
            Text,
            "`size`, or what the count is of otherwise: `lines`, `unreadable`, `head`, `not-modified`, `empty`, `first-time`, `last-time`",
        ),
        always(
            "bytes",
            Int,
            "the body's size, in bytes, where `what` is `size`; else 0",
        ),
        always(
            "count",
            Int,
            "how many; of a time the seconds since 1970, UTC",
        ),
    ],
};
