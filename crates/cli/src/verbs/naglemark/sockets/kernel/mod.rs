//! The running kernel's sockets, in real time.

mod place;
mod server;

use std::io;
use std::net::SocketAddr;

use socket2::SockRef;
use tinygram_link::{priority, processors};

use self::place::Place;
use super::client::ask_counts;
use super::plan::Plan;
use super::socket::{self, Options};
use super::trial::{Backend, Conditions, Taken, Trial};
use crate::exit::{Done, Failure};
use crate::tcp_info::tcp_info;
use crate::terminal;

pub(super) use place::Where;

/// The kernel as a backend.
pub(super) struct Kernel {
    place: Place,
    conditions: Conditions,
}

impl Kernel {
    /// Prepares both ends, and looks at a first connection.
    pub(super) fn open(plan: &Plan) -> Result<Self, Failure> {
        // Not real-time: who runs first is part of what is measured, other programs are not.
        priority::prefer();
        let place = Place::prepare(&plan.place, plan.socket_options())?;
        let mut probe = place
            .client
            .connect(place.server)
            .map_err(|error| Failure::Io {
                doing: "connecting to the server".into(),
                error,
            })?;
        ask_counts(&mut probe).map_err(|error| stranger(place.server, &error))?;
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
        Ok(Self { place, conditions })
    }
}

/// What listens there does not answer as a server of ours does.
fn stranger(at: SocketAddr, error: &io::Error) -> Failure {
    let why = match error.kind() {
        io::ErrorKind::InvalidData => "it answers something else".into(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => "it hangs up".into(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "it says nothing".into(),
        _ => error.to_string(),
    };
    Failure::Io {
        doing: format!("greeting {at}"),
        error: io::Error::other(format!(
            "{why}; accepted: tinygram naglemark serve of this version"
        )),
    }
}

impl Backend for Kernel {
    fn conditions(&self) -> Conditions {
        self.conditions.clone()
    }

    fn run(&mut self, trial: &Trial, made: &mut dyn FnMut()) -> Result<Taken, Failure> {
        let Place {
            client,
            server,
            processor,
            ..
        } = &mut self.place;
        let mut transfers = || client.transfers(*server, trial, made);
        let taken = match *processor {
            Some(processor) => processors::on(processor, transfers),
            None => transfers(),
        };
        taken.map_err(|error| Failure::Io {
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
    let listener = socket::listen(at, options).map_err(|error| Failure::Io {
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

/// The running kernel's name and number.
pub(super) fn release() -> String {
    let name = rustix::system::uname();
    format!(
        "{} {}",
        name.sysname().to_string_lossy(),
        name.release().to_string_lossy()
    )
}
