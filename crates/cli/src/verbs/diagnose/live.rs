//! Standard input that Ctrl-C ends: what was read so far is still reported.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use crate::outcome::Failure;
use crate::stop;

/// Returns standard input as a stream that ends on Ctrl-C. A second Ctrl-C ends the program.
pub(super) fn stdin() -> Result<impl Read + 'static, Failure> {
    stop::listen()?;
    // A blocked read cannot be cancelled, so it has its own thread, which may stay blocked.
    let (into, chunks) = sync_channel(CHUNKS);
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let read = match stdin.read(&mut chunk) {
                Ok(0) => return,
                Ok(count) => Ok(chunk[..count].to_vec()),
                Err(error) => Err(error),
            };
            let failed = read.is_err();
            if into.send(read).is_err() || failed {
                return;
            }
        }
    });
    Ok(Stdin {
        chunks,
        chunk: Vec::new(),
        used: 0,
    })
}

struct Stdin {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    used: usize,
}

impl Read for Stdin {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.used == self.chunk.len() {
            match self.chunks.recv_timeout(PATIENCE) {
                Ok(chunk) => (self.chunk, self.used) = (chunk?, 0),
                Err(RecvTimeoutError::Timeout) if stop::is_asked() => return Ok(0),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
        let count = into.len().min(self.chunk.len() - self.used);
        into[..count].copy_from_slice(&self.chunk[self.used..self.used + count]);
        self.used += count;
        Ok(count)
    }
}

const CHUNK_BYTES: usize = 64 * 1024;
/// The most chunks that may wait, so that memory is bounded.
const CHUNKS: usize = 16;
/// How long after Ctrl-C the report may begin: the writer may have more to send meanwhile.
const PATIENCE: Duration = Duration::from_millis(200);
