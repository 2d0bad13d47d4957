//! The running kernel's sockets, in real time.

mod place;
mod request;
mod server;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use socket2::SockRef;
use tinygram_engine::Duration;
use tinygram_link::priority;
use tinygram_papers::mogul::naglemark::Sample;

use self::place::{Options, Place};
use self::request::{Answer, Counts, Request};
use super::plan::Plan;
use super::policy::Policy;
use super::trial::{Backend, Conditions, Taken, Trial};
use crate::exit::{Done, Failure};
use crate::tcp_info::tcp_info;
use crate::terminal;

pub(super) use place::Where;

/// The kernel as a backend.
pub(super) struct Kernel {
    place: Place,
    conditions: Conditions,
    /// What is read goes here and nowhere else.
    scratch: Vec<u8>,
}

impl Kernel {
    /// Prepares both ends, and looks at a first connection.
    pub(super) fn open(plan: &Plan) -> Result<Self, Failure> {
        let options = Options {
            mss: plan.mss,
            receive_buffer: plan.receive_buffer,
        };
        // Not real-time: who runs first is part of what is measured, other programs are not.
        priority::prefer();
        let place = Place::prepare(&plan.place, options)?;
        let probe = place.connect().map_err(|error| Failure::Io {
            doing: "connecting to the server".into(),
            error,
        })?;
        let mss = tcp_info(&probe).map_or(0, |info| info.snd_mss);
        let congestion = SockRef::from(&probe).tcp_congestion().unwrap_or_default();
        let conditions = Conditions {
            backend: "kernel",
            link: plan.place.name().into(),
            stack: release(),
            mss: u16::try_from(mss).unwrap_or(u16::MAX),
            congestion: String::from_utf8_lossy(&congestion)
                .trim_end_matches('\0')
                .to_owned(),
        };
        Ok(Self {
            place,
            conditions,
            scratch: vec![0; READ_SIZE],
        })
    }

    fn transfers(&mut self, trial: &Trial) -> io::Result<Taken> {
        let mut taken = Taken {
            samples: Vec::with_capacity(trial.lengths.len()),
            data_segments: 0,
            short_segments: None,
            retransmitted: 0,
        };
        for lengths in trial.lengths.chunks(trial.requests_per_connection) {
            let mut stream = self.place.connect()?;
            for &length in lengths {
                let elapsed = self.transfer(&mut stream, trial, length)?;
                taken.samples.push(Sample { length, elapsed });
            }
            let counts = ask_counts(&mut stream)?;
            taken.data_segments += u64::from(counts.data_segments);
            taken.retransmitted += u64::from(counts.retransmitted);
        }
        Ok(taken)
    }

    /// From the request's sending to the answer's last octet.
    fn transfer(
        &mut self,
        stream: &mut TcpStream,
        trial: &Trial,
        length: u32,
    ) -> io::Result<Duration> {
        let request = Request::Answer(Answer {
            policy: trial.policy,
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
            if trial.policy == Policy::QuickAck {
                SockRef::from(&*stream).set_tcp_quickack(true)?;
            }
            let most = missing.min(self.scratch.len());
            match stream.read(&mut self.scratch[..most])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                octets => missing -= octets,
            }
        }
        let elapsed = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Ok(Duration::from_nanos(elapsed))
    }
}

impl Backend for Kernel {
    fn conditions(&self) -> Conditions {
        self.conditions.clone()
    }

    fn run(&mut self, trial: &Trial) -> Result<Taken, Failure> {
        self.transfers(trial).map_err(|error| Failure::Io {
            doing: format!("transferring over {}", self.conditions.link),
            error,
        })
    }
}

/// `tinygram naglemark serve`: answers clients on other machines until it is ended.
pub(in super::super) fn serve(at: SocketAddr) -> Result<Done, Failure> {
    let options = Options {
        mss: None,
        receive_buffer: None,
    };
    let listener = place::listen(at, options).map_err(|error| Failure::Io {
        doing: format!("listening on {at}"),
        error,
    })?;
    let at = listener.local_addr().unwrap_or(at);
    terminal::remark(&format!(
        "tinygram: serving on {at}; on the other host: tinygram naglemark --backend kernel --connect HOST:{}",
        at.port()
    ));
    server::serve(&listener);
    Ok(Done::Well)
}

fn ask_counts(stream: &mut TcpStream) -> io::Result<Counts> {
    stream.write_all(&Request::Counts.encode())?;
    let mut counts = [0; Counts::OCTETS];
    stream.read_exact(&mut counts)?;
    Ok(Counts::decode(counts))
}

fn release() -> String {
    let name = rustix::system::uname();
    format!(
        "{} {}",
        name.sysname().to_string_lossy(),
        name.release().to_string_lossy()
    )
}

/// Octets of a request, here and in the simulated benchmark.
pub(super) const REQUEST: u64 = Request::OCTETS as u64;
/// No answer needs many calls.
const READ_SIZE: usize = 256 * 1024;
