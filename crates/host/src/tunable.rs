//! What can be set on a host: an option of a socket, or a knob of a network namespace or a route.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::hand::{Raw, SocketOption};
use crate::knob::Knob;

/// What can be set, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Tunable {
    /// An option of sockets.
    Socket(SocketOption),
    /// A knob of a network namespace or a route.
    Knob(Knob),
}

impl Tunable {
    /// Returns the name on the command line and in the journal.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Socket(option) => option.name(),
            Self::Knob(knob) => knob.name(),
        }
    }

    /// Returns a value in words.
    #[must_use]
    pub fn show(self, value: &Raw) -> String {
        match self {
            Self::Socket(option) => option.show(value),
            Self::Knob(knob) => knob.show(value.number()),
        }
    }
}

impl From<SocketOption> for Tunable {
    fn from(option: SocketOption) -> Self {
        Self::Socket(option)
    }
}

impl From<Knob> for Tunable {
    fn from(knob: Knob) -> Self {
        Self::Knob(knob)
    }
}

impl fmt::Display for Tunable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
