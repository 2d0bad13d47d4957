//! Serves one text over HTTP to clients of which any may be slow, silent or hostile.
//!
//! Each connection has a thread, an answer and a deadline. If there are too many, the oldest gives way: who waits with
//! half a request keeps nobody out. `httparse` reads the request, of which there is a most.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The text that is served.
#[derive(Clone)]
pub(super) struct Page(Arc<Mutex<Arc<str>>>);

impl Page {
    pub(super) fn new(text: &str) -> Self {
        Self(Arc::new(Mutex::new(text.into())))
    }

    pub(super) fn renew(&self, text: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = text.into();
    }

    fn text(&self) -> Arc<str> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What a client may take.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// The longest time from the connection's beginning to its end.
    pub(super) deadline: Duration,
    /// The most connections at once.
    pub(super) connections: usize,
    /// The longest request line with all headers, in octets.
    pub(super) head: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(5),
            connections: 32,
            head: 8 * 1024,
        }
    }
}

/// Answers the clients of `listener` from now on.
pub(super) fn serve(listener: TcpListener, page: Page, bounds: Bounds) {
    std::thread::spawn(move || {
        let open = Open::default();
        for connection in listener.incoming() {
            let begun = connection.and_then(|connection| begin(connection, &open, &page, bounds));
            if begun.is_err() {
                // No descriptor or no thread is free: one may be soon.
                std::thread::sleep(PAUSE);
            }
        }
    });
}

/// Gives a connection a thread.
fn begin(connection: TcpStream, open: &Open, page: &Page, bounds: Bounds) -> io::Result<()> {
    let number = open.enter(connection.try_clone()?, bounds.connections);
    let (leaves, page) = (open.clone(), page.clone());
    let spawned = std::thread::Builder::new().spawn(move || {
        // A client that disconnects early, or is too slow, is no error.
        let _ = answer(&connection, &page, bounds);
        let _ = connection.shutdown(Shutdown::Both);
        leaves.leave(number);
    });
    spawned.map(drop).inspect_err(|_| open.leave(number))
}

/// The open connections, the oldest first.
#[derive(Clone, Default)]
struct Open(Arc<Mutex<Connections>>);

#[derive(Default)]
struct Connections {
    entered: u64,
    open: VecDeque<(u64, TcpStream)>,
}

impl Open {
    /// Enters a connection, and closes the oldest if there are more than `most`. Returns its number.
    fn enter(&self, connection: TcpStream, most: usize) -> u64 {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entered += 1;
        let number = all.entered;
        all.open.push_back((number, connection));
        if all.open.len() > most
            && let Some((_, oldest)) = all.open.pop_front()
        {
            // Its thread wakes up and ends.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        number
    }

    fn leave(&self, number: u64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.open.retain(|(known, _)| *known != number);
    }
}

/// Reads one request and answers it.
fn answer(connection: &TcpStream, page: &Page, bounds: Bounds) -> io::Result<()> {
    #[expect(
        clippy::disallowed_methods,
        reason = "how long a client takes is real time"
    )]
    let mut patient = Patient {
        connection,
        ends: Instant::now() + bounds.deadline,
    };
    let request = request(&mut patient, bounds.head)?;
    let text;
    let (status, also, body) = match request {
        Request::Page { .. } => {
            text = page.text();
            ("200 OK", "", &*text)
        }
        Request::Elsewhere => ("404 Not Found", "", "only /metrics is here\n"),
        Request::OtherMethod => (
            "405 Method Not Allowed",
            "Allow: GET, HEAD\r\n",
            "only GET and HEAD are answered\n",
        ),
        Request::TooLong => (
            "431 Request Header Fields Too Large",
            "",
            "the request is too long\n",
        ),
        Request::Malformed => ("400 Bad Request", "", "this is not HTTP\n"),
    };
    let kind = match request {
        Request::Page { .. } => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        _ => "text/plain; charset=utf-8",
    };
    let mut answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{also}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    if !matches!(request, Request::Page { only_head: true }) {
        answer += body;
    }
    // In a single write.
    patient.write_all(answer.as_bytes())
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    Page { only_head: bool },
    Elsewhere,
    OtherMethod,
    TooLong,
    Malformed,
}

/// Reads a request line with its headers, at most `most` octets.
fn request(from: &mut impl Read, most: usize) -> io::Result<Request> {
    let mut octets = Vec::new();
    let mut chunk = [0; 1024];
    loop {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&octets) {
            Ok(httparse::Status::Complete(_)) => {
                return Ok(asked(
                    request.method.unwrap_or(""),
                    request.path.unwrap_or(""),
                ));
            }
            Ok(httparse::Status::Partial) if octets.len() >= most => return Ok(Request::TooLong),
            Ok(httparse::Status::Partial) => {}
            Err(httparse::Error::TooManyHeaders) => return Ok(Request::TooLong),
            Err(_) => return Ok(Request::Malformed),
        }
        let room = chunk.len().min(most - octets.len());
        match from.read(&mut chunk[..room])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => octets.extend_from_slice(&chunk[..count]),
        }
    }
}

