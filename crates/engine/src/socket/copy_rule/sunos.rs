//! SunOS 4.1's `sosend` (Moldeklev & Gunningberg, section 2.2).

use super::{CopyView, Rule, Step};

/// Copies at most `piece` octets before each run of the sender, and no part of a cluster if a whole
/// cluster is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SunOs {
    /// The most octets copied at once; 4096 as shipped.
    pub piece: u64,
    /// The cluster, in octets; 1024 as shipped.
    pub cluster: u64,
}

impl SunOs {
    /// As shipped.
    pub const AS_SHIPPED: Self = Self {
        piece: 4096,
        cluster: 1024,
    };
}

impl Rule for SunOs {
    fn step(&self, view: &CopyView) -> Step {
        let space = view.space();
        let would_split_a_cluster =
            view.remaining >= self.cluster && space < self.cluster && view.buffered >= self.cluster;
        if space == 0 || would_split_a_cluster {
            return Step::Sleep;
        }
        Step::Copy(view.remaining.min(space).min(self.piece))
    }
}
