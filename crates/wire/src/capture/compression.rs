//! Unpacks gzip and zstd, which it recognizes by content.

use std::io::Read;

use super::{CaptureError, window::Window};

/// Returns a window over the unpacked stream.
pub(super) fn open(source: Box<dyn Read>) -> Result<Window, CaptureError> {
    let mut window = Window::new(source);
    if !window.need(4)? {
        return Ok(window);
    }
    Ok(match *window.available() {
        [0x1f, 0x8b, ..] => Window::new(Box::new(flate2::read::MultiGzDecoder::new(window))),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Window::new(Box::new(Zstd::new(window))),
        _ => window,
    })
}

/// Reads several zstd frames one after another, as `zstd` and log rotation write them.
struct Zstd {
    frame: Option<ruzstd::decoding::StreamingDecoder<Window, ruzstd::decoding::FrameDecoder>>,
    packed: Option<Window>,
}

impl Zstd {
    fn new(packed: Window) -> Self {
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
            self.frame = Some(
                ruzstd::decoding::StreamingDecoder::new(packed).map_err(std::io::Error::other)?,
            );
        }
    }
}
