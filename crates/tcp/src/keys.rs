//! Keys: what the caller holds to name a connection or a listener. A place in the tables is used again; a key is not,
//! because it has the number of whoever had the place when it was given.

use super::Core;
use super::socket::Owner;

/// Names a connection, from the call that returns it ([`Core::connect`], [`Core::poll_accept`]) until [`Core::release`]. A
/// stack never gives the same key twice, and a key means nothing to another stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionKey {
    place: usize,
    generation: u64,
}

/// Names a listener, from [`Core::listen`] until [`Core::stop_listening`]. A stack never gives the same key twice, and a key
/// means nothing to another stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerKey {
    place: usize,
    generation: u64,
}

/// Counts those who ever had a place.
#[derive(Debug, Default)]
pub(super) struct Generations(u64);

impl Generations {
    /// Returns a number that nobody had before.
    pub(super) fn next(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }
}

impl Core {
    /// Returns the place of the caller's connection.
    #[inline]
    #[track_caller]
    pub(super) fn place(&self, key: ConnectionKey) -> usize {
        let owned = self.sockets.get(key.place).is_some_and(|socket| {
            socket.generation == key.generation && socket.owner == Owner::Application
        });
        assert!(owned, "{key:?} was released, or is another stack's");
        key.place
    }

    /// Returns the place of the caller's listener.
    #[inline]
    #[track_caller]
    pub(super) fn listener_place(&self, key: ListenerKey) -> usize {
        let listener = self.listeners.get(key.place);
        let owned = listener.is_some_and(|listener| listener.generation == key.generation);
        assert!(owned, "{key:?} no longer listens, or is another stack's");
        key.place
    }

    /// Returns the key of the connection in this place.
    pub(super) fn key_of(&self, place: usize) -> ConnectionKey {
        ConnectionKey {
            place,
            generation: self.sockets[place].generation,
        }
    }

    /// Returns the key of the listener in this place.
    pub(super) fn listener_key_of(&self, place: usize) -> ListenerKey {
        ListenerKey {
            place,
            generation: self.listeners[place].generation,
        }
    }
}
