//! What the sender of a connection is told about its small writes.

use serde::{Serialize, Serializer};
use tinygram_engine::sender::send_policy::{Registered, SendPolicy};

/// A way of using a socket, or another rule for its sender.
#[derive(Clone, Copy, Debug)]
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
    /// A send policy of ours, which no kernel can be told.
    Ours(&'static Registered),
}

impl Policy {
    /// What every socket can be told, a kernel's too, in the order in which it is shown.
    pub(crate) const OPTIONS: [Self; 6] = [
        Self::Default,
        Self::NoDelay,
        Self::Cork,
        Self::More,
        Self::QuickAck,
        Self::FlushByHand,
    ];

    /// Our own, in the papers' order.
    pub(super) fn ours() -> impl Iterator<Item = Self> {
        SendPolicy::LIST.iter().map(Self::Ours)
    }

    /// As typed.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::NoDelay => "nodelay",
            Self::Cork => "cork",
            Self::More => "more",
            Self::QuickAck => "quickack",
            Self::FlushByHand => "flush-by-hand",
            Self::Ours(entry) => entry.name,
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
            Self::Ours(entry) => entry.label,
        }
    }

    /// One line.
    pub(crate) const fn summary(self) -> &'static str {
        match self {
            Self::Default => "a socket as it comes",
            Self::NoDelay => "TCP_NODELAY on",
            Self::Cork => "TCP_CORK around each answer",
            Self::More => "MSG_MORE with every write but the last",
            Self::QuickAck => "the receiver sets TCP_QUICKACK before each read",
            Self::FlushByHand => "MSG_MORE with every write, TCP_NODELAY before waiting",
            Self::Ours(entry) => entry.summary,
        }
    }

    /// In a request: one octet, never 0.
    pub(super) fn code(self) -> u8 {
        let known = Self::OPTIONS.into_iter().chain(Self::ours());
        let at = known.into_iter().position(|known| known == self);
        1 + at.expect("all policies are in a list") as u8
    }

    /// What a request's octet says.
    pub(super) fn coded(code: u8) -> Option<Self> {
        let mut known = Self::OPTIONS.into_iter().chain(Self::ours());
        known.nth(usize::from(code.checked_sub(1)?))
    }
}

impl PartialEq for Policy {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Policy {}

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.label())
    }
}
