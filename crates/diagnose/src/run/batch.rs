//! Frames that are read together, divided among the shares of connections.

use tinygram_wire::capture::{CaptureError, Frame, LinkType, Reader};
use tinygram_wire::decode::{self, Decoded};

use super::front::{Front, LAST_TIME_NS};
use super::shard::Placed;
use super::table;
use crate::flow::ends::Ends;
use crate::flow::mark::Mark;

/// Frames that are read together: each is in the parcel of the share to which its connection belongs.
pub(crate) struct Batch {
    /// The number of the first one in the capture.
    first: u64,
    parcels: Vec<Parcel>,
}

/// The frames of one share, in their order. Whoever works on the share decodes them. So the reader is soon done
/// with a frame, and a frame's few bytes are all that passes from one processor to another. They lie one after the other:
/// where they stayed among the capture's bytes and were found by their places, two threads took more processor time,
/// because each frame was waited for.
#[derive(Default)]
struct Parcel {
    frames: Vec<Packed>,
    /// The bytes of the plain frames, one frame after the other.
    bytes: Vec<u8>,
    /// The other frames, which had to be decoded to find their share.
    decoded: Vec<Decoded>,
}

/// A frame in a parcel.
#[derive(Clone, Copy)]
struct Packed {
    time_ns: i64,
    wire_len: u32,
    /// Its place in the batch.
    at: u16,
    /// How many bytes it has in the parcel; none if it is decoded.
    len: u16,
}

impl Batch {
    /// Returns an empty batch for so many shares.
    pub(crate) fn new(shares: usize) -> Self {
        Self {
            first: 0,
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
        for at in 0..FRAMES {
            match reader.next_frame() {
                Ok(Some(frame)) => self.pack(&frame, at, front),
                Ok(None) => return Some(Ok(())),
                Err(error) => return Some(Err(error)),
            }
        }
        None
    }

    /// Puts a frame into the parcel of its share, if it is looked at.
    #[inline]
    fn pack(&mut self, frame: &Frame<'_>, at: u16, front: &mut Front) {
        let Frame {
            time_ns, wire_len, ..
        } = *frame;
        let shares = self.parcels.len();
        if front.takes_all()
            && let Some(plain) = decode::plain(frame)
        {
            front.note_segment(time_ns);
            let share = table::share(&plain.source, &plain.destination, shares);
            let parcel = &mut self.parcels[share];
            parcel.bytes.extend_from_slice(&frame.data[..plain.read]);
            parcel.frames.push(Packed {
                time_ns,
                wire_len,
                at,
                len: plain.read as u16,
            });
            return;
        }
        let decoded = Decoded::of(frame);
        if let (Some(_), Ok((segment, _))) = (front.note(time_ns, &decoded.look), &decoded.look) {
            let share = table::share(&segment.source, &segment.destination, shares);
            let parcel = &mut self.parcels[share];
            parcel.decoded.push(decoded);
            parcel.frames.push(Packed {
                time_ns,
                wire_len,
                at,
                len: 0,
            });
        }
    }

    /// Decodes the frames of a share, and passes on each segment with its place in the capture.
    pub(crate) fn each_of(&self, share: usize, mut each: impl FnMut(&Placed<'_>)) {
        let parcel = &self.parcels[share];
        let (mut bytes, mut decoded) = (parcel.bytes.as_slice(), parcel.decoded.iter());
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
            let (data, rest) = bytes.split_at(usize::from(packed.len));
            bytes = rest;
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

impl Parcel {
    fn clear(&mut self) {
        self.frames.clear();
        self.bytes.clear();
        self.decoded.clear();
    }
}

/// Frames in a batch: some 100 bytes each. Threads seldom wait for each other then.
const FRAMES: u16 = 8192;
