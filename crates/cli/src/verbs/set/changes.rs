//! What a command changed.

use tinygram_remedy::apply::Applied;
use tinygram_remedy::apply::knobs::Turned;

use super::knobs::Turn;

/// What was changed.
pub(super) struct Changes {
    /// For each option of sockets.
    pub(super) applied: Vec<Applied>,
    /// For each knob.
    pub(super) turned: Vec<(Turn, Turned)>,
}

impl Changes {
    /// Returns the changes' numbers in the journal.
    pub(super) fn ids(&self) -> Vec<u64> {
        let of_sockets = self.applied.iter().flat_map(|done| done.ids.clone());
        let of_knobs = self.turned.iter().filter_map(|(_, turned)| turned.id);
        of_sockets.chain(of_knobs).collect()
    }

    /// Returns whether everything has the value that it was to have.
    pub(super) fn is_whole(&self) -> bool {
        self.applied.iter().all(Applied::is_whole)
            && self
                .turned
                .iter()
                .all(|(_, turned)| turned.refused.is_none())
    }
}
