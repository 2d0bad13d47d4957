//! What the sender of a connection is told about its small writes.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use tinygram_engine::sender::send_policy::{Registered, SendPolicy};

/// A way of using a socket, or another rule for its sender.
///
/// Every TCP has a [`SocketPolicy::Default`], and most know [`SocketPolicy::NoDelay`]; rules of the
/// engine's need a backend that runs the engine. A backend refuses what it cannot be told.
#[derive(Clone, Debug)]
pub enum Policy {
    /// What any socket can be told.
    Socket(SocketPolicy),
    /// A send policy of the engine's, which no kernel can be told.
    Engine {
        /// As tables show it.
        label: Cow<'static, str>,
        /// The rule, fresh.
        policy: SendPolicy,
    },
}

/// What any socket can be told, a kernel's too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SocketPolicy {
    /// As it comes.
    Default,
    /// TCP_NODELAY on.
    NoDelay,
    /// TCP_CORK on before the first write of an answer, off after the last.
    Cork,
    /// MSG_MORE with every write but an answer's last.
    More,
    /// As it comes, but the receiver sets TCP_QUICKACK before each read.
    QuickAck,
    /// MSG_MORE with every write, and TCP_NODELAY before the writer waits for the next request.
    FlushByHand,
}

impl Policy {
    /// Returns a send policy of the engine's under a name of your own.
    #[must_use]
    pub fn engine(label: impl Into<Cow<'static, str>>, policy: SendPolicy) -> Self {
        Self::Engine {
            label: label.into(),
            policy,
        }
    }

    /// Returns whether TCP_NODELAY is on, under the two policies that most stacks know; nothing under any other.
    #[must_use]
    pub fn no_delay(&self) -> Option<bool> {
        match self {
            Self::Socket(SocketPolicy::Default) => Some(false),
            Self::Socket(SocketPolicy::NoDelay) => Some(true),
            _ => None,
        }
    }

    /// As tables show it.
    #[must_use]
    pub fn label(&self) -> &str {
        match self {
            Self::Socket(policy) => policy.label(),
            Self::Engine { label, .. } => label,
        }
    }
}

impl From<SocketPolicy> for Policy {
    fn from(policy: SocketPolicy) -> Self {
        Self::Socket(policy)
    }
}

impl From<&Registered> for Policy {
    fn from(entry: &Registered) -> Self {
        Self::engine(entry.label, (entry.make)())
    }
}

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.label())
    }
}

impl SocketPolicy {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 6] = [
        Self::Default,
        Self::NoDelay,
        Self::Cork,
        Self::More,
        Self::QuickAck,
        Self::FlushByHand,
    ];

    /// As typed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::NoDelay => "nodelay",
            Self::Cork => "cork",
            Self::More => "more",
            Self::QuickAck => "quickack",
            Self::FlushByHand => "flush-by-hand",
        }
    }

    /// As tables show it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Default => "DEFAULT",
            Self::NoDelay => "NODELAY",
            Self::Cork => "CORK",
            Self::More => "MORE",
            Self::QuickAck => "QUICKACK",
            Self::FlushByHand => "FLUSH-BY-HAND",
        }
    }

    /// One line.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Default => "a socket as it comes",
            Self::NoDelay => "TCP_NODELAY on",
            Self::Cork => "TCP_CORK around each answer",
            Self::More => "MSG_MORE with every write but the last",
            Self::QuickAck => "the receiver sets TCP_QUICKACK before each read",
            Self::FlushByHand => "MSG_MORE with every write, TCP_NODELAY before waiting",
        }
    }
}
