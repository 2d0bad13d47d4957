//! Which end of a connection is the server: the one home of this question.

use crate::side::Side;

/// What tells the side of one end of a connection, called "this end" here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    /// Whether this end accepted the connection; `Some(false)` if it opened it. A SYN tells, or the kernel, or the
    /// program's own calls; `None` if none of them was seen.
    pub accepted: Option<bool>,
    /// Whether somebody listens on this end's port, or did.
    pub listens: bool,
    /// Whether the peer is on the same host and somebody listens on its port, or did.
    pub peer_listens: bool,
    /// The port of this end.
    pub port: u16,
    /// The port of the peer.
    pub peer_port: u16,
}

impl Roles {
    /// Returns the side of this end if something else than the numbers of the ports tells it. The end that accepted
    /// the connection is the server. Otherwise it is the end on whose port somebody listens: if both have such a port,
    /// this end's is the one that counts, unless this end is known to have opened the connection.
    #[must_use]
    pub const fn told(self) -> Option<Side> {
        match (self.accepted, self.listens, self.peer_listens) {
            (Some(true), ..) => Some(Side::Server),
            // A server whose socket does not say so, such as one with a backlog of 0.
            (_, true, false) => Some(Side::Server),
            (Some(false), ..) | (None, false, true) => Some(Side::Client),
            (None, true, true) => Some(Side::Server),
            (None, false, false) => None,
        }
    }

    /// Returns the side of this end. If nothing else tells, the end with the lower port is taken for the server:
    /// services have low ports, and systems choose high ones for clients (RFC 6335, section 6).
    #[must_use]
    pub const fn side(self) -> Side {
        match self.told() {
            Some(side) => side,
            None if self.port < self.peer_port => Side::Server,
            None => Side::Client,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORTS: Roles = Roles {
        accepted: None,
        listens: false,
        peer_listens: false,
        port: 50_000,
        peer_port: 40_000,
    };

    /// The ports alone say the contrary.
    #[test]
    fn whoever_accepted_is_the_server() {
        let accepted = |accepted| Roles { accepted, ..PORTS };
        assert_eq!(accepted(Some(true)).side(), Side::Server);
        assert_eq!(accepted(Some(false)).side(), Side::Client);
        assert_eq!(accepted(None).side(), Side::Client);
    }

    #[test]
    fn whoever_listens_is_the_server() {
        let listens = |accepted, listens, peer_listens| {
            let roles = Roles {
                accepted,
                listens,
                peer_listens,
                ..PORTS
            };
            roles.told()
        };
        assert_eq!(listens(None, true, false), Some(Side::Server));
        assert_eq!(listens(None, false, true), Some(Side::Client));
        // A server with a backlog of 0 looks as if it had opened the connection.
        assert_eq!(listens(Some(false), true, false), Some(Side::Server));
        // Somebody listened on the client's port before.
        assert_eq!(listens(Some(false), true, true), Some(Side::Client));
        assert_eq!(listens(None, true, true), Some(Side::Server));
    }

    /// As far as what is known does not contradict itself.
    #[test]
    fn the_ends_have_different_sides() {
        let known = [
            (None, false, false),
            (None, true, false),
            (None, false, true),
            (Some(true), false, false),
            (Some(true), true, false),
            (Some(false), false, false),
            (Some(false), false, true),
        ];
        for (port, peer_port) in [(80, 40_000), (40_000, 80), (80, 22), (5000, 6000)] {
            for (accepted, listens, peer_listens) in known {
                let here = Roles {
                    accepted,
                    listens,
                    peer_listens,
                    port,
                    peer_port,
                };
                let there = Roles {
                    accepted: accepted.map(|accepted| !accepted),
                    listens: peer_listens,
                    peer_listens: listens,
                    port: peer_port,
                    peer_port: port,
                };
                assert_eq!(here.side(), there.side().other(), "{here:?}");
            }
        }
    }
}
