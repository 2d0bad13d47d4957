//! `struct tcp_info` of `<linux/tcp.h>`, and the states as `sockstat` names them.

use tinygram_engine::{Duration, State};
use tinygram_tcp::Info;

/// The fields in their order; what the stack does not know is 0.
pub(crate) fn octets(info: &Info) -> Vec<u8> {
    let mut to = Vec::with_capacity(256);
    let mss = u64::from(info.mss.max(1));
    let segments = |octets: u64| octets.div_ceil(mss) as u32;
    let micros = |time: Duration| (time.as_nanos() / 1000) as u32;
    to.extend([state(info.state), 0, 0, 0, 0, 0, 0, 0]);
    let ssthresh = match info.ssthresh {
        never if never >= 1 << 30 => 0x7fff_ffff,
        octets => segments(octets),
    };
    for field in [
        micros(info.rto),
        0, // ato
        info.mss,
        0, // rcv_mss
        segments(info.outstanding),
        0, // sacked
        0, // lost
        0, // retrans
        0, // fackets
        0, // last_data_sent
        0, // last_ack_sent
        0, // last_data_recv
        0, // last_ack_recv
        0, // pmtu
        0, // rcv_ssthresh
        info.srtt.map_or(0, micros),
        0, // rttvar
        ssthresh,
        (info.cwnd / mss) as u32,
        0, // advmss
        3, // reordering
        0, // rcv_rtt
        0, // rcv_space
        info.sent.retransmitted_segments as u32,
    ] {
        to.extend(field.to_ne_bytes());
    }
    to.resize(TCP_INFO, 0);
    to
}

/// `sizeof(struct tcp_info)` as packetdrill has it.
const TCP_INFO: usize = 232;

/// `<net/tcp_states.h>`.
fn state(state: State) -> u8 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Listen => 10,
        State::Closing => 11,
    }
}

/// As FreeBSD's `sockstat -s` has it.
pub(crate) fn name(state: State) -> &'static str {
    match state {
        State::Established => "ESTABLISHED",
        State::SynSent => "SYN_SENT",
        State::SynReceived => "SYN_RCVD",
        State::FinWait1 => "FIN_WAIT_1",
        State::FinWait2 => "FIN_WAIT_2",
        State::TimeWait => "TIME_WAIT",
        State::Closed => "CLOSED",
        State::CloseWait => "CLOSE_WAIT",
        State::LastAck => "LAST_ACK",
        State::Listen => "LISTEN",
        State::Closing => "CLOSING",
    }
}
