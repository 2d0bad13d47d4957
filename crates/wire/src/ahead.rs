//! Reads a capture ahead of whoever analyzes it: a thread reads, unpacks and decodes.
//!
//! Reading and decoding take about a third of the time of an analysis, and unpacking a compressed
//! capture takes longer than all of it.

use std::io::Read;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::capture::{CaptureError, Reader};
use crate::decode::Decoded;

/// Passes each frame of a capture to `take`, in order. `take` runs in the thread of the caller; a
/// thread of its own reads `source`, and is some three thousand frames ahead at most.
///
/// # Errors
/// [`CaptureError`] if the source is no capture, or is cut off or damaged. The frames before were
/// passed on.
///
/// # Panics
/// Panics if `source` or `take` does, with the same payload.
pub fn each(
    source: impl Read + Send + 'static,
    mut take: impl FnMut(&Decoded),
) -> Result<(), CaptureError> {
    let (into, filled) = sync_channel(WAITING);
    let (back, emptied) = sync_channel(WAITING);
    thread::scope(|scope| {
        let reading = scope.spawn(move || read(source, &into, &emptied));
        // Dropped if `take` panics, so that the reader ends, too.
        for mut batch in filled {
            batch.iter().for_each(&mut take);
            batch.clear();
            // The reader has enough of them, or is done.
            let _ = back.try_send(batch);
        }
        reading
            .join()
            .unwrap_or_else(|payload| resume_unwind(payload))
    })
}

/// Frames that pass from thread to thread together.
type Batch = Vec<Decoded>;

fn read(
    source: impl Read + 'static,
    into: &SyncSender<Batch>,
    emptied: &Receiver<Batch>,
) -> Result<(), CaptureError> {
    let mut reader = Reader::new(source)?;
    loop {
        let mut batch = match emptied.try_recv() {
            Ok(batch) => batch,
            Err(_) => Batch::with_capacity(BATCH),
        };
        let ended = fill(&mut batch, &mut reader);
        // Nobody takes the frames any more if `take` panicked.
        let taken = into.send(batch).is_ok();
        match ended {
            Some(ended) => return ended,
            None if taken => {}
            None => return Ok(()),
        }
    }
}

/// Decodes the next frames; returns how the capture ended, if it did.
fn fill(batch: &mut Batch, reader: &mut Reader) -> Option<Result<(), CaptureError>> {
    while batch.len() < BATCH {
        match reader.next_frame() {
            Ok(Some(frame)) => batch.push(Decoded::of(&frame)),
            Ok(None) => return Some(Ok(())),
            Err(error) => return Some(Err(error)),
        }
    }
    None
}

/// Frames in a batch: 90 KB, which the second-level caches of both processors hold.
const BATCH: usize = 512;
/// Batches on the way.
const WAITING: usize = 4;

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Error};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::capture::{Frame, LinkType, PcapWriter};

    /// Returns a capture of `count` frames without a segment, a microsecond apart.
    fn capture(count: usize) -> Vec<u8> {
        let mut file = Vec::new();
        let mut writer = PcapWriter::new(&mut file, LinkType::RAW, 1).expect("memory takes all");
        for number in 1..=count as u64 {
            let frame = Frame {
                number,
                time_ns: number as i64 * 1_000,
                link: LinkType::RAW,
                data: &[0],
                wire_len: 1,
            };
            writer.frame(&frame).expect("memory takes all");
        }
        file
    }

    fn times(file: Vec<u8>) -> (Vec<i64>, Result<(), CaptureError>) {
        let mut times = Vec::new();
        let ended = each(Cursor::new(file), |frame| times.push(frame.time_ns / 1_000));
        (times, ended)
    }

    #[test]
    fn every_frame_comes_once_and_in_order() {
        for count in [0, 1, BATCH - 1, BATCH, BATCH + 1, 7 * BATCH + 3] {
            let (times, ended) = times(capture(count));
            assert!(ended.is_ok());
            assert!(times.into_iter().eq(1..=count as i64), "{count} frames");
        }
    }

    #[test]
    fn the_frames_before_the_damage_come() {
        for count in [BATCH, BATCH + 1] {
            let mut file = capture(count);
            file.pop();
            let (times, ended) = times(file);
            assert_eq!(times.len(), count - 1);
            assert!(matches!(ended, Err(CaptureError::CutOff { .. })));
        }
        let (none, ended) = times(Vec::new());
        assert!(none.is_empty());
        assert!(matches!(ended, Err(CaptureError::Empty)));
    }

    /// A source that panics after a capture's header.
    struct Bad(Cursor<Vec<u8>>);

    impl Read for Bad {
        fn read(&mut self, into: &mut [u8]) -> Result<usize, Error> {
            match self.0.read(into)? {
                0 => resume_unwind(Box::new("called off")),
                count => Ok(count),
            }
        }
    }

    #[test]
    fn a_panic_of_either_side_ends_both_and_arrives() {
        let payload = |outcome: thread::Result<Result<(), CaptureError>>| {
            *outcome
                .expect_err("panicked")
                .downcast::<&str>()
                .expect("its payload")
        };
        let source = Bad(Cursor::new(capture(3 * BATCH)));
        let outcome = catch_unwind(AssertUnwindSafe(|| each(source, |_| {})));
        assert_eq!(payload(outcome), "called off");
        let source = Cursor::new(capture(30 * BATCH));
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            each(source, |_| resume_unwind(Box::new("no more")))
        }));
        assert_eq!(payload(outcome), "no more");
    }
}
