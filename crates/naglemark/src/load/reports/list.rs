//! The reports, and the loads that stand for theirs.

use tinygram_engine::Duration;

use super::{Ends, Figure, Given, Measure, Origin, Report, Scene, Server, UnderWay};
use crate::policy::SocketPolicy;
use Origin::{Assumed, Program, Report as Stated};

/// Every report, those for TCP_NODELAY first.
pub const REPORTS: &[Report] = &[
    Report {
        name: "redis-rs",
        url: "https://github.com/redis-rs/redis-rs/issues/2195",
        year: 2026,
        said: "NODELAY: +39 to +68 % throughput, p50 -27 to -46 %, with 2 to 32 tasks on one connection",
        figure: Some(Figure {
            measure: Measure::Throughput,
            times: [1.39, 1.68],
        }),
        scenes: &[REDIS_RS],
        needs: "the round trip of each run, which it gives as a range, and the processors' own times",
    },
    Report {
        name: "ray",
        url: "https://github.com/ray-project/ray/pull/61468",
        year: 2026,
        said: "NODELAY: mean time to the first token from 356.8 to 120.9 ms, 19.8 requests a second, 32 at once",
        figure: Some(Figure {
            measure: Measure::Mean,
            times: [356.8 / 120.9, 356.8 / 120.9],
        }),
        scenes: &[RAY],
        needs: "a proxy, where each event may wait on two connections, and answers whose events are spread over seconds; and what each \
                of them waits for",
    },
    Report {
        name: "aws-sdk",
        url: "https://github.com/awslabs/aws-sdk-rust/issues/958",
        year: 2023,
        said: "NODELAY: a call of Lambda from 91.8 to 34.5 ms, its HEADERS and its DATA in two writes",
        figure: Some(Figure {
            measure: Measure::Mean,
            times: [91.792 / 34.452, 91.792 / 34.452],
        }),
        scenes: &[AWS_SERVER, AWS_LINE],
        needs: "the round trip, which is not given: held data waits for the delayed ACK and for one round trip",
    },
    Report {
        name: "haywire",
        url: "https://github.com/haywire/haywire/pull/68",
        year: 2015,
        said: "NODELAY: from 858,071 to 474,183 requests a second, 32 connections with 64 pipelined, 8 threads",
        figure: Some(Figure {
            measure: Measure::Throughput,
            times: [474_182.83 / 858_070.66, 474_182.83 / 858_070.66],
        }),
        scenes: &[HAYWIRE, HAYWIRE_AT_ONCE],
        needs: "to know why most of its pipelines did not wait for a delayed ACK (all 32 took 2.4 ms on average, a quarter 40 ms); \
                several processors, and what a segment costs them",
    },
    Report {
        name: "redpanda",
        url: "https://github.com/redpanda-data/redpanda/pull/30470",
        year: 2026,
        said: "NODELAY on internal calls: -7 % requests a second, processors 5 % busier, 20 % more calls of recv",
        figure: Some(Figure {
            measure: Measure::Throughput,
            times: [0.93, 0.93],
        }),
        scenes: &[REDPANDA],
        needs: "the sizes, how many requests are under way, and what else the processors do: all that is simulated is these \
                calls",
    },
    Report {
        name: "hotos",
        url: "https://nadav.amit.zone/publications/workshops/2025-batching.html",
        year: 2025,
        said: "an estimate: switching Nagle's on when it helps nearly doubles the load that Redis carries at tolerable latencies",
        figure: Some(Figure {
            measure: Measure::Knee,
            times: [0.5, 0.5],
        }),
        scenes: &[HOTOS],
        needs: "the paper's load: its summary gives neither sizes nor connections, and the text was not at hand",
    },
    Report {
        name: "kafka",
        url: "https://kafka.apache.org/documentation/#producerconfigs_linger.ms",
        year: 2025,
        said: "linger.ms, for how long a producer gathers, is 5 by default and no longer 0",
        figure: None,
        scenes: &[],
        needs: "a figure of its own, and a program that gathers for a time: the producer holds records before TCP sees them",
    },
];

