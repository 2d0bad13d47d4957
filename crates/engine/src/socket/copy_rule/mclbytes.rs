//! BSD's `sosend`.

use super::{CopyView, Rule, Step};

/// Copies clusters of `cluster` octets and runs the sender after each.
///
/// A cluster is not cut to the space left: the last one may overfill the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mclbytes {
    /// MCLBYTES, in octets; 8192 on Tru64 UNIX 4.0F.
    pub cluster: u64,
    /// `so_snd.sb_lowat`, in octets: below this much space a larger write sleeps.
    pub low_water: u64,
}

impl Mclbytes {
    /// The low-water mark of 4.4BSD, in octets.
    pub const LOW_WATER: u64 = 2048;
}

impl Rule for Mclbytes {
    fn step(&self, view: &CopyView) -> Step {
        if view.copied_this_round == 0 {
            let space = view.space();
            // Also in a buffer of no size there must be space for something.
            let least = self.low_water.min(view.capacity).max(1);
            if space < view.remaining && space < least {
                return Step::Sleep;
            }
        } else if view.copied_this_round >= view.space_at_round {
            return Step::NewRound;
        }
        Step::Copy(view.remaining.min(self.cluster))
    }
}
