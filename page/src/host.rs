//! What the page does for the module.

use std::io::{self, Write};

#[link(wasm_import_module = "host")]
unsafe extern "C" {
    #[link_name = "read"]
    fn host_read(file: u32, at: f64, into: *mut u8, length: usize) -> i32;
    #[link_name = "write"]
    fn host_write(from: *const u8, length: usize);
    #[link_name = "say"]
    fn host_say(from: *const u8, length: usize);
}

/// Reads a slice of a file, at most `into.len()` octets from `at` on. Returns how many there were; 0 at
/// the end.
///
/// # Errors
/// If the browser cannot read the file: it was moved, changed or removed.
pub(crate) fn read(file: u32, at: u64, into: &mut [u8]) -> io::Result<usize> {
    let length = into.len().min(1 << 30);
    // SAFETY: the page writes at most `length` octets to `into`, which is at least as long.
    // A file has fewer octets than 2^53, so `at` is exact.
    let read = unsafe { host_read(file, at as f64, into.as_mut_ptr(), length) };
    usize::try_from(read).map_err(|_| io::Error::other("the browser cannot read it any more"))
}

/// Hands over a piece of what was asked for.
pub(crate) fn write(piece: &[u8]) {
    // SAFETY: the page reads `piece.len()` octets before it returns.
    unsafe { host_write(piece.as_ptr(), piece.len()) }
}

/// Says why something failed.
pub(crate) fn say(text: &str) {
    // SAFETY: the page reads `text.len()` octets before it returns.
    unsafe { host_say(text.as_ptr(), text.len()) }
}

/// Everything that is written here is handed over.
pub(crate) struct Out;

impl Write for Out {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        write(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
