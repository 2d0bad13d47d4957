//! Unpacks zstd.

use std::io::Read;

use super::window::Window;

/// Reads several zstd frames one after another, as `zstd` and log rotation write them.
pub(super) struct Zstd {
    frame: Option<ruzstd::decoding::StreamingDecoder<Window, ruzstd::decoding::FrameDecoder>>,
    packed: Option<Window>,
}

impl Zstd {
    pub(super) fn new(packed: Window) -> Self {
        Self {
            frame: None,
            packed: Some(packed),
        }
    }
}

impl Read for Zstd {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                let read = frame.read(into)?;
                if read > 0 || into.is_empty() {
                    return Ok(read);
                }
                self.packed = self
                    .frame
                    .take()
                    .map(ruzstd::decoding::StreamingDecoder::into_inner);
            }
            let Some(mut packed) = self.packed.take() else {
                return Ok(0);
            };
            if packed.at_end().map_err(std::io::Error::other)? {
                self.packed = Some(packed);
                return Ok(0);
            }
            check_zstd_window(&mut packed)?;
            self.frame = Some(
                ruzstd::decoding::StreamingDecoder::new(packed).map_err(std::io::Error::other)?,
            );
        }
    }
}

/// Refuses a frame of zstd that would make the decoder keep more than [`ZSTD_WINDOW_LIMIT`] in memory. A header that is
/// cut off is left to the decoder.
fn check_zstd_window(packed: &mut Window) -> std::io::Result<()> {
    packed.need(ZSTD_HEADER).map_err(std::io::Error::other)?;
    match zstd_window(packed.available()) {
        Some(window) if window > ZSTD_WINDOW_LIMIT => Err(std::io::Error::other(format!(
            "it asks for a zstd window of {} MiB (accepted: up to {} MiB)",
            window >> 20,
            ZSTD_WINDOW_LIMIT >> 20
        ))),
        _ => Ok(()),
    }
}

/// Returns the window that a frame's header asks for, in octets (RFC 8878, section 3.1.1.1).
fn zstd_window(header: &[u8]) -> Option<u64> {
    let [0x28, 0xb5, 0x2f, 0xfd, descriptor, rest @ ..] = header else {
        return None;
    };
    let is_single_segment = descriptor & 0x20 != 0;
    if !is_single_segment {
        let window = rest.first()?;
        let base = 1_u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    // All of the content is the window then. Its size stands behind the dictionary's number.
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let (size, added) = [(1, 0), (2, 256), (4, 0), (8, 0)][usize::from(descriptor >> 6)];
    let field = rest.get(dictionary..dictionary + size)?;
    let little_endian = field.iter().rev();
    Some(little_endian.fold(0, |sum, octet| (sum << 8) | u64::from(*octet)) + added)
}

/// The longest header of a frame, in octets.
const ZSTD_HEADER: usize = 4 + 1 + 1 + 4 + 8;
/// What the program zstd accepts without `--long` or `--memory` (`ZSTD_WINDOWLOG_LIMIT_DEFAULT`).
const ZSTD_WINDOW_LIMIT: u64 = 128 << 20;
