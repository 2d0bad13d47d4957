//! A share of a capture's connections: its table, and what goes to it and comes from it. It knows no other share.

use tinygram_wire::decode::{Around, Segment};

use super::table::Table;
use crate::conversation::about::About;
use crate::conversation::{Conversation, Telling};
use crate::findings::finding::Finding;
use crate::flow::ends::Ends;
use crate::flow::mark::Mark;

/// The connections of one share. Shares know nothing of each other, so each can be worked on by another
/// thread.
pub(crate) struct Shard {
    pub(crate) table: Table,
    /// Emptied after each segment.
    found: Vec<Finding>,
}

/// A segment and where it stands in the capture.
pub(crate) struct Placed<'a> {
    pub(crate) mark: Mark,
    /// Whether the frame has no link-layer header.
    pub(crate) raw_ip: bool,
    /// The ends of its connection, and which of them sent it.
    pub(crate) between: (Ends, usize),
    pub(crate) segment: &'a Segment,
    pub(crate) around: &'a Around,
}

/// Hears what a share says, in the order of its frames. A connection is known by its slot, from where it
/// begins until it leaves.
pub(crate) trait Hears {
    /// Hears that a connection begins. Returns its number, or 0 where that is not known yet.
    fn begins(&mut self, slot: usize) -> u32;
    /// Hears what was found; takes all of it.
    fn finds(&mut self, slot: usize, found: &mut Vec<Finding>);
    /// Hears that a connection leaves, and what was found of it in the end; takes all of that.
    fn leaves(&mut self, slot: usize, connection: Conversation, found: &mut Vec<Finding>);
}

impl Shard {
    /// Returns a share with room for so many connections, and for so many that have ended.
    pub(crate) fn new(limit: usize, linger: usize) -> Self {
        Self {
            table: Table::new(limit, linger),
            found: Vec::new(),
        }
    }

    /// Takes the next segment of the share's connections.
    #[inline]
    pub(crate) fn take(
        &mut self,
        placed: &Placed<'_>,
        about: Option<&About>,
        hears: &mut impl Hears,
    ) {
        let Placed { mark, segment, .. } = *placed;
        let (ends, from) = placed.between;
        let slot = match self.table.find(&ends) {
            (Some(slot), _) => slot,
            (None, hash) => self.begin(&ends, hash, mark, about, hears),
        };
        let mut connection = self.table.get(slot);
        if connection.flow.is_reuse(segment, from, mark.time_ns) {
            let old = self.table.replace(slot, mark);
            self.let_go(slot, old, about, hears);
            connection = self.table.get(slot);
            connection.flow.id = hears.begins(slot);
        }
        connection.flow.raw_ip = placed.raw_ip;
        let was_closed = connection.flow.closed;
        let telling = Telling {
            found: &mut self.found,
            about,
        };
        connection.segment(segment, placed.around, from, mark, telling);
        let closes = connection.flow.closed && !was_closed;
        if !self.found.is_empty() {
            hears.finds(slot, &mut self.found);
        }
        if closes && let Some((slot, connection)) = self.table.close(slot) {
            self.let_go(slot, connection, about, hears);
        }
    }

    #[cold]
    fn begin(
        &mut self,
        ends: &Ends,
        hash: u64,
        mark: Mark,
        about: Option<&About>,
        hears: &mut impl Hears,
    ) -> usize {
        if let Some((slot, silent)) = self.table.make_room() {
            self.let_go(slot, silent, about, hears);
        }
        let slot = self.table.insert(ends, hash, mark);
        self.table.get(slot).flow.id = hears.begins(slot);
        slot
    }

    /// Judges what is still open of a connection that was taken out of the table.
    pub(crate) fn let_go(
        &mut self,
        slot: usize,
        mut connection: Conversation,
        about: Option<&About>,
        hears: &mut impl Hears,
    ) {
        connection.end(Telling {
            found: &mut self.found,
            about,
        });
        for from in 0..2 {
            self.found.extend(connection.doubtful(from));
        }
        hears.leaves(slot, connection, &mut self.found);
    }
}
