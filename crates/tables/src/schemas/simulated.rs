//! The tables that the simulator makes (the benchmark, the papers, deadlocks), and the table of
//! policies.

use crate::schema::Kind::{Bool, Float, Int, Text};
use crate::schema::{Table, always, perhaps};

/// The benchmark's cells.
pub static NAGLEMARK: Table = Table {
    name: "naglemark",
    version: 1,
    about: "A row is a cell of the benchmark: a policy, a pair of buffers, a trial type (`naglemark`)",
    columns: &[
        perhaps(
            "table",
            Int,
            "the paper's table that holds this cell, 4 to 7; null if none does",
        ),
        always(
            "backend",
            Text,
            "what was measured: `sim`, or a TCP that is real",
        ),
        always(
            "medium",
            Text,
            "`ethernet`, `fddi`, `point-to-point`; `loopback`, `veth` and the like where it is real",
        ),
        always(
            "variant",
            Text,
            "the policy in the paper's spelling, or by its own name where the paper has none",
        ),
        always("app_buffer", Int, "the size of each write, in bytes"),
        always("socket_buffer", Int, "the sender's socket buffer, in bytes"),
        always(
            "trial",
            Text,
            "`s`, `S`, `r` or `R` (Mogul & Minshall, Table 2)",
        ),
        always(
            "score_percent",
            Float,
            "share of transfers above the cutoff, 0 to 100, the mean over the repetitions",
        ),
        always(
            "score_sd",
            Float,
            "its standard deviation over the repetitions, in percentage points",
        ),
        always(
            "segments_per_transfer",
            Float,
            "data segments per transfer, retransmissions included",
        ),
        perhaps(
            "short_segments_per_transfer",
            Float,
            "of these, those below the MSS; null where the stack does not count them",
        ),
        always(
            "mean_elapsed_ms",
            Float,
            "mean elapsed time of a transfer, in milliseconds",
        ),
        always(
            "p99_elapsed_ms",
            Float,
            "its 99th percentile, in milliseconds",
        ),
        always(
            "slope_ns_per_byte",
            Float,
            "slope of elapsed time over length, in nanoseconds per byte (section 8.1)",
        ),
        perhaps(
            "segments_over_fewest",
            Float,
            "data segments over the fewest that carry the bytes, 1 or more; null on real sockets",
        ),
        perhaps(
            "elapsed_over_earliest",
            Float,
            "elapsed time over that of sending each byte as soon as window and link allow; null on real sockets",
        ),
        perhaps(
            "published_trial",
            Text,
            "the trial type that the paper printed for these buffers; null where it has none",
        ),
        perhaps(
            "published_score_percent",
            Float,
            "the score that the paper printed for these buffers, 0 to 100; null where it has none",
        ),
    ],
};

/// Published values beside ours.
pub static REPRODUCE: Table = Table {
    name: "reproduce",
    version: 1,
    about: "A row is a value of a paper beside ours (`reproduce`)",
    columns: &[
        always(
            "experiment",
            Text,
            "the experiment's id, for example `mogul-table-5`",
        ),
        always("paper", Text, "the paper's authors"),
        always("title", Text, "what the experiment reproduces"),
        always("source", Text, "where it stands in the paper"),
        always("row", Int, "the row's number in its experiment, from 0"),
        always(
            "cell",
            Text,
            "which value it is: `name=value` for each of its coordinates, with `; ` between them",
        ),
        perhaps(
            "held_to",
            Text,
            "`printed` by the paper, `derived` from its words, or a `bound`; null if it is held to nothing",
        ),
        perhaps(
            "expected",
            Text,
            "the value that it is held to, as text; null if there is none",
        ),
        perhaps(
            "expected_number",
            Float,
            "the same as a number; null if it is none",
        ),
        always("reproduced", Text, "our value, as text"),
        perhaps(
            "reproduced_number",
            Float,
            "the same as a number; null if it is none",
        ),
        perhaps(
            "lowest_allowed",
            Float,
            "the least number that counts as agreeing; null without one",
        ),
        perhaps(
            "highest_allowed",
            Float,
            "the largest number that counts as agreeing; null without one",
        ),
        always(
            "class",
            Text,
            "`rules`, `fitted`, `predicted`, `known-mismatch`, `measured-here` or `not-published`",
        ),
        always(
            "status",
            Text,
            "`match`, `fitted`, `known-mismatch`, `miss`, `measured-here` or `not-published`",
        ),
        perhaps(
            "why",
            Text,
            "the reason of a mismatch that is known; null elsewhere",
        ),
    ],
};

/// Buffers that deadlock, and cures.
pub static DEADLOCK: Table = Table {
    name: "deadlock",
    version: 1,
    about: "The first row is the pair of buffers that was asked about, each further one a cure (`deadlock`)",
    columns: &[
        perhaps("change", Text, "what is changed; null in the first row"),
        perhaps("source", Text, "who proposed it; null in the first row"),
        always(
            "works",
            Bool,
            "no deadlock is predicted, and none is seen in the simulator",
        ),
        always(
            "area",
            Text,
            "`certain` inside inequality (1), `possible` inside (2), or `safe` (Moldeklev & Gunningberg)",
        ),
        always("predicted", Bool, "a deadlock is predicted"),
        perhaps(
            "class",
            Text,
            "`window-update`, `copying` or `timer`; null where none is predicted",
        ),
        perhaps(
            "sent_bytes",
            Int,
            "in flight and not acknowledged, in bytes; null where none is predicted",
        ),
        perhaps(
            "buffered_bytes",
            Int,
            "in the send buffer, in bytes; null where none is predicted",
        ),
        perhaps(
            "bytes_per_timer",
            Float,
            "through for each ACK of the timer, in bytes; null where none is predicted",
        ),
        perhaps(
            "predicted_mbit_per_s",
            Float,
            "what that comes to, in Mbit/s; null where none is predicted",
        ),
        always("runs", Int, "simulated runs"),
        always("deadlocked", Int, "of these, those that deadlocked"),
        always(
            "simulated_mbit_per_s",
            Float,
            "throughput in the simulator, in Mbit/s",
        ),
        always(
            "waiting_percent",
            Float,
            "share of the time in which nothing moves until a timer fires, 0 to 100",
        ),
    ],
};

/// Policies.
pub static POLICIES: Table = Table {
    name: "policies",
    version: 1,
    about: "A row is a send policy or an ACK policy (`policies`)",
    columns: &[
        always("side", Text, "`send` or `ack`"),
        always("name", Text, "the name that options take"),
        perhaps(
            "label",
            Text,
            "the spelling of the papers' tables; null for ACK policies",
        ),
        always("summary", Text, "what it does"),
        always("source", Text, "where it is from"),
        perhaps(
            "needs",
            Text,
            "what it must know or remember; null if nothing",
        ),
        always("runs_on", Text, "what runs it, in a list with commas"),
    ],
};
