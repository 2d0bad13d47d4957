//! Ten thousand connections open at once, each with questions and answers, over a lossy line.
//!
//! The kernel's ends belong to a separate process, which is this program again, so that this
//! process's memory is that of the stack's ends alone.

use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use std::{env, io};

use libtest_mimic::Trial;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::common::{Stream, Troubles};
use crate::world::{Family, Line, World, kernel};
use crate::{long_or, trial};

/// Set for the process that has the kernel's ends: `asks ADDRESS COUNT` or `answers ADDRESS COUNT`.
const PEER: &str = "TINYGRAM_TEST_CROWD";
/// Questions of each connection, and their length in octets: its number, then octets that look
/// random.
const QUESTIONS: u64 = 10;
const QUESTION: usize = 100;
/// Answers have from 1 to this many octets.
const LONGEST_ANSWER: u64 = 3000;
/// Handshakes, and later questions, under way at once. The device's queue holds 4,096 packets; with
/// more than that in flight TCP backs off for minutes.
const AT_ONCE: usize = 512;

pub(crate) fn trials() -> Vec<Trial> {
    let with_losses = Line {
        troubles: Some(Troubles::ONE_PERCENT),
        ..Line::PLAIN
    };
    vec![
        trial("crowd/the-kernel-asks", move || async move {
            let world = World::new(with_losses);
            let crowd = Crowd::new();
            let listener =
                tinygram_stack::TcpListener::bind(&world.stack, world.stack(Family::V4, 7));
            let listener = listener.expect("a listener");
            let mut peer = Peer::start("asks", listener.local_addr(), crowd.count);
            let answered = Arc::new(AtomicU64::new(0));
            let all = Arc::clone(&answered);
            tokio::spawn(async move {
                loop {
                    let (stream, _) = listener.accept().await.expect("a connection");
                    let all = Arc::clone(&all);
                    tokio::spawn(async move {
                        let count = answer_all(stream).await.expect("a conversation");
                        assert_eq!(count, QUESTIONS);
                        all.fetch_add(count, Relaxed);
                    });
                }
            });
            peer = peer.says("open").await;
            crowd.state(&world, "open");
            peer = peer.tell("ask").says("answered").await;
            crowd.state(&world, "after the last answer");
            peer.tell("close").ends().await;
            // A lost FIN is sent again.
            while answered.load(Relaxed) < crowd.count * QUESTIONS {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }),
        trial("crowd/we-ask", move || async move {
            let world = World::new(with_losses);
            let crowd = Crowd::new();
            let address = world.kernel(Family::V6, 7007);
            let peer = Peer::start("answers", address, crowd.count);
            let peer = peer.says("listening").await;
            let stack = world.stack.clone();
            let open = move || {
                let stack = stack.clone();
                async move { tinygram_stack::TcpStream::connect(&stack, address).await }
            };
            let streams = open_all(crowd.count, open).await.expect("connections");
            crowd.state(&world, "open");
            let streams = ask_all(streams).await.expect("answers");
            crowd.state(&world, "after the last answer");
            drop(streams);
            peer.tell("close").ends().await;
        }),
    ]
}

/// Runs as the other process if it was started as that.
pub(crate) fn as_peer() -> Option<io::Result<()>> {
    let what = env::var(PEER).ok()?;
    let mut words = what.split(' ');
    let (verb, address, count) = (words.next()?, words.next()?, words.next()?);
    let address: SocketAddr = address.parse().expect("an address");
    let count = count.parse().expect("a number");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    Some(match verb {
        "asks" => runtime.block_on(kernel_asks(address, count)),
        _ => runtime.block_on(kernel_answers(address)),
    })
}

async fn kernel_asks(address: SocketAddr, count: u64) -> io::Result<()> {
    let open = move || tokio::net::TcpStream::connect(address);
    let streams = open_all(count, open).await?;
    say("open");
    hear();
    let streams = ask_all(streams).await?;
    say("answered");
    hear();
    drop(streams);
    Ok(())
}

async fn kernel_answers(address: SocketAddr) -> io::Result<()> {
    let socket = tokio::net::TcpSocket::new_v6()?;
    socket.bind(address)?;
    let listener = socket.listen(4096)?;
    say("listening");
    let serve = async {
        loop {
            let (stream, _) = listener.accept().await?;
            tokio::spawn(async move { answer_all(stream).await.expect("a conversation") });
        }
    };
    tokio::select! {
        failed = serve => failed,
        ended = tokio::task::spawn_blocking(hear) => Ok(ended?),
    }
}

fn say(word: &str) {
    println!("{word}");
    io::stdout().flush().expect("somebody listens");
}

fn hear() {
    io::stdin()
        .lock()
        .read_line(&mut String::new())
        .expect("a word");
}

/// Opens this many connections; all are established when it returns.
async fn open_all<S: Send + 'static, F>(
    count: u64,
    open: impl Fn() -> F + Send + Sync + 'static,
) -> io::Result<Vec<S>>
where
    F: Future<Output = io::Result<S>> + Send + 'static,
{
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut opening = JoinSet::new();
    for _ in 0..count {
        let (turns, opens) = (Arc::clone(&turns), open());
        opening.spawn(async move {
            let _turn = turns.acquire().await.expect("open for ever");
            opens.await
        });
    }
    opening.join_all().await.into_iter().collect()
}

