//! Any bytes as a capture: reading ends in a message, copying with comments gives a capture again.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use tinygram_wire::capture::{Reader, annotate};
use tinygram_wire::decode;

fuzz_target!(|bytes: &[u8]| {
    let Some(frames) = count(bytes.to_vec()) else {
        return;
    };
    let mut copy = Vec::new();
    let whole = annotate(Cursor::new(bytes.to_vec()), &mut copy, |number| {
        number.is_multiple_of(3).then(|| format!("frame {number}"))
    });
    if whole.is_ok() {
        assert_eq!(count(copy), Some(frames), "the copy has the same frames");
    }
});

/// The frames before the end or the damage; none if it is no capture.
fn count(bytes: Vec<u8>) -> Option<u64> {
    let mut reader = Reader::new(Cursor::new(bytes)).ok()?;
    while let Ok(Some(frame)) = reader.next_frame() {
        let _ = decode::segment(&frame);
    }
    Some(reader.frames())
}
