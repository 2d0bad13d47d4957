//! A file that somebody gave to the page.

use std::io::{self, BufReader, Read};

use tinygram_diagnosis::Open;

use crate::host;

/// Reads a file by slices, from its beginning.
struct Slices {
    file: u32,
    at: u64,
}

impl Read for Slices {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = host::read(self.file, self.at, into)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Returns the file's octets from its beginning.
pub(crate) fn source(file: u32) -> impl Read + 'static {
    BufReader::with_capacity(SLICE, Slices { file, at: 0 })
}

/// Returns a function that opens the file.
pub(crate) fn open(file: u32) -> Open {
    Box::new(move || Ok(Box::new(source(file)) as Box<dyn Read>))
}

/// So many octets are asked for at once: a browser takes about as long for a slice of 1 kB.
const SLICE: usize = 1 << 20;
