//! What a program can tell Linux's TCP about its small writes.

use serde::{Serialize, Serializer};

/// A way of using a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
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
    /// All, in the order in which they are shown.
    pub(crate) const ALL: [Self; 6] = [
        Self::Default,
        Self::NoDelay,
        Self::Cork,
        Self::More,
        Self::QuickAck,
        Self::FlushByHand,
    ];

    /// As typed.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::NoDelay => "nodelay",
            Self::Cork => "cork",
            Self::More => "more",
            Self::QuickAck => "quickack",
            Self::FlushByHand => "flush-by-hand",
        }
    }

    /// As shown.
    pub(crate) const fn label(self) -> &'static str {
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
    pub(crate) const fn summary(self) -> &'static str {
        match self {
            Self::Default => "Linux's socket as it comes",
            Self::NoDelay => "TCP_NODELAY on",
            Self::Cork => "TCP_CORK around each answer",
            Self::More => "MSG_MORE with every write but the last",
            Self::QuickAck => "the receiver sets TCP_QUICKACK before each read",
            Self::FlushByHand => "MSG_MORE with every write, TCP_NODELAY before waiting",
        }
    }
}

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.label())
    }
}
