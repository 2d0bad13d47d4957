//! The policies by name, and the few numbers they are made of.

/// What is done with a program's small writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Policy {
    /// Hold small writes until the thread that wrote them is about to wait for anything.
    #[default]
    FlushOnBlock,
    /// Only set `TCP_NODELAY`: the conservative choice, no write is ever held.
    Nodelay,
    /// Cork at the first write, uncork at the next wait, whatever the length and the habit of the
    /// socket: the naive rule, kept for comparison. libautocork (2008) did this until the program
    /// read, polled or selected the same socket.
    CorkUntilBlock,
    /// Change nothing, and count what flush-on-block would have changed.
    Observe,
}

impl Policy {
    /// Every policy with its name and what it does, in the order help shows them.
    pub const ALL: [(Self, &'static str, &'static str); 4] = [
        (
            Self::FlushOnBlock,
            "flush-on-block",
            "hold small writes until the writing thread waits, then flush",
        ),
        (
            Self::Nodelay,
            "nodelay",
            "only set TCP_NODELAY; hold nothing",
        ),
        (
            Self::CorkUntilBlock,
            "cork-until-block",
            "cork every write until the writing thread waits (naive, for comparison)",
        ),
        (
            Self::Observe,
            "observe",
            "change nothing; count what flush-on-block would change",
        ),
    ];

    /// Returns the name on the command line, in the environment and in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        let [first, rest @ ..] = Self::ALL;
        rest.into_iter()
            .find(|(policy, ..)| *policy == self)
            .unwrap_or(first)
            .1
    }

    /// Returns the policy of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(_, known, _)| *known == name)
            .map(|(policy, ..)| *policy)
    }

    /// Returns whether a socket under this policy has Nagle's algorithm switched off.
    #[must_use]
    pub fn sets_nodelay(self) -> bool {
        !matches!(self, Self::Observe)
    }

    /// Returns whether writes may wait in the kernel under this policy.
    #[must_use]
    pub fn holds(self) -> bool {
        matches!(self, Self::FlushOnBlock | Self::CorkUntilBlock)
    }
}

/// The numbers of the policy. Times are in nanoseconds, lengths in bytes.
///
/// In C's layout because `lab/run-table --one-process` finds them in the memory of a running
/// program and changes the policy between its rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Rules {
    /// Which policy.
    pub policy: Policy,
    /// Writes of this length or more are never held: holding bulk writes of 1-4 KB measured
    /// 17-24 % less throughput, and a nearly full segment has little to gain.
    pub hold_below: usize,
    /// The longest a byte may stay held while its program runs on without waiting. The kernel's
    /// own bound would be the retransmission timeout, 200 ms and more.
    pub watchdog_ns: u64,
    /// Hold from a service's first write on, and wake the watchdog for whatever is held: the fewest
    /// segments, at up to 50 us of CPU for an answer that comes alone.
    pub eager: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            hold_below: 1024,
            watchdog_ns: 1_000_000,
            eager: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_policies() {
        for (policy, name, _) in Policy::ALL {
            assert_eq!(policy.name(), name);
            assert_eq!(Policy::named(name), Some(policy));
        }
        assert_eq!(Policy::named("nagle"), None);
    }
}