const NOTHING_ELSE: Given<Duration> = Given(Duration::ZERO, Program("it answers from memory"));
const CLOSED: &str = "it asks again as soon as it is answered";
const NOT_GIVEN: &str = "not given";

const fn report(connections: u32, depth: u32) -> UnderWay {
    UnderWay {
        connections,
        depth,
        is_reports: true,
    }
}

const fn beside(connections: u32, depth: u32) -> UnderWay {
    UnderWay {
        is_reports: false,
        ..report(connections, depth)
    }
}

const REDIS_RS: Scene = Scene {
    name: "",
    asked: Given(
        &[
            beside(1, 1),
            report(1, 2),
            report(1, 4),
            report(1, 8),
            report(1, 16),
            report(1, 32),
        ],
        Stated("2 to 32 tasks share a connection"),
    ),
    again: Stated(CLOSED),
    request: Given((40, 1), Assumed("GET of a short key")),
    answer: Given(
        (10, None),
        Program("Redis writes when it has read all; a small value"),
    ),
    ends: Given(Ends::Client, Stated("the client's option")),
    other: Given(SocketPolicy::NoDelay, Program("Redis sets it")),
    server: Given(Server::EventLoops(1), Program("Redis is one loop")),
    pause: NOTHING_ELSE,
    service: Given(Duration::from_micros(2), Assumed("a GET from memory")),
    rate: Given(Some(1_000_000_000), Stated("1 GbE")),
    rtt: Given(
        Duration::from_micros(200),
        Stated("between its 0.13 and 0.38 ms"),
    ),
    window: Duration::from_millis(200),
};

const RAY: Scene = Scene {
    name: "",
    asked: Given(&[report(32, 1)], Stated("at most 32 at once")),
    again: Stated("as many at once as it may be: no connection is idle for long"),
    request: Given((3000, 1), Assumed("640 tokens")),
    answer: Given(
        (300, Some(2)),
        Assumed("the headers, then the first event, without the later ones"),
    ),
    ends: Given(
        Ends::Server,
        Stated("the proxy's option, of which one connection is simulated"),
    ),
    other: Given(SocketPolicy::Default, Assumed(NOT_GIVEN)),
    server: Given(
        Server::ThreadEach,
        Assumed("a proxy does not wait for one answer alone"),
    ),
    pause: Given(
        Duration::from_micros(120_900),
        Stated("the mean with NODELAY"),
    ),
    service: Given(Duration::from_micros(2), Assumed("little beside the wait")),
    rate: Given(None, Assumed(NOT_GIVEN)),
    rtt: Given(Duration::ZERO, Assumed(NOT_GIVEN)),
    window: Duration::from_secs(2),
};

const AWS_SERVER: Scene = Scene {
    name: "all of its time at the server",
    asked: Given(&[report(1, 1)], Stated("a benchmark that repeats one call")),
    again: Stated(CLOSED),
    request: Given(
        (2000, 2),
        Stated("HEADERS, then DATA; their lengths are assumed"),
    ),
    answer: Given((500, Some(1)), Assumed(NOT_GIVEN)),
    ends: Given(Ends::Client, Stated("the SDK's option")),
    other: Given(
        SocketPolicy::Default,
        Assumed("in an answer of one write it changes nothing"),
    ),
    server: Given(Server::ThreadEach, Assumed(NOT_GIVEN)),
    pause: Given(
        Duration::from_micros(34_452),
        Stated("the time with NODELAY"),
    ),
    service: Given(Duration::from_micros(2), Assumed("little beside the wait")),
    rate: Given(None, Assumed("short messages")),
    rtt: Given(Duration::ZERO, Assumed("the least that it can be")),
    window: Duration::from_secs(3),
};