/// Asks all questions, one of each connection in turn.
async fn ask_all<S>(streams: Vec<S>) -> io::Result<Vec<S>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut talks = JoinSet::new();
    for (number, mut stream) in (0..).zip(streams) {
        let turns = Arc::clone(&turns);
        talks.spawn(async move {
            for turn in 0..QUESTIONS {
                // A connection that has asked goes to the end of the queue.
                let _turn = turns.acquire().await.expect("open for ever");
                let asked = question(number, turn);
                stream.write_all(&asked).await?;
                stream.flush().await?;
                let mut came = answer(&asked);
                let right = came.clone();
                stream.read_exact(&mut came).await?;
                assert!(came == right, "answer {turn} of connection {number}");
            }
            Ok(stream)
        });
    }
    talks.join_all().await.into_iter().collect()
}

/// Answers until the peer has no more questions; returns how many there were.
async fn answer_all(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<u64> {
    let mut asked = [0; QUESTION];
    let mut count = 0;
    loop {
        match stream.read_exact(&mut asked).await {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(error),
        }
        let number = u64::from_ne_bytes(asked[..8].try_into().expect("eight octets"));
        assert!(asked[..] == question(number, count)[..], "a question");
        stream.write_all(&answer(&asked)).await?;
        stream.flush().await?;
        count += 1;
    }
    stream.shutdown().await?;
    Ok(count)
}

fn question(number: u64, turn: u64) -> Vec<u8> {
    let mut octets = vec![0; QUESTION];
    Stream::new(number * QUESTIONS + turn + 1, QUESTION as u64).fill(&mut octets);
    octets[..8].copy_from_slice(&number.to_ne_bytes());
    octets
}

/// Returns the answer to a question.
fn answer(asked: &[u8]) -> Vec<u8> {
    let seed = u64::from_ne_bytes(asked[QUESTION - 8..].try_into().expect("eight octets"));
    let len = 1 + seed % LONGEST_ANSWER;
    let mut octets = vec![0; len as usize];
    Stream::new(seed, len).fill(&mut octets);
    octets
}

/// The number of connections, and the memory this process used before there were any.
struct Crowd {
    count: u64,
    before: u64,
}

impl Crowd {
    fn new() -> Self {
        Self {
            count: long_or(10_000, 300),
            before: allocated(),
        }
    }

    /// Prints what the connections take; all of them must be established.
    fn state(&self, world: &World, when: &str) {
        assert_eq!(world.stack.connections() as u64, self.count, "{when}");
        let each = |octets: u64| octets / self.count;
        eprintln!(
            "{} connections, {when}: each takes {} octets of memory, {} of them its buffers",
            self.count,
            each(allocated().saturating_sub(self.before)),
            each(world.stack.allocated() as u64),
        );
    }
}

/// Returns the octets of memory that this process has allocated and not freed, whatever the
/// allocator keeps.
#[cfg(target_env = "gnu")]
fn allocated() -> u64 {
    // SAFETY: it reads the allocator's counters, under its locks.
    let counted = unsafe { libc::mallinfo2() };
    (counted.uordblks + counted.hblkhd) as u64
}

/// Other C libraries do not report this.
#[cfg(not(target_env = "gnu"))]
fn allocated() -> u64 {
    0
}

/// The other process.
struct Peer {
    process: Child,
    stdin: ChildStdin,
    stdout: io::BufReader<ChildStdout>,
}

impl Peer {
    fn start(verb: &str, address: SocketAddr, count: u64) -> Self {
        let mut process = Command::new(env::current_exe().expect("this program"))
            .env(PEER, format!("{verb} {address} {count}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program again");
        Self {
            stdin: process.stdin.take().expect("piped"),
            stdout: io::BufReader::new(process.stdout.take().expect("piped")),
            process,
        }
    }

    fn tell(mut self, word: &str) -> Self {
        writeln!(self.stdin, "{word}").expect("the peer listens");
        self
    }

    /// Waits until it prints `word`.
    async fn says(mut self, word: &'static str) -> Self {
        kernel(move || {
            let mut line = String::new();
            self.stdout.read_line(&mut line).expect("a line");
            assert_eq!(line.trim_end(), word);
            self
        })
        .await
    }

    async fn ends(mut self) {
        let ended = kernel(move || self.process.wait().expect("it ends")).await;
        assert!(ended.success(), "{ended}");
    }
}
