//! What the tests of `cure` and `whatif` share: a server that stalls.
#![allow(dead_code, reason = "each test file uses a part")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A server that answers in two writes, and a client that takes the time of each turn by its own clock.
pub(crate) struct Service {
    pub(crate) port: u16,
    pub(crate) server: TcpStream,
    /// Who listens is the server.
    pub(crate) listener: TcpListener,
    is_over: Arc<AtomicBool>,
    turns_ms: Arc<Mutex<Vec<f64>>>,
    threads: Vec<JoinHandle<()>>,
    pub(crate) journal: TempDir,
}

impl Service {
    #[expect(clippy::disallowed_methods, reason = "a client's own clock")]
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let server = listener.accept().unwrap().0;
        let is_over = Arc::new(AtomicBool::new(false));
        let turns_ms = Arc::new(Mutex::new(Vec::new()));
        let (over, turns) = (Arc::clone(&is_over), Arc::clone(&turns_ms));
        let asks = std::thread::spawn(move || {
            let mut answer = [0; 300];
            while !over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                client.write_all(&[b'q'; 50]).unwrap();
                client.read_exact(&mut answer).unwrap();
                turns
                    .lock()
                    .unwrap()
                    .push(begun.elapsed().as_secs_f64() * 1e3);
                // Thinks, so that the test leaves the machine to others.
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let mut end = server.try_clone().unwrap();
        let answers = std::thread::spawn(move || {
            let mut request = [0; 50];
            while end.read_exact(&mut request).is_ok() {
                end.write_all(&[b'h'; 100]).unwrap();
                end.write_all(&[b'b'; 200]).unwrap();
            }
        });
        Self {
            port,
            server,
            listener,
            is_over,
            turns_ms,
            threads: vec![asks, answers],
            journal: tempfile::tempdir().unwrap(),
        }
    }

    /// Runs a verb with a journal of the service's own.
    pub(crate) fn tinygram(&self, verb: &str, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
        command.arg(verb).args(words);
        command
            .arg("--journal")
            .arg(self.journal.path().join("state"));
        command.output().unwrap()
    }

    /// Returns the median of the turns of the next two seconds, in milliseconds.
    pub(crate) fn median(&self) -> f64 {
        self.turns_ms.lock().unwrap().clear();
        std::thread::sleep(Duration::from_secs(2));
        let mut turns = self.turns_ms.lock().unwrap().clone();
        turns.sort_by(f64::total_cmp);
        turns[turns.len() / 2]
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
