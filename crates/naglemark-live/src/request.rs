//! The protocol of a measured connection. A request has a fixed length and says everything, so that
//! a server needs no arguments. Answers have no header.

use tinygram_naglemark::{Policy, REQUEST, SocketPolicy};

/// A client's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// An answer.
    Answer(Answer),
    /// What the server has sent on this connection so far: [`Counts`].
    Counts,
}

/// The policy for a server's small writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// To use its socket in this way.
    Socket(SocketPolicy),
    /// To use the send policy with this index in the server's own list.
    Listed(u8),
}

/// How a server is to answer. Sizes are in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) policy: Told,
    pub(crate) app_buffer: u32,
    pub(crate) socket_buffer: u32,
    pub(crate) length: u32,
}

/// The counts of what a server has sent on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Retransmissions included (a kernel's `tcpi_data_segs_out`).
    pub(crate) data_segments: u32,
    /// A kernel's `tcpi_total_retrans`.
    pub(crate) retransmitted: u32,
    /// Segments below the MSS, if the server counts them.
    pub(crate) short_segments: Option<u32>,
}

impl Request {
    /// The length of a request, as in the simulated benchmark.
    pub(crate) const OCTETS: usize = REQUEST as usize;

    pub(crate) fn encode(&self) -> [u8; Self::OCTETS] {
        let mut octets = [0; Self::OCTETS];
        octets[..4].copy_from_slice(MAGIC);
        if let Self::Answer(answer) = self {
            octets[4] = answer.policy.code();
            let sizes = [answer.app_buffer, answer.socket_buffer, answer.length];
            for (field, size) in octets[8..20].chunks_exact_mut(4).zip(sizes) {
                field.copy_from_slice(&size.to_be_bytes());
            }
        }
        octets
    }

    /// Returns `None` if this is not a request of this protocol, or asks for more than a server
    /// sends.
    pub(crate) fn decode(octets: &[u8; Self::OCTETS]) -> Option<Self> {
        if &octets[..4] != MAGIC {
            return None;
        }
        let size = |at: usize| u32::from_be_bytes(octets[at..at + 4].try_into().expect("four"));
        if octets[4] == 0 {
            return Some(Self::Counts);
        }
        let answer = Answer {
            policy: Told::coded(octets[4])?,
            app_buffer: size(8),
            socket_buffer: size(12),
            length: size(16),
        };
        let sizes = [answer.app_buffer, answer.socket_buffer, answer.length];
        let fits = |size: &u32| (1..=LARGEST).contains(size);
        sizes.iter().all(fits).then_some(Self::Answer(answer))
    }
}

impl Told {
    /// Returns how to name this policy to a server with this list, if it can be named.
    pub(crate) fn by(policy: &Policy, list: &[Policy]) -> Option<Self> {
        match policy {
            Policy::Socket(policy) => Some(Self::Socket(*policy)),
            Policy::Engine { label, .. } => {
                let at = list.iter().position(|listed| listed.label() == label)?;
                let at = u8::try_from(at).ok()?;
                (usize::from(at) < LISTED).then_some(Self::Listed(at))
            }
        }
    }

    /// Returns the octet for this in a request; it is never 0.
    fn code(self) -> u8 {
        match self {
            Self::Socket(policy) => 1 + policy as u8,
            Self::Listed(at) => FIRST_LISTED + at,
        }
    }

    /// Returns the meaning of a request's octet.
    fn coded(code: u8) -> Option<Self> {
        let listed = code.checked_sub(FIRST_LISTED).map(Self::Listed);
        let at = usize::from(code.checked_sub(1)?);
        let policy = SocketPolicy::ALL.get(at).copied();
        policy.map(Self::Socket).or(listed)
    }
}

impl Counts {
    pub(crate) const OCTETS: usize = 16;

    pub(crate) fn encode(self) -> [u8; Self::OCTETS] {
        let mut octets = [0; Self::OCTETS];
        octets[..4].copy_from_slice(MAGIC);
        let fields = [
            self.data_segments,
            self.retransmitted,
            self.short_segments.unwrap_or(NOT_COUNTED),
        ];
        for (octets, field) in octets[4..].chunks_exact_mut(4).zip(fields) {
            octets.copy_from_slice(&field.to_be_bytes());
        }
        octets
    }

    /// Returns `None` if the server does not speak this protocol. This check is necessary because
    /// an answer has no header, so any peer that sends enough octets would be measured.
    pub(crate) fn decode(octets: [u8; Self::OCTETS]) -> Option<Self> {
        let field = |at: usize| u32::from_be_bytes(octets[at..at + 4].try_into().expect("four"));
        (&octets[..4] == MAGIC).then(|| Self {
            data_segments: field(4),
            retransmitted: field(8),
            short_segments: Some(field(12)).filter(|count| *count != NOT_COUNTED),
        })
    }
}

/// The first octets of a request, with the protocol's version.
const MAGIC: &[u8; 4] = b"tgn3";
/// The largest size that a request may ask for, as for any size that is typed.
const LARGEST: u32 = 1 << 30;
/// The codes of a server's own policies come after those of the socket policies.
const FIRST_LISTED: u8 = 1 + SocketPolicy::ALL.len() as u8;
/// How many policies of the list a request can name.
const LISTED: usize = (u8::MAX - FIRST_LISTED) as usize + 1;
/// Stands for a count that the server does not have.
const NOT_COUNTED: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        let socket = SocketPolicy::ALL.map(Told::Socket);
        let listed = [0, 20, LISTED - 1].map(|at| Told::Listed(at as u8));
        for policy in socket.into_iter().chain(listed) {
            let request = Request::Answer(Answer {
                policy,
                app_buffer: 4096,
                socket_buffer: 65_536,
                length: 1 << 30,
            });
            assert_eq!(Request::decode(&request.encode()), Some(request));
        }
        let counts = Request::Counts;
        assert_eq!(Request::decode(&counts.encode()), Some(counts));
        for short_segments in [None, Some(0), Some(5)] {
            let counts = Counts {
                data_segments: 7,
                retransmitted: u32::MAX,
                short_segments,
            };
            assert_eq!(Counts::decode(counts.encode()), Some(counts));
        }
    }

    #[test]
    fn strangers_are_not_answered() {
        let mut octets = Request::Counts.encode();
        octets[4] = 1;
        assert_eq!(Request::decode(&octets), None, "sizes of nothing");
        assert_eq!(Request::decode(&[b'G'; Request::OCTETS]), None);
        assert_eq!(Counts::decode(*b"HTTP/1.1 400 Bad"), None);
    }
}
