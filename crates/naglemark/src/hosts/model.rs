//! The two models of the paper's hosts: `literal` does what the text says; `fitted` also does what
//! the results require.
//!
//! [`PARAMETERS`] lists every parameter in which the models differ or which both have beyond the
//! text, with what it was fitted to. Wherever results are shown, these parameters are marked as
//! fitted.

use tinygram_engine::Duration;
use tinygram_engine::receiver::ack_policy::{AckPolicy, SlowTick};
use tinygram_sim::costs::{ComesIn, Hiccup, HostCosts, SegmentCost};

/// A reading of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// What the text says.
    Literal,
    /// What the text says, and what the results require in addition. MORE applies under every
    /// policy, also under one that you wrote; [`Literal`](Self::Literal) applies it only to
    /// policies that include it.
    Fitted,
}

/// A parameter in which the models differ, or which both have beyond the text.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its value in the literal model.
    pub literal: &'static str,
    /// Its value in the fitted model.
    pub fitted: &'static str,
    /// What it was fitted to, or why the text cannot be followed.
    pub why: &'static str,
}

const HOST_COSTS: &str = "minor; the text gives no value";
const HICCUPS: &str = "Tables 6 and 7; the non-determinism that section 9 reports";

/// All parameters, the most important first. Each has one value, so that they can be counted. The
/// last ones are those in which the models do not differ and which the text does not mention
/// either.
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "cwnd after the handshake",
        literal: "no limit (section 7 gives none; section 3 assumes 2 MSS for its figures)",
        fitted: "3 MSS",
        why: "EOM's 2.3 % in the type s trials on Ethernet; with 2 MSS even OFF would stall on FDDI",
    },
    Parameter {
        name: "acknowledgments",
        literal: "on arrival of every second full-sized segment (section 1)",
        fitted: "after a read, if the window can move by 2 MSS",
        why: "all of Table 5; it is what BSD's tcp_output does",
    },
    Parameter {
        name: "client's slow timer",
        literal: "none",
        fitted: "500 ms, in phase with the 200 ms one; flushes delayed ACKs in 60 % of its ticks",
        why: "footnote 2's cluster at 100 ms and the long transfers of Table 4",
    },
    Parameter {
        name: "MINSHALL's small segment",
        literal: "any segment below the MSS (section 5.1)",
        fitted: "one that ends where the buffer held less than an MSS altogether",
        why: "MINSHALL's 8.7 % in Table 5; it is the draft's suggested implementation",
    },
    Parameter {
        name: "window",
        literal: "32,768 octets (section 7)",
        fitted: "65,535 octets; 65,536 with the 128K socket buffer",
        why: "BORMAN's and NAGLE's columns for 64K and 128K in Table 5",
    },
    Parameter {
        name: "MSMV's exception",
        literal: "if the socket buffer's size is a multiple of MCLBYTES (section 5.2)",
        fitted: "if the octets in the buffer are a multiple of MCLBYTES",
        why: "with the sizes of section 7 the literal rule never holds anything",
    },
    Parameter {
        name: "MORE",
        literal: "in the variants that name it",
        fitted: "in every variant",
        why: "EOM and E+M do not differ in Tables 4 and 5",
    },
    Parameter {
        name: "FDDI",
        literal: "full duplex",
        fitted: "a token ring: ACKs return in a batch once the sender's queue is empty",
        why: "NAGLE's and BORMAN's columns in Table 5",
    },
    Parameter {
        name: "Ethernet",
        literal: "full duplex",
        fitted: "CSMA/CD with binary exponential back-off",
        why: "the 0.3 to 0.6 % of the type R trials in Table 4; it is what Ethernet was",
    },
    Parameter {
        name: "BORMAN's flags",
        literal: "evaluated on entry to the write (figure 5)",
        fitted: "evaluated on entry to the write and again each time the write has slept for \
                 space",
        why: "BORMAN's 32K column in Table 5",
    },
    Parameter {
        name: "client's work for a segment",
        literal: "none",
        fitted: "50 us, in or out",
        why: HOST_COSTS,
    },
    Parameter {
        name: "server's work for a segment",
        literal: "none",
        fitted: "40 us, in or out",
        why: HOST_COSTS,
    },
    Parameter {
        name: "wake-up",
        literal: "none",
        fitted: "60 us",
        why: HOST_COSTS,
    },
    Parameter {
        name: "system call",
        literal: "none",
        fitted: "20 us",
        why: HOST_COSTS,
    },
    Parameter {
        name: "piece of a copy",
        literal: "none",
        fitted: "15 us",
        why: HOST_COSTS,
    },
    Parameter {
        name: "copying",
        literal: "none",
        fitted: "10 ns an octet",
        why: HOST_COSTS,
    },
    Parameter {
        name: "server's work for a request",
        literal: "none",
        fitted: "200 us",
        why: HOST_COSTS,
    },
    Parameter {
        name: "jitter of host costs",
        literal: "none",
        fitted: "10 %",
        why: HOST_COSTS,
    },
    Parameter {
        name: "frames and timers interrupt a call",
        literal: "no effect, because calls take no time",
        fitted: "yes, and the call ends later",
        why: "BSD does this (splnet); the hosts that do it were chosen by how near the tables \
              come",
    },
    Parameter {
        name: "length of the client's hiccups (Tables 6 and 7)",
        literal: "none",
        fitted: "10 ms",
        why: HICCUPS,
    },
    Parameter {
        name: "share of the client's hiccups (Tables 6 and 7)",
        literal: "none",
        fitted: "8 of 100,000 wake-ups",
        why: HICCUPS,
    },
    Parameter {
        name: "connection set-up",
        literal: "10 ms, untimed",
        fitted: "10 ms, untimed",
        why: "the s and r trials of Tables 4 and 5; minor",
    },
    Parameter {
        name: "propagation",
        literal: "10 us one way",
        fitted: "10 us one way",
        why: "minor; the text gives no value",
    },
    Parameter {
        name: "socket's low-water mark",
        literal: "2048 octets",
        fitted: "2048 octets",
        why: "MSMV's and EOM's columns in Table 5; it is 4.4BSD's",
    },
    Parameter {
        name: "last piece of a copy",
        literal: "not cut to the space, so that it overfills the buffer",
        fitted: "not cut to the space, so that it overfills the buffer",
        why: "MSMV's and EOM's columns in Table 5; it is BSD's",
    },
    Parameter {
        name: "MORE where it would deadlock",
        literal: "gives way",
        fitted: "gives way",
        why: "a writer that sleeps with nothing outstanding would sleep for ever; section 5.4 \
              does not mention this case",
    },
];

