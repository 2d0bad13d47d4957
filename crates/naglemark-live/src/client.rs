//! The client, which sends requests and measures the time. It uses the running kernel's sockets,
//! whatever stack answers.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration as RealDuration, Instant};

use socket2::SockRef;
use tinygram_link::namespace::Namespace;
use tinygram_naglemark::{Duration, Sample, SocketPolicy, Taken, Trial};

use crate::request::{Answer, Counts, Request, Told};
use crate::socket::{self, Options};

/// A client and the namespace that it runs in.
pub(crate) struct Client {
    /// The client's namespace, if it is not the process's own.
    inside: Option<Namespace>,
    options: Options,
    /// A buffer for the octets that are read and thrown away.
    scratch: Vec<u8>,
}

impl Client {
    pub(crate) fn new(inside: Option<Namespace>, options: Options) -> Self {
        Self {
            inside,
            options,
            scratch: vec![0; READ_SIZE],
        }
    }

    /// Returns a new connection.
    pub(crate) fn connect(&self, server: SocketAddr) -> io::Result<TcpStream> {
        let connect = || -> io::Result<TcpStream> {
            let socket = socket::new(server, self.options)?;
            socket.connect_timeout(&server.into(), CONNECT_TIMEOUT)?;
            let stream: TcpStream = socket.into();
            stream.set_read_timeout(Some(READ_TIMEOUT))?;
            Ok(stream)
        };
        match &self.inside {
            Some(space) => space.within(connect)?,
            None => connect(),
        }
    }

    /// Makes all transfers of a trial, one after the other, and reports each when it is done.
    pub(crate) fn transfers(
        &mut self,
        server: SocketAddr,
        trial: &Trial,
        told: Told,
        made: &mut dyn FnMut(),
    ) -> io::Result<Taken> {
        let mut taken = Taken {
            samples: Vec::with_capacity(trial.lengths.len()),
            data_segments: Some(0),
            short_segments: Some(0),
            retransmitted_segments: Some(0),
            ..Taken::default()
        };
        for lengths in trial.lengths.chunks(trial.requests_per_connection) {
            let mut stream = self.connect(server)?;
            for &length in lengths {
                let elapsed = self.transfer(&mut stream, trial, told, length)?;
                taken.samples.push(Sample { length, elapsed });
                made();
            }
            let counts = ask_counts(&mut stream)?;
            let add = |sum: &mut Option<u64>, more: Option<u32>| {
                *sum = sum.zip(more).map(|(sum, more)| sum + u64::from(more));
            };
            add(&mut taken.data_segments, Some(counts.data_segments));
            add(
                &mut taken.retransmitted_segments,
                Some(counts.retransmitted),
            );
            add(&mut taken.short_segments, counts.short_segments);
        }
        Ok(taken)
    }

    /// Makes one transfer and measures it from the sending of the request to the last octet of the
    /// answer.
    fn transfer(
        &mut self,
        stream: &mut TcpStream,
        trial: &Trial,
        told: Told,
        length: u32,
    ) -> io::Result<Duration> {
        let request = Request::Answer(Answer {
            policy: told,
            app_buffer: trial.app_buffer as u32,
            socket_buffer: trial.socket_buffer as u32,
            length,
        });
        let request = request.encode();
        let mut missing = length as usize;
        #[allow(clippy::disallowed_methods)] // the kernel's time is real
        let began = Instant::now();
        stream.write_all(&request)?;
        while missing > 0 {
            if told == Told::Socket(SocketPolicy::QuickAck) {
                SockRef::from(&*stream).set_tcp_quickack(true)?;
            }
            let most = missing.min(self.scratch.len());
            match stream.read(&mut self.scratch[..most]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(octets) => missing -= octets,
                // Ctrl-C; other code ends the program then.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let elapsed = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Ok(Duration::from_nanos(elapsed))
    }
}

/// Asks what the server has sent so far. A valid answer shows that the server speaks this protocol.
///
/// # Errors
///
/// [`io::ErrorKind::InvalidData`] if it does not speak it, or an error of reading or writing.
pub(crate) fn ask_counts(stream: &mut TcpStream) -> io::Result<Counts> {
    stream.write_all(&Request::Counts.encode())?;
    let mut counts = [0; Counts::OCTETS];
    stream.read_exact(&mut counts)?;
    Counts::decode(counts).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Large, so that no answer needs many calls.
const READ_SIZE: usize = 256 * 1024;
const CONNECT_TIMEOUT: RealDuration = RealDuration::from_secs(10);
/// Longer than any stall, and longer than a few retransmissions in a row.
const READ_TIMEOUT: RealDuration = RealDuration::from_secs(30);
