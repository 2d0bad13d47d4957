//! Talks of the papers' programs on the kernel's sockets: answers in given writes, under a send policy as BPF.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use socket2::SockRef;
use tinygram_kernel::{Base, BpfPolicy, Loaded};
use tinygram_link::device::{Addresses, TunDevice};
use tinygram_link::emulator::Rules;
use tinygram_link::namespace::Namespace;
use tinygram_link::priority;
use tinygram_link::relay::Link;
use tinygram_link::tcp_info::tcp_info;

use crate::networks::{DEVICE, FAR, NEAR, space};
use crate::socket::{Options, listen, new};

/// Two hosts joined by an emulated link, and the connections that they make.
pub struct TwoHosts {
    near: Namespace,
    far: Namespace,
    _link: Link,
}

/// What the two ends of a connection do. Sizes are in octets.
#[derive(Clone, Debug, Default)]
pub struct Talk {
    /// The send policy of the end that answers; `None` for the kernel's own rule.
    pub policy: Option<&'static BpfPolicy>,
    /// The policy's number, if it has one and another than its default is wanted.
    pub parameter: Option<u32>,
    /// The largest segment without options; `None` for the link's.
    pub mss: Option<u16>,
    /// SO_SNDBUF of the end that answers; `None` lets the kernel choose.
    pub send_buffer: Option<usize>,
    /// SO_RCVBUF of the end that asks; `None` lets the kernel choose.
    pub receive_buffer: Option<u64>,
    /// The size of each request, which is at least 1.
    pub request: usize,
    /// The answers, one after the other.
    pub answers: Vec<Vec<Piece>>,
    /// How long the end that asks waits before each request.
    pub rest: Duration,
    /// How long it waits behind the last answer before segments are counted, so that what is delayed is over.
    pub linger: Duration,
}

/// A write of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// How long the program waits before it writes.
    pub pause: Duration,
    /// Its size, which is at least 1.
    pub octets: usize,
}

/// What the end that asks saw of an answer, and what both ends sent for it.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// When something was read, since the request, and how many octets.
    pub arrivals: Vec<(Duration, usize)>,
    /// The data segments of the answer, retransmissions included.
    pub data_segments: u64,
    /// The segments without data that came back.
    pub acks: u64,
    /// How many of them a timer had sent when the last octet came. Linux counts them by host, and this host has no other
    /// connection.
    pub delayed_acks: u64,
}

impl Heard {
    /// Returns the time from the request to the last octet.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.arrivals.last().map_or(Duration::ZERO, |(at, _)| *at)
    }

    /// Returns the time from the first octet to the last.
    #[must_use]
    pub fn spread(&self) -> Duration {
        let first = self.arrivals.first().map_or(Duration::ZERO, |(at, _)| *at);
        self.elapsed().saturating_sub(first)
    }

    /// Returns how often nothing came for longer than this, with a delayed acknowledgment for each. A busy machine makes
    /// silences, too.
    #[must_use]
    pub fn stalls(&self, longer_than: Duration) -> usize {
        let delayed = usize::try_from(self.delayed_acks).unwrap_or(usize::MAX);
        self.silences(longer_than).len().min(delayed)
    }

    /// Returns after how many octets nothing came for longer than this.
    #[must_use]
    pub fn silences(&self, longer_than: Duration) -> Vec<usize> {
        let (mut before, mut octets, mut silences) = (Duration::ZERO, 0, Vec::new());
        for (at, more) in &self.arrivals {
            if at.saturating_sub(before) > longer_than {
                silences.push(octets);
            }
            (before, octets) = (*at, octets + more);
        }
        silences
    }
}

impl Piece {
    /// Returns a write that follows the one before at once.
    #[must_use]
    pub const fn of(octets: usize) -> Self {
        Self {
            pause: Duration::ZERO,
            octets,
        }
    }
}