const AWS_LINE: Scene = Scene {
    name: "all of its time on the line",
    pause: Given(Duration::ZERO, Assumed("the least that it can be")),
    rtt: Given(
        Duration::from_micros(34_452),
        Stated("the time with NODELAY"),
    ),
    ..AWS_SERVER
};

const HAYWIRE: Scene = Scene {
    name: "",
    asked: Given(
        &[report(4, 1), beside(8, 1), beside(16, 1)],
        Stated(
            "32 connections on 8 threads are 4 for each; one request stands for the 64 of a pipeline",
        ),
    ),
    again: Stated(CLOSED),
    request: Given(
        (64 * 45, 1),
        Program("wrk writes a pipeline at once; 45 bytes each are assumed"),
    ),
    answer: Given(
        (64 * 158, Some(64)),
        Stated("129.29 MiB a second are 158 bytes each; a write for each is assumed"),
    ),
    ends: Given(Ends::Server, Stated("the server's option")),
    other: Given(SocketPolicy::NoDelay, Program("wrk sets it")),
    server: Given(
        Server::EventLoops(1),
        Program("a loop for each thread, here one of them on its own host"),
    ),
    pause: NOTHING_ELSE,
    service: Given(Duration::from_micros(64), Assumed("1 us for each of 64")),
    rate: Given(
        None,
        Stated("129 MiB a second are more than 1 Gbit/s carries"),
    ),
    rtt: Given(Duration::ZERO, Assumed(NOT_GIVEN)),
    window: Duration::from_millis(500),
};

const HAYWIRE_AT_ONCE: Scene = Scene {
    name: "if its clients acknowledge at once",
    other: Given(
        SocketPolicy::QuickAck,
        Assumed(
            "what it would take: its pipelines took 2.4 ms on average, so few waited for a delayed ACK",
        ),
    ),
    ..HAYWIRE
};

const REDPANDA: Scene = Scene {
    name: "",
    asked: Given(
        &[
            beside(1, 1),
            beside(1, 2),
            beside(1, 4),
            beside(1, 8),
            beside(1, 16),
            beside(1, 32),
            beside(1, 64),
        ],
        Assumed("several are under way, it says, not how many"),
    ),
    again: Assumed("a benchmark's most"),
    request: Given((300, 1), Assumed(NOT_GIVEN)),
    answer: Given((100, Some(1)), Assumed(NOT_GIVEN)),
    ends: Given(Ends::Client, Stated("the internal client's option")),
    other: Given(SocketPolicy::Default, Assumed(NOT_GIVEN)),
    server: Given(Server::EventLoops(1), Program("a loop for each processor")),
    pause: Given(
        Duration::ZERO,
        Assumed("a follower that does not wait for its disk"),
    ),
    service: Given(Duration::from_micros(5), Assumed("to append")),
    rate: Given(None, Assumed(NOT_GIVEN)),
    rtt: Given(Duration::from_micros(100), Assumed("a data centre's")),
    window: Duration::from_millis(200),
};

const HOTOS: Scene = Scene {
    name: "",
    asked: Given(&[report(4, 32)], Assumed("a pipelined load")),
    again: Assumed("the highest load is searched for"),
    request: Given((50, 1), Assumed(NOT_GIVEN)),
    answer: Given((50, Some(1)), Assumed(NOT_GIVEN)),
    ends: Given(Ends::Both, Assumed(NOT_GIVEN)),
    other: Given(SocketPolicy::Default, Assumed(NOT_GIVEN)),
    server: Given(Server::EventLoops(1), Program("Redis is one loop")),
    pause: NOTHING_ELSE,
    service: Given(Duration::from_micros(1), Assumed("a short command")),
    rate: Given(None, Assumed(NOT_GIVEN)),
    rtt: Given(Duration::from_micros(200), Assumed(NOT_GIVEN)),
    window: Duration::from_millis(200),
};
