//! What a share says on the thread that gathers: it goes to `gathered` at once.

use super::shard::Hears;
use crate::across::gathered::Gathered;
use crate::conversation::Conversation;
use crate::findings::finding::Finding;

/// Gathers at once what a share says.
pub(crate) struct Directly<'a> {
    pub(crate) gathered: &'a mut Gathered,
    pub(crate) share: usize,
}

impl Hears for Directly<'_> {
    fn begins(&mut self, slot: usize) -> u32 {
        self.gathered.begins(self.share, slot)
    }

    fn finds(&mut self, slot: usize, found: &mut Vec<Finding>) {
        self.gathered.finds(self.share, slot, found);
    }

    fn leaves(&mut self, slot: usize, connection: Conversation, found: &mut Vec<Finding>) {
        self.gathered.leaves(self.share, slot, connection, found);
    }
}