impl TwoHosts {
    /// Makes both hosts, with devices of this MTU, and the link between them.
    ///
    /// # Errors
    ///
    /// Returns in one line what the kernel or the privileges lack.
    pub fn open(rules: Rules, mtu: u16, seed: u64) -> Result<Self, String> {
        priority::prefer();
        let space = || space().map_err(|error| error.to_string());
        let (near, far) = (space()?, space()?);
        let device = |space: &Namespace, own: Addresses| TunDevice::new(space, DEVICE, own, mtu);
        let join = || Link::join(device(&near, NEAR)?, device(&far, FAR)?, rules, seed);
        let link = join().map_err(|error| format!("making a link: {error}"))?;
        Ok(Self {
            near,
            far,
            _link: link,
        })
    }

    /// Lets two programs talk over a connection of their own, and returns what was heard of each answer.
    ///
    /// # Errors
    ///
    /// Returns in one line what the kernel or the privileges lack, or what went wrong.
    pub fn talk(&self, talk: &Talk) -> Result<Vec<Heard>, String> {
        let loaded = talk
            .policy
            .map(|policy| Loaded::load(policy, Base::Cubic, talk.parameter));
        let loaded = loaded.transpose().map_err(|lacking| lacking.to_string())?;
        self.talked(talk, loaded.as_ref().map(Loaded::name))
            .map_err(|error| format!("talking over the link: {error}"))
    }

    fn talked(&self, talk: &Talk, congestion: Option<&str>) -> io::Result<Vec<Heard>> {
        let (asking, answering) = self.connected(talk)?;
        if let Some(name) = congestion {
            SockRef::from(&answering).set_tcp_congestion(name.as_bytes())?;
            // The kernel's own rule never holds beside it.
            answering.set_nodelay(true)?;
        }
        std::thread::scope(|scope| {
            let answers = scope.spawn(|| answer(&answering, talk));
            let last = talk.answers.len().saturating_sub(1);
            let ask = |(at, pieces): (usize, &Vec<Piece>)| {
                let linger = if at == last {
                    talk.linger
                } else {
                    Duration::ZERO
                };
                self.ask(&asking, &answering, talk, pieces, linger)
            };
            let heard: io::Result<Vec<Heard>> = talk.answers.iter().enumerate().map(ask).collect();
            // Whatever went wrong, the other end is not to wait for ever.
            let _ = asking.shutdown(std::net::Shutdown::Both);
            let answered = answers.join().expect("it does not panic");
            // If this end failed, the other one's broken pipe is what follows, and not the reason.
            let heard = heard?;
            answered?;
            Ok(heard)
        })
    }

    /// Returns both ends of a new connection: the one that asks, and the one that answers.
    fn connected(&self, talk: &Talk) -> io::Result<(TcpStream, TcpStream)> {
        let options = Options {
            mss: talk.mss,
            receive_buffer: None,
        };
        let listener: TcpListener = self.far.within(|| -> io::Result<_> {
            let listener = listen((FAR.v4, 0).into(), options)?;
            if let Some(octets) = talk.send_buffer {
                SockRef::from(&listener).set_send_buffer_size(octets)?;
            }
            Ok(listener)
        })??;
        let at: SocketAddr = listener.local_addr()?;
        let asking = self.near.within(|| -> io::Result<_> {
            let options = Options {
                receive_buffer: talk.receive_buffer,
                ..options
            };
            let socket = new(at, options)?;
            socket.connect(&at.into())?;
            Ok(TcpStream::from(socket))
        })??;
        asking.set_read_timeout(Some(TOO_LONG))?;
        asking.set_nodelay(true)?;
        Ok((asking, listener.accept()?.0))
    }

    /// Asks for an answer and reads it as it comes.
    fn ask(
        &self,
        asking: &TcpStream,
        answering: &TcpStream,
        talk: &Talk,
        pieces: &[Piece],
        linger: Duration,
    ) -> io::Result<Heard> {
        std::thread::sleep(talk.rest);
        let before = (sent(answering)?, sent(asking)?, self.delayed_acks()?);
        let mut missing: usize = pieces.iter().map(|piece| piece.octets).sum();
        let mut scratch = vec![0; READ_SIZE];
        let mut heard = Heard::default();
        #[allow(clippy::disallowed_methods, reason = "the kernel's time is real")]
        let began = Instant::now();
        (&mut &*asking).write_all(&vec![b'?'; talk.request])?;
        while missing > 0 {
            let most = missing.min(scratch.len());
            let octets = (&mut &*asking).read(&mut scratch[..most])?;
            if octets == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            heard.arrivals.push((began.elapsed(), octets));
            missing -= octets;
        }
        heard.delayed_acks = self.delayed_acks()? - before.2;
        std::thread::sleep(linger);
        heard.data_segments = sent(answering)?.data.wrapping_sub(before.0.data).into();
        if heard.data_segments == 0 && !heard.arrivals.is_empty() {
            // An older kernel's TCP_INFO ends before these counts, which are then zero.
            return Err(uncounted());
        }
        heard.acks = sent(asking)?.empty.wrapping_sub(before.1.empty).into();
        Ok(heard)
    }

