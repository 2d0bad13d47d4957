//! The tables that `diagnose` makes from captures.

use crate::schema::Kind::{Bool, Float, Int, Ints, Text, Texts, Time};
use crate::schema::{Column, Table, always, joined, perhaps};

const CAPTURE: Column = always(
    "capture",
    Text,
    "the capture as it was named; the first and the last file of a ring buffer",
);
/// The columns that name a row's connection.
const CONNECTION: [Column; 6] = [
    CAPTURE,
    always(
        "connection",
        Int,
        "the connection's number in its capture, from 0 in order of appearance",
    ),
    perhaps(
        "client_address",
        Text,
        "IP address of the end that opened the connection; without a SYN of the end whose port is no service's; all four are null in a finding whose connection is beyond the limit of those listed",
    ),
    perhaps("client_port", Int, "its port, 0 to 65535"),
    perhaps("server_address", Text, "IP address of the other end"),
    perhaps("server_port", Int, "its port, 0 to 65535"),
];

/// The columns that describe what `$side` sends, and how `$peer` acknowledges it.
macro_rules! data_of {
    ($side:literal, $peer:literal) => {
        [
            always(
                concat!($side, "_bytes"),
                Int,
                concat!("payload that the ", $side, " sent, in bytes"),
            ),
            always(concat!($side, "_segments"), Int, concat!("data segments that the ", $side, " sent")),
            always(
                concat!($side, "_short_segments"),
                Int,
                "of these, those below the MSS",
            ),
            always(
                concat!($side, "_retransmitted"),
                Int,
                concat!("segments that the ", $side, " sent again"),
            ),
            always(
                concat!($side, "_mss"),
                Int,
                "the largest payload of one of its segments, in bytes",
            ),
            always(
                concat!($side, "_mss_source"),
                Text,
                "how that is known: `handshake`, `one SYN` or `assumed`",
            ),
            always(
                concat!($side, "_offload"),
                Bool,
                "a frame held more than one segment: captured before segmentation offload",
            ),
            always(
                concat!($side, "_policy"),
                Text,
                "its policy on small segments as far as it shows: `nagle`, `minshall`, `nodelay` or `unknown`",
            ),
            perhaps(
                concat!($side, "_data_ack_timer_ms"),
                Float,
                concat!("the delayed-ACK timer of the ", $peer, ", which acknowledges these data, in milliseconds; null if none was seen"),
            ),
            perhaps(
                concat!($side, "_data_ack_every"),
                Float,
                "MSS-sized units of these data per pure ACK, on average; null without one",
            ),
        ]
    };
}

/// Findings.
pub static FINDINGS: Table = Table {
    name: "findings",
    version: 1,
    about: "A row is a stall or a flood of tinygrams (`diagnose`)",
    columns: &joined::<21>(&[
        &CONNECTION,
        &[
            always(
                "kind",
                Text,
                "what it is, for example `write-write-read`; the book has all kinds",
            ),
            always(
                "sender",
                Text,
                "`client` or `server`: who sends the data in question, and is to change something",
            ),
            always(
                "blame",
                Text,
                "`client` or `server`: who is to blame; the sender, but for a receive buffer that is too small",
            ),
            always("start", Time, "when the wait began"),
            always("end", Time, "when the held segment was seen"),
            always(
                "cost_ms",
                Float,
                "time that somebody waited in vain, in milliseconds; 0 for a flood",
            ),
            always(
                "segments_saved",
                Int,
                "segments that coalescing would have saved; 0 for a stall",
            ),
            always(
                "confidence",
                Text,
                "`certain`, `likely` or `possible`; what is possible is not counted as a stall",
            ),
            always(
                "pieces",
                Text,
                "what the two segments were to the application: `one-message`, `pipelined` or `unknown`",
            ),
            perhaps(
                "protocol",
                Text,
                "what the programs speak; null if that is not known",
            ),
            always(
                "frames",
                Ints,
                "frame numbers in the capture, from 1: trigger, release and held segment of a stall; the first and the last of a flood",
            ),
            always("habit", Text, "what the sender does, as a verb phrase"),
            always("cure", Text, "the cure in few words"),
            always("evidence", Texts, "the reasons, one sentence each"),
            always(
                "advice",
                Text,
                "what can be changed at both ends, what costs least first",
            ),
        ],
    ]),
};

