//! Frames that were recorded more than once: by mirrored ports, by `-i any`, or on both sides of a
//! tunnel or a router. Only the first copy counts.

use tinygram_stalls::thresholds::{COPY_NS, NUMBERED_COPY_NS};
use tinygram_wire::decode::Gist;

/// The last frames of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Copies {
    last: [Print; 4],
    next: u8,
}

/// What identifies a frame: a hash of it, and its time.
#[derive(Clone, Copy, Debug, Default)]
struct Print {
    hash: u32,
    time_us: u32,
}

impl Copies {
    /// Returns true if the same frame was recorded a moment ago; remembers the frame.
    #[inline]
    pub(crate) fn has(&mut self, segment: &Gist, from: usize, time_ns: i64) -> bool {
        let hash = hash(segment, from);
        let time_us = (time_ns / 1_000) as u32;
        // Two frames with one number are one packet; without numbers, only frames close together
        // are.
        let near_us = if segment.identification == 0 {
            (COPY_NS / 1_000) as u32
        } else {
            (NUMBERED_COPY_NS / 1_000) as u32
        };
        let copy =
            |print: &Print| print.hash == hash && time_us.wrapping_sub(print.time_us) < near_us;
        if self.last.iter().any(copy) {
            return true;
        }
        self.last[usize::from(self.next)] = Print { hash, time_us };
        self.next = (self.next + 1) % self.last.len() as u8;
        false
    }
}

/// Hashes a segment without its time to live, which a router between two taps changes.
#[inline]
fn hash(segment: &Gist, from: usize) -> u32 {
    let stamps = segment
        .timestamps()
        .map_or(0, |t| t.value ^ t.echo.rotate_left(16));
    let numbers = u64::from(segment.seq) << 32 | u64::from(segment.ack);
    let rest = u64::from(segment.payload) << 40
        | u64::from(segment.identification) << 24
        | u64::from(segment.window) << 8
        | u64::from(segment.flags().bits()) << 1
        | from as u64;
    let mixed = (numbers ^ u64::from(stamps).rotate_left(13)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ rest.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    // Never 0, which marks an empty place.
    (mixed >> 32) as u32 | 1
}

#[cfg(test)]
mod tests;
