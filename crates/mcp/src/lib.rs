#![doc = include_str!("../README.md")]
//!
//! A call's road: what is asked becomes a command (`tools`), the command runs as a process (`run`), its document
//! (`documents`) becomes an answer, which is cut to a small one (`shelf`). Files are opened here and handed to the
//! process (`root`); text that others chose is escaped and marked (`untrusted`).

mod changes;
mod documents;
mod host;
mod lines;
mod message;
mod refusal;
mod root;
mod run;
mod schemas;
mod server;
mod shelf;
mod tools;
mod untrusted;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use tokio_util::sync::CancellationToken;

use changes::Changes;
use host::Host;
use lines::Lines;
use root::Roots;
use run::Program;
use server::Server;
use shelf::Shelf;

/// What the server may do.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The program whose verbs the tools are.
    pub program: PathBuf,
    /// The folders whose files may be read.
    pub roots: Vec<PathBuf>,
    /// How large a file may be, in octets.
    pub most_octets: u64,
    /// The kinds of findings that `diagnose` names.
    pub kinds: Vec<&'static str>,
    /// How long a call may take.
    pub longest: Duration,
    /// What may be changed; `None`: nothing.
    pub allowed: Option<Allowed>,
}

/// What may be changed.
#[derive(Clone, Debug)]
pub struct Allowed {
    /// The targets, as `tinygram set` takes them.
    pub targets: Vec<String>,
    /// What their sockets may be given, as `tinygram set` takes it: `nodelay=on`.
    pub settings: Vec<String>,
    /// How long a change may last.
    pub longest: Duration,
    /// The folder of the journal.
    pub journal: PathBuf,
}

/// Why there is no server, or no longer one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A limit makes no sense: one line that says what is accepted.
    #[error("{0}")]
    Limits(String),
    /// The client did not speak the protocol.
    #[error("standard input is not a client of the Model Context Protocol: {0}")]
    Client(String),
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Serves a client on standard input and output until the client closes it, or a signal asks to end; what was changed is
/// put back then. Returns whether a signal ended it.
///
/// # Errors
///
/// A limit makes no sense, or what is on standard input is no client.
pub fn serve(limits: Limits) -> Result<bool, Error> {
    let host = Host {
        roots: Roots::new(&limits.roots, limits.most_octets).map_err(Error::Limits)?,
        program: Program::new(limits.program, limits.longest),
        shelf: Shelf::default(),
        kinds: limits.kinds,
        changes: limits.allowed.map(Changes::new),
    };
    // One thread: the processes that it starts end with the thread that started them.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let served = runtime.block_on(until_the_end(Arc::new(host)));
    // A read of standard input may stay blocked.
    runtime.shutdown_background();
    served
}

async fn until_the_end(host: Arc<Host>) -> Result<bool, Error> {
    let end = CancellationToken::new();
    let (input, output) = rmcp::transport::stdio();
    let transport = Lines::new(input, output);
    let server = Server::new(host.clone(), end.clone());
    let mut signalled = Box::pin(signal());
    let served = async {
        let running = match server.serve(transport).await {
            Ok(running) => running,
            // A client that goes before it has said anything.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(Error::Client(first_line(&error.to_string()))),
        };
        let _ = running.waiting().await;
        Ok(())
    };
    let ended = tokio::select! {
        ended = served => ended.map(|()| false),
        () = &mut signalled => Ok(true),
    };
    end.cancel();
    if let Some(changes) = &host.changes {
        changes.put_all_back().await;
    }
    ended
}

/// Waits for a signal that asks to end.
#[cfg(unix)]
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let asked = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ]
    .map(signal);
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = asked else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}

#[cfg(not(unix))]
async fn signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn first_line(text: &str) -> String {
    untrusted::escaped(text.lines().next().unwrap_or_default(), MOST_OF_A_LINE)
}

/// Returns the system's message without its number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ")
        .next()
        .unwrap_or_default()
        .to_owned()
}

const MOST_OF_A_LINE: usize = 200;
