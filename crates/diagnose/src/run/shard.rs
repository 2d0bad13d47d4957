//! A share of a capture's connections: its table, and what goes to it and comes from it. It knows no other share.

use tinygram_wire::capture::LinkType;
use tinygram_wire::decode::{Decoded, Gist};
use tinygram_wire::endpoint::Endpoint;
use tinygram_wire::options::Options;

use super::table::{Hint, Key, Table};
use crate::conversation::about::About;
use crate::conversation::{Conversation, Telling};
use crate::findings::finding::Finding;
use crate::flow::ends::Ends;
use crate::flow::mark::Mark;

/// The connections of one share. Shares know nothing of each other, so each can be worked on by another
/// thread.
pub(crate) struct Shard {
    /// Which one it is.
    share: u32,
    pub(crate) table: Table,
    /// Emptied after each segment.
    found: Vec<Finding>,
}

/// A segment and where it stands in the capture.
pub(crate) struct Placed<'a> {
    pub(crate) mark: Mark,
    /// Whether the frame has no link-layer header.
    pub(crate) raw_ip: bool,
    /// The hash of its connection, and where that may be.
    pub(crate) hash: u32,
    pub(crate) hint: Hint,
    /// The sender and the receiver.
    pub(crate) ends: [Endpoint; 2],
    pub(crate) segment: &'a Gist,
    /// Its options, if it may have other ones than timestamps.
    pub(crate) options: Option<&'a Options>,
}

/// Where something is said of a connection, which is known by its slot from where it begins until it leaves.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// The frame upon which it is said; 0 at the end.
    pub(crate) frame: u64,
    pub(crate) share: u32,
    pub(crate) slot: u32,
}

/// Hears what the shares say, of each share in the order of its frames.
pub(crate) trait Hears {
    /// Hears that a connection begins. Returns its number, or 0 where that is not known yet.
    fn begins(&mut self, place: Place) -> u32;
    /// Hears what was found; takes all of it.
    fn finds(&mut self, place: Place, found: &mut Vec<Finding>);
    /// Hears that a connection leaves, and what was found of it in the end; takes all of that.
    fn leaves(&mut self, place: Place, connection: Conversation, found: &mut Vec<Finding>);
}

impl Shard {
    /// Returns a share with room for so many connections, and for so many that have ended.
    pub(crate) fn new(share: usize, limit: usize, linger: usize, key: Key) -> Self {
        Self {
            share: share as u32,
            table: Table::new(limit, linger, key),
            found: Vec::new(),
        }
    }

    /// Takes the next frame, which has been decoded already.
    #[inline(never)]
    pub(crate) fn take_decoded(
        &mut self,
        mark: Mark,
        decoded: &Decoded,
        hash: u32,
        hint: Hint,
        about: Option<&About>,
        hears: &mut dyn Hears,
    ) {
        if let Ok((segment, around)) = &decoded.look {
            let placed = Placed {
                mark,
                raw_ip: decoded.link == LinkType::RAW,
                hash,
                hint,
                ends: [segment.source, segment.destination],
                segment: &Gist::of(segment, around),
                options: Some(&segment.options),
            };
            self.take(&placed, about, hears);
        }
    }

    /// Takes the next segment of the share's connections.
    #[expect(clippy::inline_always, reason = "a part of the loop over all frames")]
    #[inline(always)]
    pub(crate) fn take(
        &mut self,
        placed: &Placed<'_>,
        about: Option<&About>,
        hears: &mut dyn Hears,
    ) {
        let Placed { mark, segment, .. } = *placed;
        let (ends, from) = Ends::between(placed.ends[0], placed.ends[1]);
        let slot = match self.table.find(&ends, placed.hash, placed.hint) {
            Some(slot) => slot,
            None => self.begin(&ends, placed.hash, mark, about, hears),
        };
        let mut connection = self.table.get(slot);
        if connection.flow.is_reuse(segment, from, mark.time_ns) {
            let old = self.table.replace(slot, mark);
            self.let_go(mark.frame, slot, old, about, hears);
            let id = hears.begins(self.place(mark.frame, slot));
            connection = self.table.get(slot);
            connection.flow.id = id;
        }
        connection.flow.raw_ip = placed.raw_ip;
        let was_closed = connection.flow.closed;
        let telling = Telling {
            found: &mut self.found,
            about,
        };
        connection.segment(segment, placed.options, from, mark, telling);
        let closes = connection.flow.closed && !was_closed;
        if !self.found.is_empty() {
            let place = self.place(mark.frame, slot);
            hears.finds(place, &mut self.found);
        }
        if closes && let Some((slot, connection)) = self.table.close(slot) {
            self.let_go(mark.frame, slot, connection, about, hears);
        }
    }

    #[cold]
    fn begin(
        &mut self,
        ends: &Ends,
        hash: u32,
        mark: Mark,
        about: Option<&About>,
        hears: &mut dyn Hears,
    ) -> usize {
        if let Some((slot, silent)) = self.table.make_room() {
            self.let_go(mark.frame, slot, silent, about, hears);
        }
        let slot = self.table.insert(ends, hash, mark);
        self.table.get(slot).flow.id = hears.begins(self.place(mark.frame, slot));
        slot
    }

    fn place(&self, frame: u64, slot: usize) -> Place {
        Place {
            frame,
            share: self.share,
            slot: slot as u32,
        }
    }

    /// Judges what is still open of a connection that was taken out of the table.
    pub(crate) fn let_go(
        &mut self,
        frame: u64,
        slot: usize,
        mut connection: Conversation,
        about: Option<&About>,
        hears: &mut dyn Hears,
    ) {
        connection.end(Telling {
            found: &mut self.found,
            about,
        });
        for from in 0..2 {
            self.found.extend(connection.doubtful(from));
        }
        hears.leaves(self.place(frame, slot), connection, &mut self.found);
    }
}
