/// Whether a retransmission timeout came before. It cuts the congestion window to one segment
/// (RFC 5681, section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timeout {
    /// None is known.
    #[default]
    No,
    /// The data came late enough for one, and what was sent before may have been lost on the way
    /// to the capture point.
    Perhaps,
    /// Data was lost before, and the window is one segment again.
    Yes,
}
