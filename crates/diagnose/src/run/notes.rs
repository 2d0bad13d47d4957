//! What a share says while another thread gathers: notes that are taken down and read out later, to `gathered`.

use super::shard::Hears;
use crate::across::gathered::Gathered;
use crate::conversation::Conversation;
use crate::findings::finding::Finding;

/// Something that a share says of a connection, known by its slot.
pub(crate) struct Said {
    /// The frame upon which it was said.
    pub(crate) frame: u64,
    share: u32,
    slot: u32,
    what: What,
}

enum What {
    Begins,
    Finds(Vec<Finding>),
    Leaves(Box<(Conversation, Vec<Finding>)>),
}

/// Takes down what a share says.
pub(crate) struct Notes {
    pub(crate) share: u32,
    /// The frame under way.
    pub(crate) frame: u64,
    pub(crate) said: Vec<Said>,
}

impl Said {
    /// Tells the report.
    pub(crate) fn to(self, gathered: &mut Gathered) {
        let (share, slot) = (self.share as usize, self.slot as usize);
        match self.what {
            What::Begins => {
                gathered.begins(share, slot);
            }
            What::Finds(mut found) => gathered.finds(share, slot, &mut found),
            What::Leaves(left) => {
                let (connection, mut found) = *left;
                gathered.leaves(share, slot, connection, &mut found);
            }
        }
    }
}

impl Notes {
    fn note(&mut self, slot: usize, what: What) {
        self.said.push(Said {
            frame: self.frame,
            share: self.share,
            slot: slot as u32,
            what,
        });
    }
}

impl Hears for Notes {
    fn begins(&mut self, slot: usize) -> u32 {
        self.note(slot, What::Begins);
        0
    }

    fn finds(&mut self, slot: usize, found: &mut Vec<Finding>) {
        self.note(slot, What::Finds(std::mem::take(found)));
    }

    fn leaves(&mut self, slot: usize, connection: Conversation, found: &mut Vec<Finding>) {
        let left = Box::new((connection, std::mem::take(found)));
        self.note(slot, What::Leaves(left));
    }
}
