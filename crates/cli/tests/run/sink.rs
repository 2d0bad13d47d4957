//! Accepts what the programs write and checks every octet.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Accepts connections, checks their frames and answers.
pub(crate) struct Sink {
    pub(crate) port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    open: AtomicUsize,
    closing: AtomicBool,
    /// The peer's port of the latest connection.
    latest: AtomicU16,
    /// For each stream that ended, whether its last frame came.
    ended: Mutex<Vec<bool>>,
    faults: Mutex<Vec<String>>,
}

impl Sink {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        // SAFETY: a longer queue for a listening socket of our own.
        unsafe { libc::listen(std::os::fd::AsRawFd::as_raw_fd(&listener), 4096) };
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for connection in listener.incoming() {
                if accepting.closing.load(SeqCst) {
                    break;
                }
                let connection = connection.unwrap();
                accepting.open.fetch_add(1, SeqCst);
                let peer = connection.peer_addr().map_or(0, |peer| peer.port());
                accepting.latest.store(peer, SeqCst);
                let shared = Arc::clone(&accepting);
                let mut connection = connection;
                let serving = move || {
                    shared.serve(&mut connection);
                    shared.open.fetch_sub(1, SeqCst);
                };
                thread::Builder::new()
                    .stack_size(256 * 1024)
                    .spawn(serving)
                    .unwrap();
            }
        });
        Self { port, shared }
    }

    /// Checks that all streams are whole, in order, and ended with their last frame.
    pub(crate) fn verdict(&self, scenario: &str) {
        // Connections are accepted in order: once this one is accepted, all of the program's are.
        let last = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let own = last.local_addr().unwrap().port();
        drop(last);
        let done = || self.shared.latest.load(SeqCst) == own && self.shared.open.load(SeqCst) == 0;
        // At most a minute, for a busy machine; most are done at once.
        for _ in 0..12_000 {
            if done() {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(
            self.shared.open.load(SeqCst),
            0,
            "{scenario}: connections never ended"
        );
        let faults = self.shared.faults.lock().unwrap();
        assert!(faults.is_empty(), "{scenario}: {faults:?}");
        let ended = self.shared.ended.lock().unwrap();
        assert!(!ended.is_empty(), "{scenario}: nothing arrived");
        // A thread cancelled during a write leaves its stream incomplete.
        assert!(
            scenario == "cancels" || ended.iter().all(|last| *last),
            "{scenario}: a stream lost its end"
        );
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.shared.closing.store(true, SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Shared {
    fn serve(&self, connection: &mut TcpStream) {
        connection.set_nodelay(true).unwrap();
        let mut streams = BTreeMap::new();
        let mut frames = 0_u32;
        while let Some(frame) = self.frame(connection) {
            frames += 1;
            let expected = streams.entry(frame.stream).or_insert((0_u32, false));
            if frame.sequence != expected.0 || expected.1 {
                self.fault(format!(
                    "stream {}: frame {} instead of {}",
                    frame.stream, frame.sequence, expected.0
                ));
                return;
            }
            *expected = (frame.sequence + 1, frame.flags & LAST != 0);
            if frame.flags & ANSWER != 0 && connection.write_all(&frames.to_le_bytes()).is_err() {
                break;
            }
        }
        self.ended
            .lock()
            .unwrap()
            .extend(streams.values().map(|(_, last)| *last));
    }

    fn frame(&self, connection: &mut TcpStream) -> Option<Frame> {
        let mut header = [0; 8];
        read_all(connection, &mut header)?;
        let [stream, flags, low, high, a, b, c, d] = header;
        let sequence = u32::from_le_bytes([a, b, c, d]);
        let mut payload = vec![0; usize::from(u16::from_le_bytes([low, high]))];
        read_all(connection, &mut payload)?;
        let base = u32::from(stream)
            .wrapping_mul(31)
            .wrapping_add(sequence.wrapping_mul(7));
        let wrong = (base..)
            .zip(&payload)
            .position(|(expected, byte)| expected as u8 != *byte);
        if let Some(at) = wrong {
            self.fault(format!(
                "stream {stream}: frame {sequence} is wrong at byte {at}"
            ));
            return None;
        }
        Some(Frame {
            stream,
            flags,
            sequence,
        })
    }

    fn fault(&self, what: String) {
        self.faults.lock().unwrap().push(what);
    }
}

struct Frame {
    stream: u8,
    flags: u8,
    sequence: u32,
}

const ANSWER: u8 = 1;
const LAST: u8 = 2;

fn read_all(connection: &mut TcpStream, buffer: &mut [u8]) -> Option<()> {
    match connection.read_exact(buffer) {
        Ok(()) => Some(()),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset
            ) =>
        {
            None
        }
        Err(error) => panic!("the sink's own socket failed: {error}"),
    }
}