/// The times that the hosts' work takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// The client's system calls and segments.
    pub client: HostCosts,
    /// The server's.
    pub server: HostCosts,
    /// The time that the server needs for a request.
    pub service: Duration,
    /// The time that the client needs before the next request.
    pub think: Duration,
}

/// BSD's fast timer, by which the clients of both models delay ACKs (section 1).
pub const ACK_TICK: Duration = Duration::from_millis(200);

/// The ACK policy of a client that infers the sender's buffer (section 9).
pub const INFERENCE: AckPolicy = AckPolicy::Tru64Inference;

impl Model {
    /// Returns its name, as typed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Literal => "literal",
            Self::Fitted => "fitted",
        }
    }

    pub(super) fn is_fitted(self) -> bool {
        self == Self::Fitted
    }

    /// Returns the server's congestion window after the handshake, in octets.
    pub(super) fn initial_cwnd(self, mss: u64) -> u64 {
        match self {
            Self::Literal => 65_535,
            Self::Fitted => 3 * mss,
        }
    }

    /// Returns the client's ACK policy.
    #[must_use]
    pub const fn ack_policy(self) -> AckPolicy {
        match self {
            Self::Literal => AckPolicy::EverySecond,
            Self::Fitted => AckPolicy::BytesConsumed,
        }
    }

    /// Returns the second tick that flushes delayed ACKs, in addition to [`ACK_TICK`].
    #[must_use]
    pub fn slow_tick(self, seed: u64) -> Option<SlowTick> {
        self.is_fitted().then_some(SlowTick {
            period: Duration::from_millis(500),
            share_per_mille: 600,
            seed,
        })
    }

    /// Returns the window that the client can offer, in octets, to a server with this socket buffer.
    #[must_use]
    pub const fn receive_window(self, socket_buffer: u64) -> u64 {
        match self {
            Self::Literal => 32_768,
            Self::Fitted if socket_buffer >= 128 * 1024 => 65_536,
            Self::Fitted => 65_535,
        }
    }

    /// Returns the times that the hosts' work takes. `infer` says whether the client's kernel is
    /// the one of Tables 6 and 7.
    #[must_use]
    pub fn costs(self, infer: bool) -> Costs {
        let think = Duration::from_micros(100);
        match self {
            Self::Literal => Costs {
                client: HostCosts::NONE,
                server: HostCosts::NONE,
                service: Duration::ZERO,
                think,
            },
            Self::Fitted => Costs {
                client: HostCosts {
                    hiccup: infer.then_some(HICCUP),
                    ..fitted_host(Duration::from_micros(50))
                },
                server: fitted_host(Duration::from_micros(40)),
                service: Duration::from_micros(200),
                think,
            },
        }
    }
}

/// The hiccup of the client of Tables 6 and 7.
const HICCUP: Hiccup = Hiccup {
    length: Duration::from_millis(10),
    per_million: 80,
};

/// Returns a host of the fitted model that takes this long for a segment, sent or received.
fn fitted_host(segment: Duration) -> HostCosts {
    let micros = Duration::from_micros;
    HostCosts {
        input: SegmentCost::flat(segment),
        output: SegmentCost::flat(segment),
        wakeup: micros(60),
        read: micros(20),
        take: Duration::ZERO,
        write: micros(20),
        write_entry: Duration::ZERO,
        chunk: micros(15),
        copy_ps_per_octet: 10_000,
        take_unit: None,
        comes_in: ComesIn::FramesAndTimers,
        jitter_percent: 10,
        hiccup: None,
    }
}
