use super::{Kind, Pieces, Protocol, Side};

/// What advice depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// What was found.
    pub kind: Kind,
    /// Who sent the data that was held, or the flood.
    pub sender: Side,
    /// Who is to change something: the sender, except where a receive buffer is too small.
    pub blame: Side,
    /// What the segment before the wait and the one behind it were to the application.
    pub pieces: Pieces,
    /// What the two programs speak, if that is known.
    pub protocol: Option<Protocol>,
    /// Bytes that were in flight during the wait; 0 if unknown.
    pub flight: u32,
    /// Largest segment of the sender, in bytes; 0 if unknown.
    pub mss: u32,
    /// Bytes that were held.
    pub held: u32,
}

impl Case {
    /// Returns a case of which nothing but kind and sender is known.
    #[must_use]
    pub fn new(kind: Kind, sender: Side) -> Self {
        Self {
            kind,
            sender,
            blame: sender,
            pieces: Pieces::Unknown,
            protocol: None,
            flight: 0,
            mss: 0,
            held: 0,
        }
    }
}
