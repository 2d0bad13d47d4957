//! How long a walk over this host's sockets takes, and a change of all of them: `sweep [CONNECTIONS]`.

use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::Instant;

use tinygram_host::hand::{Change, Did, Hand, Raw, SocketOption};

#[expect(clippy::disallowed_methods, reason = "what is measured is real time")]
fn main() -> ExitCode {
    let typed = std::env::args().nth(1).unwrap_or_else(|| "1000".to_owned());
    let Some(connections) = typed
        .parse()
        .ok()
        .filter(|count| (1..=10_000).contains(count))
    else {
        eprintln!("sweep: {typed}: accepted is a number of connections from 1 to 10000");
        return ExitCode::from(2);
    };
    let mut hand = match Hand::open() {
        Ok(hand) => hand,
        Err(lacking) => {
            eprintln!("sweep: {lacking}");
            return ExitCode::from(2);
        }
    };
    let opened = (0..connections).map(|_| {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let client = TcpStream::connect(listener.local_addr()?)?;
        Ok((client, listener.accept()?.0))
    });
    let opened: std::io::Result<Vec<_>> = opened.collect();
    let Ok(_opened) = opened else {
        eprintln!("sweep: not so many descriptors are allowed (ulimit -n)");
        return ExitCode::from(2);
    };
    for _ in 0..5 {
        let begun = Instant::now();
        let sockets = hand.sockets().expect("the walk was possible");
        let walked = begun.elapsed();
        let changes: Vec<_> = sockets
            .iter()
            .filter(|socket| !socket.listens())
            .map(|socket| Change {
                cookie: socket.cookie,
                to: Raw::of(1),
                only_if: None,
            })
            .collect();
        let begun = Instant::now();
        let outcomes = hand
            .set(SocketOption::Nodelay, &changes)
            .expect("it may be set");
        let set = begun.elapsed();
        let count = outcomes
            .iter()
            .filter(|outcome| outcome.did == Did::Set)
            .count();
        println!(
            "{} sockets listed in {walked:?}; {count} set in {set:?}",
            sockets.len()
        );
    }
    ExitCode::SUCCESS
}