fn asked(method: &str, path: &str) -> Request {
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    match (method, path) {
        ("GET" | "HEAD", "/metrics" | "/") => Request::Page {
            only_head: method == "HEAD",
        },
        ("GET" | "HEAD", _) => Request::Elsewhere,
        _ => Request::OtherMethod,
    }
}

/// A connection that is given up at its deadline, however it makes progress until then.
struct Patient<'a> {
    connection: &'a TcpStream,
    ends: Instant,
}

impl Patient<'_> {
    #[expect(
        clippy::disallowed_methods,
        reason = "how long a client takes is real time"
    )]
    fn left(&self) -> io::Result<Option<Duration>> {
        match self.ends.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
            left => Ok(Some(left)),
        }
    }
}

impl Read for Patient<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.connection.set_read_timeout(self.left()?)?;
        self.connection.read(into)
    }
}

impl Write for Patient<'_> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.connection.set_write_timeout(self.left()?)?;
        self.connection.write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.connection.flush()
    }
}

const MOST_HEADERS: usize = 64;
/// How long to wait for a descriptor or a thread.
const PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    const TEXT: &str = "a_total 1\n# EOF\n";

    /// Returns the address of a server with these bounds.
    fn server(bounds: Bounds) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        serve(listener, Page::new(TEXT), bounds);
        address
    }

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut connection = TcpStream::connect(address).expect("it listens");
        let patience = Some(Duration::from_secs(20));
        connection.set_read_timeout(patience).expect("an option");
        connection.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        // What was sent and not read resets the connection after the answer.
        let _ = connection.read_to_string(&mut answer);
        answer
    }

    fn scrape(address: SocketAddr) -> String {
        ask(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    }

    #[expect(clippy::disallowed_methods, reason = "what is tested is real time")]
    fn now() -> Instant {
        Instant::now()
    }

    /// Twelve that say nothing, one that sends an octet at a time, and more than are let in.
    #[test]
    fn idle_and_slow_clients_delay_no_scrape() {
        let bounds = Bounds {
            deadline: Duration::from_secs(30),
            connections: 16,
            ..Bounds::default()
        };
        let address = server(bounds);
        let connect = |_| TcpStream::connect(address).expect("it listens");
        let idle: Vec<_> = (0..12).map(connect).collect();
        let mut drips = connect(12);
        let drip = std::thread::spawn(move || {
            for octet in "GET /metrics HTTP/1.1\r\n".bytes().cycle().take(400) {
                if drips.write_all(&[octet]).is_err() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let begun = now();
        assert!(scrape(address).ends_with(TEXT));
        let many: Vec<_> = (0..200).map(connect).collect();
        assert!(scrape(address).ends_with(TEXT));
        // Far below the deadline.
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "{:?}",
            begun.elapsed()
        );
        drop((idle, many));
        drip.join().expect("it ends");
    }

    #[test]
    fn who_sends_an_octet_now_and_then_is_given_up_at_the_deadline() {
        let bounds = Bounds {
            deadline: Duration::from_millis(500),
            ..Bounds::default()
        };
        let mut drips = TcpStream::connect(server(bounds)).expect("it listens");
        let begun = now();
        while drips.write_all(b"G").is_ok() && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "{:?}",
            begun.elapsed()
        );
    }

    #[test]
    fn a_request_is_bounded() {
        let address = server(Bounds::default());
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(100_000));
        let answer = ask(address, &long);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 431 "),
            "{answer}"
        );
        let whole = format!("GET /metrics HTTP/1.1\r\n{}", "A: b\r\n".repeat(65));
        assert!(ask(address, &whole).starts_with("HTTP/1.1 431 "));
        let exactly = "a".repeat(Bounds::default().head);
        assert!(ask(address, &exactly).starts_with("HTTP/1.1 431 "));
    }

    #[test]
    fn head_is_the_answer_to_get_without_its_body() {
        let address = server(Bounds::default());
        let get = scrape(address);
        let head = ask(address, "HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(get.starts_with("HTTP/1.1 200 OK\r\n"), "{get}");
        assert_eq!(get, head.clone() + TEXT);
        assert!(
            head.contains(&format!("Content-Length: {}\r\n", TEXT.len())),
            "{head}"
        );
    }

    #[test]
    fn what_is_not_understood_is_said() {
        let address = server(Bounds::default());
        for (request, status) in [
            ("GET /other HTTP/1.1\r\n\r\n", "404"),
            ("GET /metricsx HTTP/1.1\r\n\r\n", "404"),
            ("GET /metrics?name=a HTTP/1.0\r\n\r\n", "200"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("\x16\x03\x01 nonsense\r\n\r\n", "400"),
        ] {
            let answer = ask(address, request);
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status} ")),
                "{request:?}: {answer}"
            );
        }
    }
}