/// Connections.
pub static CONNECTIONS: Table = Table {
    name: "connections",
    version: 1,
    about: "A row is a TCP connection, as far as its capture shows it (`diagnose`)",
    columns: &joined::<35>(&[
        &CONNECTION,
        &[
            always(
                "handshake",
                Bool,
                "its opening was seen; without it the sides are told by their ports",
            ),
            always("start", Time, "its first segment"),
            always(
                "duration_ms",
                Float,
                "from its first segment to its last, in milliseconds",
            ),
            always("frames", Int, "its segments, both ways"),
            perhaps(
                "rtt_ms",
                Float,
                "round trip between the hosts, in milliseconds; null if no handshake told both parts of it",
            ),
            always(
                "capture_point",
                Text,
                "`near-client`, `near-server`, `between` or `unknown`",
            ),
            always("stalls", Int, "stalls that are certain or likely"),
            always("cost_ms", Float, "their cost, in milliseconds"),
        ],
        &data_of!("client", "server"),
        &data_of!("server", "client"),
        &[perhaps(
            "rtt_at_most_ms",
            Float,
            "the most that the round trip can be, in milliseconds, by the handshake and the shortest waits for ACKs; null if nothing tells",
        )],
    ]),
};

/// What was ruled out.
pub static RULED_OUT: Table = Table {
    name: "ruled_out",
    version: 1,
    about: "A row is what looked like a stall and is not, by connection and reason (`diagnose`)",
    columns: &joined::<12>(&[
        &CONNECTION,
        &[
            always(
                "kind",
                Text,
                "what it was, for example `slow-link`; the book has all",
            ),
            always("count", Int, "how often"),
            always(
                "time_ms",
                Float,
                "the time that it took in all, in milliseconds",
            ),
            always("first_frame", Int, "the frame number of the first"),
            always(
                "frames",
                Ints,
                "the frame numbers of the first ones, 64 of a connection at most",
            ),
            always("reason", Text, "why it is no stall of small segments"),
        ],
    ]),
};

/// Verdicts.
pub static VERDICT: Table = Table {
    name: "verdict",
    version: 1,
    about: "A row is a capture and what is to be said of it (`diagnose`)",
    columns: &[
        CAPTURE,
        always("result", Text, "`stalls`, `none` or `cannot-tell`"),
        always(
            "obstacles",
            Texts,
            "what kept it from showing a stall, where nothing can be told",
        ),
        always("remedies", Texts, "what would help against each"),
        perhaps("start", Time, "its first segment; null if there is none"),
        perhaps("end", Time, "its last segment; null if there is none"),
        always("frames", Int, "frames read"),
        always("segments", Int, "of these, those with a TCP segment"),
        always("connections", Int, "connections seen"),
        always("stalls", Int, "stalls that are certain or likely"),
        always("cost_ms", Float, "their cost, in milliseconds"),
        always("floods", Int, "floods of tinygrams"),
        always("possible", Int, "stalls that are no more than possible"),
        always(
            "possible_cost_ms",
            Float,
            "what those would have cost, in milliseconds",
        ),
        always(
            "unwatched",
            Int,
            "segments that were held, and nobody was seen to wait for them",
        ),
        always(
            "unwatched_ms",
            Float,
            "for how long in all, in milliseconds",
        ),
        perhaps(
            "dominated_by",
            Text,
            "what took most time where nothing stalled; null if nothing stands out",
        ),
        perhaps("dominated_ms", Float, "that time, in milliseconds"),
        always("quic_frames", Int, "frames of QUIC, which is out of scope"),
        always(
            "dropped_findings",
            Int,
            "findings beyond the limit, which are counted above and have no row",
        ),
        always(
            "unlisted_connections",
            Int,
            "connections beyond the limit, which have no row",
        ),
        perhaps(
            "incomplete",
            Text,
            "why reading ended before the capture's end; null if it did not",
        ),
    ],
};

/// Captures that could not be read.
pub static ERRORS: Table = Table {
    name: "errors",
    version: 1,
    about: "A row is a capture that could not be read, or not to its end (the Spark data source)",
    columns: &[
        CAPTURE,
        always("error", Text, "what is wrong, in the command line's words"),
        always(
            "frames",
            Int,
            "frames read before that; what they showed is in the other tables",
        ),
    ],
};
