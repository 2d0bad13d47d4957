//! The kernel's figures for a connection's segments (`TCP_INFO`).

use libc::c_int;

use crate::kernel;

/// What is on its way on a connection, and what has not left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    /// Bytes that were written and not sent yet.
    pub(crate) not_sent: u32,
    /// Segments that were sent and are not acknowledged.
    pub(crate) unacknowledged: u32,
    /// The largest segment, in bytes.
    pub(crate) mss: u32,
    /// The congestion window, in segments.
    pub(crate) window: u32,
    /// The time since data was last sent, in milliseconds.
    pub(crate) last_sent_ms: u32,
    /// Segments without data that arrived.
    pub(crate) bare_acks: u32,
    /// The peer's window, in bytes; [`u32::MAX`] if the kernel does not say (before Linux 5.4).
    pub(crate) peer_window: u32,
}

/// Returns what is on its way on the connection of `fd`.
pub(crate) fn flight(fd: c_int) -> Option<Flight> {
    let info = tcp_info(fd)?;
    Some(Flight {
        not_sent: info[TCP_INFO_NOTSENT_BYTES],
        unacknowledged: info[TCP_INFO_UNACKED],
        mss: info[TCP_INFO_SND_MSS],
        window: info[TCP_INFO_SND_CWND],
        last_sent_ms: info[TCP_INFO_LAST_DATA_SENT],
        bare_acks: info[TCP_INFO_SEGS_IN].wrapping_sub(info[TCP_INFO_DATA_SEGS_IN]),
        peer_window: info[TCP_INFO_SND_WND],
    })
}

/// Returns the data segments sent so far, without retransmissions, which depend on the path and not
/// on the writes. (The number is too small by the retransmissions of a SYN, so only differences
/// count.)
pub(crate) fn data_segments(fd: c_int) -> Option<u32> {
    tcp_info(fd).map(|info| info[TCP_INFO_DATA_SEGS_OUT].wrapping_sub(info[TCP_INFO_TOTAL_RETRANS]))
}

impl Flight {
    /// Returns whether less than a segment waits although both windows are open: it waits for the
    /// acknowledgment of another.
    pub(crate) fn waits(self) -> bool {
        let at_most = self.unacknowledged.saturating_mul(self.mss);
        (1..self.mss).contains(&self.not_sent)
            && (1..self.window).contains(&self.unacknowledged)
            && at_most.saturating_add(self.not_sent) <= self.peer_window
    }
}

impl Flight {
    /// Returns whether less than a segment waits although nothing is on the way and the peer's window is open: a cork
    /// holds it (`TCP_CORK`, `MSG_MORE`).
    pub(crate) fn is_corked(self) -> bool {
        (1..self.mss).contains(&self.not_sent)
            && self.unacknowledged == 0
            && self.not_sent <= self.peer_window
    }
}

fn tcp_info(fd: c_int) -> Option<[u32; TCP_INFO_SND_WND + 1]> {
    let mut info = [0_u32; TCP_INFO_SND_WND + 1];
    info[TCP_INFO_SND_WND] = u32::MAX;
    let len = kernel::read_option(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info)?;
    (len > TCP_INFO_DATA_SEGS_OUT * size_of::<u32>()).then_some(info)
}

/// The indices of fields in `struct tcp_info` (include/uapi/linux/tcp.h), in 32-bit words.
const TCP_INFO_SND_MSS: usize = 4;
const TCP_INFO_UNACKED: usize = 6;
const TCP_INFO_LAST_DATA_SENT: usize = 11;
const TCP_INFO_TOTAL_RETRANS: usize = 25;
const TCP_INFO_SND_CWND: usize = 20;
const TCP_INFO_SEGS_IN: usize = 35;
const TCP_INFO_NOTSENT_BYTES: usize = 36;
const TCP_INFO_DATA_SEGS_IN: usize = 38;
const TCP_INFO_DATA_SEGS_OUT: usize = 39;
const TCP_INFO_SND_WND: usize = 57;
