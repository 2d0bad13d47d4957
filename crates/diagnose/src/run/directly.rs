//! What a share says on the thread that gathers: it goes to `gathered` at once.

use super::shard::{Hears, Place};
use crate::across::gathered::Gathered;
use crate::conversation::Conversation;
use crate::findings::finding::Finding;

/// Gathers at once what a share says.
pub(crate) struct Directly<'a>(pub(crate) &'a mut Gathered);

impl Hears for Directly<'_> {
    fn begins(&mut self, place: Place) -> u32 {
        self.0.begins(place.share as usize, place.slot as usize)
    }

    fn finds(&mut self, place: Place, found: &mut Vec<Finding>) {
        self.0
            .finds(place.share as usize, place.slot as usize, found);
    }

    fn leaves(&mut self, place: Place, connection: Conversation, found: &mut Vec<Finding>) {
        let (share, slot) = (place.share as usize, place.slot as usize);
        self.0.leaves(share, slot, connection, found);
    }
}
