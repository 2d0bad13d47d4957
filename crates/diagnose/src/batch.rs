//! Frames that are read together, divided among the shares of connections.

use tinygram_wire::capture::{CaptureError, Frame, LinkType, Reader};
use tinygram_wire::decode::{self, Decoded};

use crate::flow::ends::Ends;
use crate::flow::mark::Mark;
use crate::front::{Front, LAST_TIME_NS};
use crate::shard::Placed;
use crate::table;

/// Frames that are read together: each is in the parcel of the share to which its connection belongs.
pub(crate) struct Batch {
    /// The number of the first one in the capture.
    first: u64,
    /// The bytes of the capture in which they are.
    block: Vec<u8>,
    parcels: Vec<Parcel>,
}

/// The frames of one share, in their order. Whoever works on the share decodes them where they were read. So the reader is
/// soon done with a frame, and copies none.
#[derive(Default)]
struct Parcel {
    frames: Vec<Packed>,
    /// The other frames, which had to be decoded to find their share.
    decoded: Vec<Decoded>,
}

/// A frame in a parcel.
#[derive(Clone, Copy)]
struct Packed {
    time_ns: i64,
    wire_len: u32,
    /// Where it begins in the block.
    offset: u32,
    /// Its place in the batch.
    at: u16,
    /// How many of its bytes are looked at; none if it is decoded.
    len: u16,
}

impl Batch {
    /// Returns an empty batch for so many shares.
    pub(crate) fn new(shares: usize) -> Self {
        Self {
            first: 0,
            block: vec![0; BLOCK],
            parcels: (0..shares).map(|_| Parcel::default()).collect(),
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
        let (parcels, mut at) = (&mut self.parcels, 0);
        let read = reader.read_block(&mut self.block, FRAMES.into(), |frame, offset| {
            pack(frame, [at, offset as u32], parcels, front);
            at += 1;
        });
        match read {
            Ok(true) => None,
            Ok(false) => Some(Ok(())),
            Err(error) => Some(Err(error)),
        }
    }

    /// Decodes the frames of a share, and passes on each segment with its place in the capture.
    pub(crate) fn each_of(&self, share: usize, mut each: impl FnMut(&Placed<'_>)) {
        let parcel = &self.parcels[share];
        let mut decoded = parcel.decoded.iter();
        for packed in &parcel.frames {
            let number = self.first + u64::from(packed.at);
            let mark = Mark {
                frame: number,
                time_ns: packed.time_ns.clamp(0, LAST_TIME_NS),
            };
            if packed.len == 0 {
                let Some(Decoded {
                    look: Ok((segment, around)),
                    link,
                    ..
                }) = decoded.next()
                else {
                    continue;
                };
                each(&Placed {
                    mark,
                    raw_ip: *link == LinkType::RAW,
                    between: Ends::of(segment),
                    segment,
                    around,
                });
                continue;
            }
            let begin = packed.offset as usize;
            let data = &self.block[begin..begin + usize::from(packed.len)];
            let frame = Frame {
                number,
                time_ns: packed.time_ns,
                link: LinkType::ETHERNET,
                data,
                wire_len: packed.wire_len,
            };
            if let Ok((segment, around)) = &decode::look(&frame) {
                each(&Placed {
                    mark,
                    raw_ip: false,
                    between: Ends::of(segment),
                    segment,
                    around,
                });
            }
        }
    }
}

/// Puts a frame into the parcel of its share, if it is looked at. `at` is its place in the batch and `offset` that in the
/// block.
#[inline]
fn pack(frame: &Frame<'_>, [at, offset]: [u32; 2], parcels: &mut [Parcel], front: &mut Front) {
    let Frame {
        time_ns, wire_len, ..
    } = *frame;
    let shares = parcels.len();
    let packed = |len: usize| Packed {
        time_ns,
        wire_len,
        offset,
        at: at as u16,
        len: len as u16,
    };
    if front.takes_all()
        && let Some(plain) = decode::plain(frame)
    {
        front.note_segment(time_ns);
        let share = table::share(&plain.source, &plain.destination, shares);
        parcels[share].frames.push(packed(plain.read));
        return;
    }
    let decoded = Decoded::of(frame);
    if let (Some(_), Ok((segment, _))) = (front.note(time_ns, &decoded.look), &decoded.look) {
        let parcel = &mut parcels[table::share(&segment.source, &segment.destination, shares)];
        parcel.frames.push(packed(0));
        parcel.decoded.push(decoded);
    }
}

impl Parcel {
    fn clear(&mut self) {
        self.frames.clear();
        self.decoded.clear();
    }
}

/// The most frames in a batch: seldom as many go into a block.
const FRAMES: u16 = u16::MAX;
/// The bytes of a block: some 7,000 frames that were cut to 96 bytes. Threads seldom wait for each other then.
const BLOCK: usize = 768 * 1024;
