//! What a share says while another thread gathers: notes that are taken down and read out later, to `gathered`.

use super::shard::{Hears, Place};
use crate::across::gathered::Gathered;
use crate::conversation::Conversation;
use crate::findings::finding::Finding;

/// Something that a share says of a connection.
pub(crate) struct Said {
    place: Place,
    what: What,
}

enum What {
    Begins,
    Finds(Vec<Finding>),
    Leaves(Box<(Conversation, Vec<Finding>)>),
}

/// Takes down what a share says.
#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) said: Vec<Said>,
}

impl Said {
    /// Returns the frame upon which it was said.
    pub(crate) fn frame(&self) -> u64 {
        self.place.frame
    }

    /// Tells the report.
    pub(crate) fn to(self, gathered: &mut Gathered) {
        let (share, slot) = (self.place.share as usize, self.place.slot as usize);
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

impl Hears for Notes {
    fn begins(&mut self, place: Place) -> u32 {
        let what = What::Begins;
        self.said.push(Said { place, what });
        0
    }

    fn finds(&mut self, place: Place, found: &mut Vec<Finding>) {
        let what = What::Finds(std::mem::take(found));
        self.said.push(Said { place, what });
    }

    fn leaves(&mut self, place: Place, connection: Conversation, found: &mut Vec<Finding>) {
        let left = Box::new((connection, std::mem::take(found)));
        let what = What::Leaves(left);
        self.said.push(Said { place, what });
    }
}
