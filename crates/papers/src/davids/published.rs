//! The numbers that the article's text has for its traces. Its figures and its summary table are
//! not included.

use super::trace::Parameters;
use crate::experiment::Origin;

/// A trace of the article and what the text says of it.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// Its number, 1 to 7, which is also the figure's.
    pub trace: u8,
    /// The application and what was tuned, in words.
    pub what: &'static str,
    /// The parameters of the trace.
    pub parameters: Parameters,
    /// The origin of the phase of the server's tick.
    pub phase: Origin,
    /// The number of data packets.
    pub data: Option<u64>,
    /// The number of ACKs.
    pub acks: Option<u64>,
    /// The number of all packets.
    pub packets: Option<u64>,
    /// The time from the first data packet to the last, in ms.
    pub sending_ms: Option<f64>,
    /// How much longer that is than the application took, in percent.
    pub delay_percent: Option<f64>,
    /// The overhead of the client's data, in octets and in percent of the data.
    pub data_overhead: Option<(u64, f64)>,
    /// The overhead including the server's ACKs, in octets and in percent of the data.
    pub total_overhead: Option<(u64, f64)>,
}

/// A trace of which the text has no numbers.
const NOTHING: Published = Published {
    trace: 0,
    what: "",
    parameters: Parameters::SLOW,
    phase: Origin::Assumed(""),
    data: None,
    acks: None,
    packets: None,
    sending_ms: None,
    delay_percent: None,
    data_overhead: None,
    total_overhead: None,
};

/// The seven traces.
pub const TRACES: [Published; 7] = [
    Published {
        trace: 1,
        what: "a write every 10 ms",
        parameters: Parameters::SLOW.with_phase_ms(54),
        phase: Origin::Fitted("its 654 ms, which are 54 ms and three ticks of 200 ms"),
        data: Some(5),
        acks: Some(5),
        // (748 - 94).
        sending_ms: Some(654.0),
        delay_percent: Some(33.0),
        data_overhead: Some((5 * 78, 78.0)),
        total_overhead: Some((5 * 78 + 5 * 84, 162.0)),
        ..NOTHING
    },
    Published {
        trace: 2,
        what: "writes as fast as it can",
        parameters: Parameters::FAST.with_phase_ms(200),
        phase: Origin::Fitted("its 201 ms, for which the first packet comes just after a tick"),
        data: Some(2),
        acks: Some(2),
        // (728 - 527).
        sending_ms: Some(201.0),
        delay_percent: Some(2133.0),
        data_overhead: Some((2 * 78, 31.0)),
        total_overhead: Some((2 * 78 + 2 * 84, 65.0)),
        ..NOTHING
    },
    Published {
        trace: 3,
        what: "a write every 10 ms, Nagle off",
        parameters: Parameters::SLOW.with_phase_ms(115).with_naglim(1),
        phase: Origin::Fitted("its 53 packets, which any phase from 91 to 200 ms gives"),
        data: Some(50),
        // "The number of packets from 53 to 21."
        packets: Some(53),
        // "Note, however, that there is no time delay."
        sending_ms: Some(490.0),
        delay_percent: Some(0.0),
        ..NOTHING
    },
    Published {
        trace: 4,
        what: "writes as fast as it can, Nagle off",
        parameters: Parameters::FAST.with_phase_ms(115).with_naglim(1),
        phase: Origin::Assumed("as in trace 3"),
        data: Some(50),
        sending_ms: Some(9.0),
        delay_percent: Some(0.0),
        ..NOTHING
    },
    Published {
        trace: 5,
        what: "a write every 10 ms, tcp_naglim_def 30",
        parameters: Parameters::SLOW.with_phase_ms(115).with_naglim(30),
        phase: Origin::Fitted("its 21 packets, which 15 % of all phases give"),
        packets: Some(21),
        // "But does not lengthen the sending time."
        sending_ms: Some(490.0),
        delay_percent: Some(0.0),
        ..NOTHING
    },
    Published {
        trace: 6,
        what: "a write every 10 ms, ACK timer 50 ms",
        parameters: Parameters::SLOW.with_phase_ms(4).with_tick_ms(50),
        phase: Origin::Assumed("as in trace 1, modulo 50 ms"),
        ..NOTHING
    },
    Published {
        trace: 7,
        what: "writes as fast as it can, ACK timer 50 ms",
        parameters: Parameters::FAST.with_phase_ms(50).with_tick_ms(50),
        phase: Origin::Assumed("as in trace 2, modulo 50 ms"),
        ..NOTHING
    },
];
