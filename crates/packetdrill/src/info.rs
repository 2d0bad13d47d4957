//! `struct tcp_info` of `<linux/tcp.h>`, and the names of states in `sockstat`.

use tinygram_engine::{Duration, State};
use tinygram_tcp::Info;

/// Returns the fields in their order; fields that the stack does not know are 0.
pub(crate) fn octets(info: &Info) -> Vec<u8> {
    let mut to = Vec::with_capacity(256);
    let mss = u64::from(info.mss.max(1));
    let segments = |octets: u64| octets.div_ceil(mss) as u32;
    let micros = |time: Duration| (time.as_nanos() / 1000) as u32;
    let (theirs, ours) = info.window_shifts;
    to.extend([
        state(info.state),
        info.losses.state as u8,
        info.unanswered as u8,
        info.probes as u8,
        info.backoff as u8,
        options(info),
        theirs | ours << 4,
        0, // delivery_rate_app_limited
    ]);
    let ssthresh = match info.ssthresh {
        never if never >= 1 << 30 => 0x7fff_ffff,
        octets => (octets / mss) as u32,
    };
    let millis = |time: Duration| (time.as_nanos() / 1_000_000) as u32;
    for field in [
        micros(info.rto),
        0, // ato
        info.mss,
        info.largest_received.max(536),
        info.losses.outstanding,
        info.losses.sacked,
        // The kernel also counts lost segments that were resent.
        info.losses.lost + info.losses.retransmitted,
        info.losses.retransmitted,
        0, // fackets
        0, // last_data_sent
        0, // last_ack_sent
        millis(info.since_data),
        0, // last_ack_recv
        0, // pmtu
        info.window,
        info.srtt.map_or(0, micros),
        micros(info.rttvar),
        ssthresh,
        (info.cwnd / mss) as u32,
        info.announced_mss.into(),
        segments(info.losses.reordering).max(3),
        0, // rcv_rtt
        0, // rcv_space
        info.sent.retransmitted_segments as u32,
    ] {
        to.extend(field.to_ne_bytes());
    }
    for field in [u64::MAX, u64::MAX, info.acknowledged, info.received] {
        to.extend(field.to_ne_bytes());
    }
    let (all, with_data) = info.segments_received;
    for field in [
        (info.sent.data_segments + info.sent.empty_segments) as u32,
        all as u32,
        info.unsent as u32,
        // The kernel's value before there is a measurement.
        info.losses.min_rtt.map_or(u32::MAX, micros),
        with_data as u32,
        info.sent.data_segments as u32,
    ] {
        to.extend(field.to_ne_bytes());
    }
    for time in [
        Duration::ZERO, // delivery_rate
        info.busy,
        info.limited_by_window,
        info.limited_by_buffer,
    ] {
        to.extend((time.as_nanos() / 1000).to_ne_bytes());
    }
    extend_by_newer(&mut to, info, mss);
    to.resize(TCP_INFO, 0);
    to
}

/// Appends the fields from `tcpi_delivered` on.
fn extend_by_newer(to: &mut Vec<u8>, info: &Info, mss: u64) {
    for field in [0, 0] {
        // delivered, delivered_ce
        to.extend(u32::to_ne_bytes(field));
    }
    let resent = info.sent.retransmitted_segments * mss;
    for field in [info.sent.data_octets, resent] {
        to.extend(field.to_ne_bytes());
    }
    for field in [0, info.losses.reorderings, 0, info.peer_window as u32] {
        // dsack_dups, reord_seen, rcv_ooopack, snd_wnd
        to.extend(field.to_ne_bytes());
    }
}

/// Returns the structure for a socket without a connection: only its state.
pub(crate) fn of_nobody(which: State) -> Vec<u8> {
    let mut to = vec![0; TCP_INFO];
    to[0] = state(which);
    to
}

/// `tcpi_options`: TCPI_OPT_TIMESTAMPS, _SACK, _WSCALE and _ECN.
fn options(info: &Info) -> u8 {
    let agreed = &info.agreement;
    [
        agreed.timestamps,
        agreed.sack,
        agreed.window_scaling,
        agreed.ecn,
    ]
    .into_iter()
    .enumerate()
    .map(|(bit, on)| u8::from(on) << bit)
    .sum()
}

/// More than any `struct tcp_info` has.
const TCP_INFO: usize = 512;

/// Returns the state's number in `<net/tcp_states.h>`.
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

/// Returns the state's name in FreeBSD's `sockstat -s`.
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
