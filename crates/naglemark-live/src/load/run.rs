//! A trial under load: both ends' threads are started, counted and ended.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use tinygram_engine::Instant;
use tinygram_link::{priority, processors};
use tinygram_naglemark::Duration;
use tinygram_naglemark::load::program::LoadThread;
use tinygram_naglemark::load::{EndWork, LoadTaken, LoadTrial, Server};

use super::clock::{now, sleep_until};
use super::compute::Computing;
use super::count;
use super::thread::{Live, Ran};

/// A trial with its connections, the client's and the server's in the same order.
pub(super) struct Run<'a> {
    pub(super) trial: &'a LoadTrial,
    pub(super) connections: [Arc<Vec<TcpStream>>; 2],
    /// Whether an end's programs set TCP_QUICKACK before each read.
    pub(super) quickack: [bool; 2],
    pub(super) computing: Computing,
    pub(super) processors: [Option<usize>; 2],
}

/// A thread that was started. It stays until this is dropped, so that its clock can be read.
struct Started {
    thread: JoinHandle<()>,
    result: Receiver<io::Result<Ran>>,
    stay: Sender<()>,
}

/// Ends the server's threads when it is dropped.
struct Ending {
    stop: Arc<AtomicBool>,
    connections: Arc<Vec<TcpStream>>,
}

impl Run<'_> {
    /// Runs both ends, and looks at their counters when the measured time begins and when it ends.
    pub(super) fn taken(&self) -> io::Result<LoadTaken> {
        let trial = self.trial;
        let begins = now() + BEFORE;
        let ending = Ending {
            stop: Arc::new(AtomicBool::new(false)),
            connections: self.connections[0].clone(),
        };
        let live = |end: usize, until| Live {
            connections: self.connections[end].clone(),
            begins,
            until,
            sets_quickack: self.quickack[end],
            sleeps_in_calls: end == SERVER && trial.programs.server == Server::ThreadEach,
            computing: self.computing,
            stop: ending.stop.clone(),
        };
        let server = LoadThread::of_server(trial).into_iter();
        let server: Vec<Started> = server
            .map(|program| self.start(SERVER, live(SERVER, None), program))
            .collect::<io::Result<_>>()?;
        let until = trial.warmup + trial.window + trial.patience;
        let client = live(CLIENT, Some(Instant::ZERO + until));
        let client = self.start(CLIENT, client, LoadThread::of_client(trial))?;
        let clients = [&client.thread];
        let servers: Vec<_> = server.iter().map(|it| &it.thread).collect();
        let work = |at: Duration| -> io::Result<[EndWork; 2]> {
            sleep_until(begins + at);
            let [own, peers] = &self.connections;
            Ok([count::work(&clients, own)?, count::work(&servers, peers)?])
        };
        // Both processors may be full.
        let looking = || -> io::Result<[[EndWork; 2]; 2]> {
            priority::raise_above();
            Ok([work(trial.warmup)?, work(trial.warmup + trial.window)?])
        };
        let looked = std::thread::scope(|scope| scope.spawn(looking).join());
        let [before, after] = looked.map_err(|_| io::Error::other(PANICKED))??;
        let Ran { program, ended } = client.ended()?;
        drop(ending);
        for thread in server {
            thread.ended()?;
        }
        Ok(LoadTaken {
            answers: program.answers().to_vec(),
            unanswered: program.unanswered(ended),
            work: [CLIENT, SERVER].map(|end| after[end].since(before[end])),
        })
    }

    fn start(&self, end: usize, live: Live, program: LoadThread) -> io::Result<Started> {
        let processor = self.processors[end];
        let (done, result) = channel();
        let (stay, stays) = channel::<()>();
        let thread = std::thread::Builder::new()
            .name(["client", "server"][end].into())
            .spawn(move || {
                // On its own processor it delays the other end in nothing, and no other program delays it.
                if let Some(processor) = processor {
                    processors::keep_to(processor);
                    priority::raise();
                }
                let _ = done.send(live.run(program));
                let _ = stays.recv();
            })?;
        Ok(Started {
            thread,
            result,
            stay,
        })
    }
}

impl Started {
    /// Waits for what the thread did.
    fn ended(self) -> io::Result<Ran> {
        let result = self.result.recv();
        drop(self.stay);
        let joined = self.thread.join();
        match (result, joined) {
            (Ok(ran), Ok(())) => ran,
            _ => Err(io::Error::other(PANICKED)),
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for connection in self.connections.iter() {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

const PANICKED: &str = "a thread panicked";
const CLIENT: usize = 0;
const SERVER: usize = 1;
/// Enough for all threads to have started.
const BEFORE: Duration = Duration::from_millis(5);
