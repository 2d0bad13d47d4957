//! Sends requests to a collector over HTTP, in a thread of its own, so that a slow collector delays nothing.
//!
//! Only the newest request waits: each has everything since the beginning.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prost::Message;

use super::message::Response;

/// What became of the requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    /// Requests that a collector took.
    pub(super) exports: u64,
    /// Requests that a newer one replaced before a collector took them.
    pub(super) replaced: u64,
    /// Attempts that failed.
    pub(super) failed: u64,
    /// Points that the collector did not accept.
    pub(super) rejected: u64,
    /// Findings in the last request that was taken.
    pub(super) delivered: u64,
    /// Why the last attempt failed, if it did.
    pub(super) wrong: Option<String>,
}

/// The sending thread.
pub(super) struct Sender {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: Option<Body>,
    /// When the thread must end, if it is to.
    ends: Option<Instant>,
    has_ended: bool,
    told: Told,
}

struct Body {
    octets: Vec<u8>,
    findings: u64,
}

enum Outcome {
    Taken {
        rejected: u64,
        said: Option<String>,
    },
    /// To be tried again, after a time if the collector named one.
    Again(Option<Duration>, String),
    Refused(String),
}

impl Sender {
    pub(super) fn start(url: String) -> std::io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("otlp".to_owned());
        thread.spawn(move || {
            run(&of_thread, &url);
            of_thread.lock().has_ended = true;
            of_thread.changed.notify_all();
        })?;
        Ok(Self { shared })
    }

    /// Returns what became of the requests so far.
    pub(super) fn told(&self) -> Told {
        self.shared.lock().told.clone()
    }

    /// Hands a request over; one that still waits is replaced.
    pub(super) fn give(&self, octets: Vec<u8>, findings: u64) {
        let mut state = self.shared.lock();
        if state.waiting.replace(Body { octets, findings }).is_some() {
            state.told.replaced += 1;
        }
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Waits until the last request is taken or given up, and returns what became of all.
    pub(super) fn end(self) -> Told {
        let ends = now() + LAST;
        let until = ends + TO_SAY_WHY;
        let mut state = self.shared.lock();
        state.ends = Some(ends);
        self.shared.changed.notify_all();
        // Not for the thread: an attempt that it began before may go on for longer.
        while !state.has_ended {
            let left = until.saturating_duration_since(now());
            if left.is_zero() {
                break;
            }
            let woken = self.shared.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        let mut told = state.told.clone();
        if !state.has_ended {
            told.wrong.get_or_insert_with(|| NO_ANSWER.to_owned());
        }
        told
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn run(shared: &Shared, url: &str) {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .user_agent(concat!("tinygram/", env!("CARGO_PKG_VERSION")))
        .build();
    let agent = ureq::Agent::new_with_config(config);
    let mut pause = FIRST_PAUSE;
    while let Some((body, patience)) = next(shared) {
        let outcome = send(&agent, url, &body.octets, patience);
        let mut state = shared.lock();
        match outcome {
            Outcome::Taken { rejected, said } => {
                state.told.exports += 1;
                state.told.rejected += rejected;
                state.told.delivered = body.findings;
                state.told.wrong = said;
                pause = FIRST_PAUSE;
            }
            Outcome::Refused(why) => {
                state.told.failed += 1;
                state.told.wrong = Some(why);
            }
            Outcome::Again(after, why) => {
                state.told.failed += 1;
                state.told.wrong = Some(why);
                // A newer request has what this one has.
                match state.waiting.is_some() {
                    true => state.told.replaced += 1,
                    false => state.waiting = Some(body),
                }
                let length = after.unwrap_or(pause).min(LONGEST_PAUSE);
                pause = (pause * 2).min(LONGEST_PAUSE);
                if !rest(shared, state, length) {
                    return;
                }
            }
        }
    }
}

/// Returns the next request and how long it may take; `None` at the end.
fn next(shared: &Shared) -> Option<(Body, Duration)> {
    let mut state = shared.lock();
    loop {
        let left = state.ends.map(|ends| ends.saturating_duration_since(now()));
        if left == Some(Duration::ZERO) {
            return None;
        }
        if let Some(body) = state.waiting.take() {
            return Some((body, left.map_or(PATIENCE, |left| left.min(PATIENCE))));
        }
        if left.is_some() {
            return None;
        }
        let woken = shared.changed.wait(state);
        state = woken.unwrap_or_else(PoisonError::into_inner);
    }
}

/// Waits before another attempt; returns whether there may be one.
fn rest(shared: &Shared, mut state: MutexGuard<'_, State>, length: Duration) -> bool {
    let until = now() + length;
    loop {
        let most = state.ends.map_or(until, |ends| until.min(ends));
        let left = most.saturating_duration_since(now());
        if left.is_zero() {
            return state.ends.is_none_or(|ends| until < ends);
        }
        let woken = shared.changed.wait_timeout(state, left);
        state = woken.unwrap_or_else(PoisonError::into_inner).0;
    }
}

fn send(agent: &ureq::Agent, url: &str, octets: &[u8], patience: Duration) -> Outcome {
    let request = agent
        .post(url)
        .config()
        .timeout_global(Some(patience))
        .build();
    let request = request.header("Content-Type", "application/x-protobuf");
    let mut response = match request.send(octets) {
        Ok(response) => response,
        Err(ureq::Error::Timeout(_)) => return Outcome::Again(None, NO_ANSWER.to_owned()),
        Err(error) => return Outcome::Again(None, error.to_string()),
    };
    let status = response.status().as_u16();
    let after = response.headers().get("Retry-After");
    let after = after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let after = after.map(Duration::from_secs);
    let body = response.body_mut().with_config().limit(LONGEST_ANSWER);
    let body = body.read_to_vec().unwrap_or_default();
    match status {
        200..=299 => {
            let partial = Response::decode(&*body)
                .ok()
                .and_then(|it| it.partial_success);
            let rejected = partial.as_ref().map_or(0, |it| it.rejected_data_points);
            let said = partial.filter(|it| it.rejected_data_points > 0);
            Outcome::Taken {
                rejected: u64::try_from(rejected).unwrap_or(0),
                said: said.map(|it| {
                    let message: String = it.error_message.chars().take(200).collect();
                    format!("{rejected} points were rejected: {message:?}")
                }),
            }
        }
        300..=399 => Outcome::Refused(format!("status {status}: redirects are not followed")),
        413 => Outcome::Refused("status 413: larger than the collector takes".to_owned()),
        // OTLP's specification, "Failures" and "OTLP/HTTP Throttling": these may be tried again.
        429 | 502 | 503 | 504 => Outcome::Again(after, format!("status {status}")),
        _ => Outcome::Refused(format!("status {status}")),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a collector takes is real time"
)]
fn now() -> Instant {
    Instant::now()
}

/// How long a request may take, and how long the last one may with all its attempts.
const PATIENCE: Duration = Duration::from_secs(10);
const LAST: Duration = Duration::from_secs(5);
const NO_ANSWER: &str = "no answer in time";
/// For an attempt that ends when the time does.
const TO_SAY_WHY: Duration = Duration::from_millis(500);
/// Between attempts: doubled each time, at most this, also if a collector asks for more.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
const LONGEST_ANSWER: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    /// Of an attempt that began before, the end does not wait for all of its ten seconds.
    #[test]
    fn a_silent_collector_delays_the_end_by_five_seconds() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1/metrics", silent.local_addr().unwrap());
        let sender = Sender::start(url).unwrap();
        sender.give(vec![1; 100], 1);
        let _asked = silent.accept().unwrap();
        sender.give(vec![2; 100], 2);
        let begun = now();
        let told = sender.end();
        assert!(begun.elapsed() < (LAST + PATIENCE) / 2, "{told:?}");
        assert_eq!((told.exports, told.delivered), (0, 0));
        assert_eq!(told.wrong.as_deref(), Some(NO_ANSWER));
    }

    /// A collector that says when it can be asked again is not asked earlier; the same request comes then.
    #[test]
    fn a_throttling_collector_is_left_alone_for_as_long_as_it_asks() {
        let asked = FIRST_PAUSE * 2;
        let seconds = asked.as_secs();
        let (url, got) = collector(vec![
            format!("429 Too Many Requests\r\nRetry-After: {seconds}"),
            "200 OK".to_owned(),
        ]);
        let sender = Sender::start(url).unwrap();
        sender.give(vec![1; 100], 7);
        let (refused, first) = got.recv().unwrap();
        let (taken, second) = got.recv().unwrap();
        assert_eq!((&*first, &*second), (&[1; 100][..], &[1; 100][..]));
        assert!(taken - refused >= asked, "{:?}", taken - refused);
        let told = sender.end();
        assert_eq!((told.exports, told.failed, told.delivered), (1, 1, 7));
        assert_eq!((told.replaced, told.wrong), (0, None));
    }

    /// Where the collector names no time, or none that is a number of seconds, the pauses double.
    #[test]
    fn without_a_time_that_can_be_read_the_pauses_double() {
        let (url, got) = collector(vec![
            "429 Too Many Requests".to_owned(),
            "429 Too Many Requests\r\nRetry-After: Sun, 29 Nov 2026 02:00:00 GMT".to_owned(),
            "200 OK".to_owned(),
        ]);
        let sender = Sender::start(url).unwrap();
        sender.give(vec![1; 100], 7);
        let times: Vec<Instant> = (0..3).map(|_| got.recv().unwrap().0).collect();
        assert!(times[1] - times[0] >= FIRST_PAUSE, "{times:?}");
        assert!(times[2] - times[1] >= FIRST_PAUSE * 2, "{times:?}");
        let told = sender.end();
        assert_eq!((told.exports, told.failed, told.delivered), (1, 2, 7));
    }

    /// What is too large is not sent again; the next request, which has all that it had, is.
    #[test]
    fn what_is_too_large_is_given_up_and_the_next_request_is_sent() {
        let (url, got) = collector(vec![
            "413 Content Too Large".to_owned(),
            "200 OK".to_owned(),
        ]);
        let sender = Sender::start(url).unwrap();
        sender.give(vec![1; 100], 7);
        got.recv().unwrap();
        // Longer than the pause after which it would be tried again.
        let again = got.recv_timeout(FIRST_PAUSE * 2);
        assert!(again.is_err(), "{again:?}");
        let told = sender.told();
        assert_eq!((told.exports, told.failed, told.delivered), (0, 1, 0));
        let wrong = told.wrong.expect("it says why");
        assert_eq!(wrong, "status 413: larger than the collector takes");
        sender.give(vec![2; 100], 9);
        assert_eq!(got.recv().unwrap().1, [2; 100]);
        let told = sender.end();
        assert_eq!((told.exports, told.failed, told.delivered), (1, 1, 9));
        assert_eq!(told.wrong, None);
    }

    /// Answers one request after the other in these ways, and tells when each came and what it had.
    fn collector(answers: Vec<String>) -> (String, Receiver<(Instant, Vec<u8>)>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1/metrics", listener.local_addr().unwrap());
        let (tells, told) = channel();
        std::thread::spawn(move || {
            for answer in answers {
                let (mut asked, _) = listener.accept().unwrap();
                let mut head = Vec::new();
                let mut octet = [0];
                while !head.ends_with(b"\r\n\r\n") {
                    asked.read_exact(&mut octet).unwrap();
                    head.push(octet[0]);
                }
                // As long as all requests here.
                let mut body = vec![0; 100];
                asked.read_exact(&mut body).unwrap();
                let _ = tells.send((now(), body));
                let text =
                    format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                asked.write_all(text.as_bytes()).unwrap();
            }
        });
        (url, told)
    }
}
