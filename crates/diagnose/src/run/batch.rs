//! Segments that are read together, divided among the shares of connections.

use tinygram_wire::capture::{CaptureError, Frame, Reader};
use tinygram_wire::decode::{self, Decoded, Plain};
use tinygram_wire::endpoint::Endpoint;

use super::front::{Front, LAST_TIME_NS};
use super::shard::{Hears, Placed, Shard};
use super::table::{self, Hint, Key};
use crate::conversation::about::About;
use crate::flow::ends::Ends;
use crate::flow::mark::Mark;

/// Segments that are read together: each is in the parcel of the share to which its connection belongs, or all are in one
/// parcel.
pub(crate) struct Batch {
    /// The number of the first frame in the capture.
    first: u64,
    /// The most frames in it.
    frames: u16,
    shares: usize,
    key: Key,
    parcels: Vec<Parcel>,
}

/// The segments of one share, in their order. They lie one after the other, a cache line for each, and that is all that passes
/// from one processor to another.
#[derive(Default)]
struct Parcel {
    segments: Vec<Packed>,
    /// The frames that are not plain.
    decoded: Vec<Decoded>,
}

/// A segment in a parcel.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Packed {
    time_ns: i64,
    /// What it says; none if that is among those which are not plain.
    plain: Option<Plain>,
    /// The hash of its connection.
    hash: u32,
    /// The place of its frame in the batch.
    at: u16,
    /// The share of its connection.
    share: u8,
    /// The end of whose data it tells most: it carries some, or acknowledges some.
    of: u8,
}

const _: () = assert!(size_of::<Packed>() == 64);

impl Batch {
    /// Returns an empty batch of so many frames, with a parcel for each of so many shares, or with one for all.
    pub(crate) fn new(frames: u16, shares: usize, parcels: usize, key: Key) -> Self {
        Self {
            first: 0,
            frames,
            shares,
            key,
            parcels: (0..parcels).map(|_| Parcel::default()).collect(),
        }
    }

    /// Reads the next frames; returns how the capture ended, if it did.
    pub(crate) fn fill(
        &mut self,
        reader: &mut Reader,
        front: &mut Front,
    ) -> Option<Result<(), CaptureError>> {
        self.parcels.iter_mut().for_each(Parcel::clear);
        self.first = front.frames + 1;
        for at in 0..self.frames {
            match reader.next_frame() {
                Ok(Some(frame)) => self.pack(&frame, at, front),
                Ok(None) => return Some(Ok(())),
                Err(error) => return Some(Err(error)),
            }
        }
        None
    }

    /// Puts the segment of a frame into a parcel, if it is looked at.
    #[inline]
    fn pack(&mut self, frame: &Frame<'_>, at: u16, front: &mut Front) {
        if front.takes_all()
            && let Some(plain) = decode::plain(frame)
        {
            front.note_segment(frame.time_ns);
            self.put(
                frame.time_ns,
                at,
                &plain.ends(),
                plain.gist().payload,
                Some(plain),
            );
        } else {
            self.pack_any(frame, at, front);
        }
    }

    #[cold]
    fn pack_any(&mut self, frame: &Frame<'_>, at: u16, front: &mut Front) {
        let decoded = Decoded::of(frame);
        let mark = front.note(frame.time_ns, &decoded.look);
        if let (Some(_), Ok((segment, _))) = (mark, &decoded.look) {
            let ends = [segment.source, segment.destination];
            let parcel = self.put(frame.time_ns, at, &ends, segment.payload, None);
            parcel.decoded.push(decoded);
        }
    }

    #[expect(clippy::inline_always, reason = "a part of the loop over all frames")]
    #[inline(always)]
    fn put(
        &mut self,
        time_ns: i64,
        at: u16,
        ends: &[Endpoint; 2],
        payload: u32,
        plain: Option<Plain>,
    ) -> &mut Parcel {
        let share = table::share(&ends[0], &ends[1], self.shares);
        let mask = self.parcels.len() - 1;
        let parcel = &mut self.parcels[share & mask];
        let (_, from) = Ends::between(ends[0], ends[1]);
        parcel.segments.push(Packed {
            time_ns,
            plain,
            hash: self.key.hash(ends),
            at,
            share: share as u8,
            of: from as u8 ^ u8::from(payload == 0),
        });
        parcel
    }

    /// Lets each share take its segments of a parcel: the share to which the parcel belongs, or one of all.
    pub(crate) fn each_of(
        &self,
        parcel: usize,
        shards: &mut [Shard],
        about: Option<&About>,
        hears: &mut dyn Hears,
    ) {
        let Parcel { segments, decoded } = &self.parcels[parcel];
        let mut decoded = decoded.iter();
        let mask = shards.len() - 1;
        let foresee = |shards: &[Shard], at: usize| {
            let table = |packed: &Packed| &shards[usize::from(packed.share) & mask].table;
            if let Some(packed) = segments.get(at + AHEAD) {
                table(packed).fetch_hint(packed.hash);
            }
            let packed = segments.get(at);
            packed.map_or(Hint::NONE, |packed| {
                table(packed).foresee(packed.hash, packed.of)
            })
        };
        let mut hints = [Hint::NONE; AHEAD];
        for at in 0..segments.len() + AHEAD {
            let ahead = foresee(shards, at);
            let hint = std::mem::replace(&mut hints[at % AHEAD], ahead);
            let Some(packed) = at.checked_sub(AHEAD).and_then(|at| segments.get(at)) else {
                continue;
            };
            let mark = Mark {
                frame: self.first + u64::from(packed.at),
                time_ns: packed.time_ns.clamp(0, LAST_TIME_NS),
            };
            let shard = &mut shards[usize::from(packed.share) & mask];
            let Some(plain) = &packed.plain else {
                if let Some(decoded) = decoded.next() {
                    shard.take_decoded(mark, decoded, packed.hash, hint, about, hears);
                }
                continue;
            };
            let placed = Placed {
                mark,
                raw_ip: false,
                hash: packed.hash,
                hint,
                ends: plain.ends(),
                segment: plain.gist(),
                options: None,
            };
            shard.take(&placed, about, hears);
        }
    }
}

impl Parcel {
    fn clear(&mut self) {
        self.segments.clear();
        self.decoded.clear();
    }
}

/// A connection is looked up so many segments before it is needed: memory answers in the time of two or three of them.
const AHEAD: usize = 8;