    /// Returns how many acknowledgments the host that asks has delayed so far (`TcpExtDelayedACKs`).
    fn delayed_acks(&self) -> io::Result<u64> {
        let text = self
            .near
            .within(|| std::fs::read_to_string("/proc/thread-self/net/netstat"))??;
        delayed_acks(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// Returns `TcpExt`'s `DelayedACKs` of a host's counters: a line of names, and a line of numbers below it.
fn delayed_acks(netstat: &str) -> Option<u64> {
    let mut lines = netstat.lines().filter(|line| line.starts_with("TcpExt:"));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let mut both = names.split_whitespace().zip(numbers.split_whitespace());
    both.find(|(name, _)| *name == "DelayedACKs")?
        .1
        .parse()
        .ok()
}

/// Answers every request of a talk.
fn answer(answering: &TcpStream, talk: &Talk) -> io::Result<()> {
    let mut request = vec![0; talk.request];
    for pieces in &talk.answers {
        match (&mut &*answering).read_exact(&mut request) {
            // The other end has gone, and says why.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            done => done?,
        }
        #[allow(clippy::disallowed_methods, reason = "the kernel's time is real")]
        let (began, mut due) = (Instant::now(), Duration::ZERO);
        for piece in pieces {
            // By the clock, so that a late write does not make the later ones late, too.
            due += piece.pause;
            std::thread::sleep(due.saturating_sub(began.elapsed()));
            (&mut &*answering).write_all(&vec![b'a'; piece.octets])?;
        }
    }
    Ok(())
}

/// What an end has sent so far, in segments. The kernel's numbers begin anew after 2^32.
struct Sent {
    data: u32,
    empty: u32,
}

/// Returns the error of a kernel that does not count segments.
fn uncounted() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "TCP_INFO counts no segments")
}

/// Asks the kernel what an end has sent so far.
fn sent(socket: &TcpStream) -> io::Result<Sent> {
    let info = tcp_info(socket).ok_or_else(uncounted)?;
    Ok(Sent {
        data: info.data_segs_out,
        empty: info.segs_out.wrapping_sub(info.data_segs_out),
    })
}

/// Large, so that what has come is one read.
const READ_SIZE: usize = 256 * 1024;
/// Longer than any stall, and longer than a few retransmissions in a row.
const TOO_LONG: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silence_is_a_gap_before_something_came() {
        let at = |ms, octets| (Duration::from_millis(ms), octets);
        let heard = Heard {
            arrivals: vec![at(1, 100), at(2, 100), at(45, 300), at(46, 1)],
            ..Heard::default()
        };
        assert_eq!(heard.silences(Duration::from_millis(20)), [200]);
        assert_eq!(heard.silences(Duration::from_millis(43)), [] as [usize; 0]);
        assert_eq!(heard.stalls(Duration::from_millis(20)), 0, "no timer fired");
        let delayed = Heard {
            delayed_acks: 3,
            ..heard.clone()
        };
        assert_eq!(delayed.stalls(Duration::from_millis(20)), 1);
        assert_eq!(heard.elapsed(), Duration::from_millis(46));
        assert_eq!(heard.spread(), Duration::from_millis(45));
    }

    #[test]
    fn the_counter_is_found_by_its_name() {
        let netstat =
            "TcpExt: SyncookiesSent DelayedACKs\nTcpExt: 7 41\nIpExt: InNoRoutes\nIpExt: 0\n";
        assert_eq!(delayed_acks(netstat), Some(41));
        assert_eq!(delayed_acks("TcpExt: SyncookiesSent\nTcpExt: 7\n"), None);
    }
}
