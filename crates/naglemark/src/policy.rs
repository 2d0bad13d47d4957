//! The policies for a sender's small writes.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use tinygram_engine::sender::send_policy::{Registered, SendPolicy};

/// A way of using a socket, or another rule for its sender.
///
/// Every TCP has a [`SocketPolicy::Default`], and most know [`SocketPolicy::NoDelay`]; the engine's
/// rules need a backend that runs the engine. A backend refuses a policy that it does not know.
#[derive(Clone, Debug)]
pub enum Policy {
    /// A way of using any socket.
    Socket(SocketPolicy),
    /// One of the engine's send policies, which no kernel knows.
    Engine {
        /// The name in tables.
        label: Cow<'static, str>,
        /// The rule, fresh.
        policy: SendPolicy,
    },
}

/// A way of using any socket, also a kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SocketPolicy {
    /// The socket is left as it is.
    Default,
    /// TCP_NODELAY on.
    NoDelay,
    /// TCP_CORK on before the first write of an answer, off after the last.
    Cork,
    /// MSG_MORE with every write but an answer's last.
    More,
    /// The socket is left as it is, but the receiver sets TCP_QUICKACK before each read.
    QuickAck,
    /// MSG_MORE with every write, and TCP_NODELAY before the writer waits for the next request.
    FlushByHand,
}

impl Policy {
    /// Returns one of the engine's send policies under a name of your own.
    #[must_use]
    pub fn engine(label: impl Into<Cow<'static, str>>, policy: SendPolicy) -> Self {
        Self::Engine {
            label: label.into(),
            policy,
        }
    }

    /// Returns whether TCP_NODELAY is on, for the two policies that most stacks know, and `None`
    /// for any other.
    #[must_use]
    pub fn no_delay(&self) -> Option<bool> {
        match self {
            Self::Socket(SocketPolicy::Default) => Some(false),
            Self::Socket(SocketPolicy::NoDelay) => Some(true),
            _ => None,
        }
    }

    /// Returns the name in tables.
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

/// A policy of the list has the list's label, another one what its rule [calls
/// itself](tinygram_engine::sender::send_policy::Rule::name).
impl From<SendPolicy> for Policy {
    fn from(policy: SendPolicy) -> Self {
        match policy.registered() {
            Some(entry) => Self::engine(entry.label, policy),
            None => Self::engine(policy.to_string(), policy),
        }
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
    /// All socket policies, in the order in which they are shown.
    pub const ALL: [Self; 6] = [
        Self::Default,
        Self::NoDelay,
        Self::Cork,
        Self::More,
        Self::QuickAck,
        Self::FlushByHand,
    ];

    /// Returns the name as typed.
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

    /// Returns the name in tables.
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

    /// Returns a description in one line.
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

#[cfg(test)]
mod tests {
    use tinygram_engine::sender::send_policy::{Offer, Rule, Vars, Verdict, Why};

    use super::*;

    #[derive(Clone, Debug)]
    struct Never;

    impl Rule for Never {
        fn name(&self) -> &str {
            "never"
        }

        fn decide(&self, _: &Offer, _: &Vars) -> Verdict {
            Verdict::hold(Why::Own(0))
        }
    }

    #[test]
    fn a_rule_has_its_own_name_in_tables() {
        assert_eq!(Policy::from(SendPolicy::custom(Never)).label(), "never");
        assert_eq!(Policy::from(SendPolicy::Dldet).label(), "DLDET");
    }
}
