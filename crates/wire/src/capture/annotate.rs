//! Copies a capture and adds comments to some frames.

use std::io::{Read, Write};

use super::pcapng::{ENHANCED_PACKET, SECTION_HEADER};
use super::write::comment_option;
use super::{CaptureError, Format, PcapngWriter, Reader};

/// Copies a capture to pcapng and adds `comment(frame number)` to each frame for which it returns
/// one.
///
/// pcapng is copied block by block. Every block stays the same byte for byte, except for the frames
/// that gain a comment: the interfaces, names, secrets and comments are kept. Classic pcap becomes
/// pcapng with nanoseconds.
///
/// # Errors
/// [`CaptureError`] if the source is damaged or the destination cannot be written. Everything
/// before that point has been copied.
pub fn annotate(
    source: impl Read + 'static,
    into: impl Write,
    comment: impl FnMut(u64) -> Option<String>,
) -> Result<(), CaptureError> {
    let reader = Reader::new(source)?;
    match reader.format {
        Format::Pcap(_) => convert(reader, into, comment),
        Format::Pcapng(_) => copy(reader, into, comment),
    }
}

fn convert(
    mut reader: Reader,
    into: impl Write,
    mut comment: impl FnMut(u64) -> Option<String>,
) -> Result<(), CaptureError> {
    let mut writer = PcapngWriter::new(into)?;
    while let Some(frame) = reader.next_frame()? {
        let text = comment(frame.number).unwrap_or_default();
        writer.frame(&frame, &text)?;
    }
    Ok(())
}

fn copy(
    reader: Reader,
    mut into: impl Write,
    mut comment: impl FnMut(u64) -> Option<String>,
) -> Result<(), CaptureError> {
    let Reader {
        mut window,
        format: Format::Pcapng(mut section),
        ..
    } = reader
    else {
        unreachable!("called for pcapng only")
    };
    let mut number = 0;
    while let Some(block) = section.next_block(&mut window)? {
        let at = window.offset();
        let bytes = &window.available()[..block.len];
        let record = section.interpret(&block, bytes, at)?;
        let text = record.as_ref().and_then(|_| {
            number += 1;
            comment(number)
        });
        match (text, record) {
            (Some(text), Some(record)) if block.kind == ENHANCED_PACKET => {
                let data_end = record.data.end.next_multiple_of(4);
                let big_endian = section.big_endian();
                into.write_all(&commented(bytes, data_end, &text, big_endian))?;
            }
            _ if block.kind == SECTION_HEADER => into.write_all(&unmeasured(bytes))?,
            _ => into.write_all(bytes)?,
        }
        window.advance(block.len);
    }
    Ok(())
}

/// Returns a section header without the section's length, because the length changes.
fn unmeasured(block: &[u8]) -> Vec<u8> {
    let mut out = block.to_vec();
    if let Some(length) = out.get_mut(16..24) {
        length.fill(0xff);
    }
    out
}

/// Returns the block with our comment before its own options.
fn commented(block: &[u8], data_end: usize, text: &str, big_endian: bool) -> Vec<u8> {
    let own_options = &block[data_end..block.len() - 4];
    let mut out = block[..data_end].to_vec();
    comment_option(&mut out, text, big_endian);
    match own_options.is_empty() {
        true => out.extend_from_slice(&[0; 4]),
        false => out.extend_from_slice(own_options),
    }
    let len = out.len() as u32 + 4;
    let len = match big_endian {
        true => len.to_be_bytes(),
        false => len.to_le_bytes(),
    };
    out[4..8].copy_from_slice(&len);
    out.extend_from_slice(&len);
    out
}
