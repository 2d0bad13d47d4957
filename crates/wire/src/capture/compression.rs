//! Recognizes gzip and zstd by content, and unpacks those that this build has.

use std::io::Read;

#[cfg(feature = "zstd")]
use super::zstd::Zstd;
use super::{CaptureError, window::Window};

/// Returns a window over the unpacked stream.
pub(super) fn open(source: Box<dyn Read>) -> Result<Window, CaptureError> {
    let mut window = Window::new(source);
    if !window.need(4)? {
        return Ok(window);
    }
    Ok(match *window.available() {
        #[cfg(feature = "gzip")]
        [0x1f, 0x8b, ..] => {
            Window::unpacked("gzip", Box::new(flate2::read::MultiGzDecoder::new(window)))
        }
        #[cfg(not(feature = "gzip"))]
        [0x1f, 0x8b, ..] => return Err(CaptureError::NotInThisBuild { packed: "gzip" }),
        #[cfg(feature = "zstd")]
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Window::unpacked("zstd", Box::new(Zstd::new(window))),
        #[cfg(not(feature = "zstd"))]
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            return Err(CaptureError::NotInThisBuild { packed: "zstd" });
        }
        _ => window,
    })
}
