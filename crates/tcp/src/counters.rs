//! What a stack counts.

/// What a stack has counted since it began. An answer (RST, cookie, echo reply, ICMP error) for which
/// the queue had no room was not sent and does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that arrived.
    pub packets_in: u64,
    /// Packets that were malformed, damaged or of another protocol.
    pub refused: u64,
    /// Packets for addresses that are not the stack's.
    pub strange: u64,
    /// Packets whose source cannot be another host's: see [`Unfit`](super::Unfit). They are dropped. (RFC 1812,
    /// section 5.3.7, calls such addresses martian.)
    pub martians: u64,
    /// Fragments of IP packets.
    pub fragments: u64,
    /// Packets that were put together from fragments.
    pub reassembled: u64,
    /// RSTs that answered segments for which there is no connection.
    pub resets: u64,
    /// SYNs that were dropped because the application accepts too slowly.
    pub no_room: u64,
    /// Half-open connections that were dropped in favour of newer ones.
    pub evicted: u64,
    /// SYNs that were answered with a cookie.
    pub cookies_sent: u64,
    /// Connections that a returned cookie opened.
    pub cookies_accepted: u64,
    /// ACKs without a connection whose number is no cookie, or too old, while cookies are in use.
    pub cookies_refused: u64,
    /// Octets beyond holes that were given up because memory was scarce: see
    /// [`Core::set_memory`](super::Core::set_memory).
    pub pruned: u64,
    /// Segments whose data was not stored because memory was scarce.
    pub not_stored: u64,
    /// Echo requests that were answered.
    pub echoes: u64,
    /// Senders that were told that the rest of a packet did not come in time.
    pub time_exceeded: u64,
    /// ICMP errors that were heeded.
    pub icmp_errors: u64,
    /// ICMP errors that quote no packet of this stack that may be on its way.
    pub icmp_refused: u64,
}
