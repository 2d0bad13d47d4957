//! A backend that measures the running kernel's sockets, in real time.

mod place;
pub(crate) mod rules;
mod server;

use std::io;
use std::net::{SocketAddr, TcpListener};

use tinygram_link::{priority, processors};
use tinygram_naglemark::{Backend, Conditions, Error, Policy, Taken, Trial};

use self::place::Place;
use self::rules::Rules;
use crate::client::ask_counts;
use crate::request::Told;
use crate::socket::{self, Options};

pub use place::Where;
pub(crate) use place::estimated;
pub use rules::in_kernel;
pub use server::serve;

/// The running kernel's sockets at both ends, or at the client's alone.
///
/// The number of segments comes from the server's `TCP_INFO`, which does not count short ones.
pub struct Kernel {
    place: Place,
    rules: Rules,
    conditions: Conditions,
}

impl Kernel {
    /// Prepares both ends, and tests them with a first connection.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`] if a link cannot be made or the server does not answer.
    pub fn open(place: &Where, options: Options) -> Result<Self, Error> {
        Self::named(NAME, place, options, &[])
    }

    /// Does the same with a server that can also be given those of the engine's policies that there are as BPF
    /// ([`in_kernel`]). A trial of one is answered by the kernel under that policy.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open), and [`Error::Failed`] if the server is elsewhere.
    pub fn with_policies(
        place: &Where,
        options: Options,
        policies: &[Policy],
    ) -> Result<Self, Error> {
        if matches!(place, Where::Remote(_)) {
            return Err(Error::failed(
                "giving the server a policy",
                "it runs on another host",
            ));
        }
        Self::named(rules::NAME, place, options, policies)
    }

    fn named(
        name: &'static str,
        place: &Where,
        options: Options,
        policies: &[Policy],
    ) -> Result<Self, Error> {
        // No real-time priority: the order in which the two ends run is part of the measurement.
        // Other programs are not, so the process gets a high priority.
        priority::prefer();
        let (link, (medium, rtt)) = (place.name(), estimated(place.rules()));
        let mut rules = Rules::of(policies);
        // What the kernel or the privileges lack is said before anything is measured.
        policies
            .iter()
            .try_for_each(|policy| rules.prepare(policy))?;
        let place = Place::prepare(place, options, &rules.now())?;
        let connected = place.client.connect(place.server);
        let mut probe =
            connected.map_err(|error| Error::failed("connecting to the server", error))?;
        ask_counts(&mut probe).map_err(|error| stranger(place.server, &error))?;
        let mss = socket::mss(&probe)?;
        let conditions = Conditions {
            backend: name.into(),
            link: link.into(),
            stack: release(),
            mss,
            congestion: socket::congestion(&probe),
            medium,
            wire: None,
            rtt,
        };
        Ok(Self {
            place,
            rules,
            conditions,
        })
    }
}

/// Returns the error which says that the host at this address does not answer as a naglemark server
/// does.
fn stranger(at: SocketAddr, error: &io::Error) -> Error {
    let why = match error.kind() {
        io::ErrorKind::InvalidData => "it answers something else".into(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => "it hangs up".into(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "it says nothing".into(),
        _ => error.to_string(),
    };
    let why = format!("{why}; accepted: tinygram naglemark serve of this version");
    Error::failed(format!("greeting {at}"), why)
}

impl Backend for Kernel {
    fn conditions(&self) -> Conditions {
        self.conditions.clone()
    }

    fn run(&mut self, trial: &Trial) -> Result<Taken, Error> {
        self.run_telling(trial, &mut || {})
    }

    fn run_telling(&mut self, trial: &Trial, made: &mut dyn FnMut()) -> Result<Taken, Error> {
        let told = Told::by(&trial.policy, self.rules.policies());
        let told = told.ok_or_else(|| Error::policy(&self.conditions.backend, &trial.policy))?;
        self.rules.prepare(&trial.policy)?;
        let Place {
            client,
            server,
            processor,
            ..
        } = &mut self.place;
        let mut transfers = || client.transfers(*server, trial, told, made);
        let taken = match *processor {
            Some(processor) => processors::on(processor, transfers),
            None => transfers(),
        };
        taken.map_err(|error| {
            Error::failed(format!("transferring over {}", self.conditions.link), error)
        })
    }
}

/// Returns a listener for clients on other hosts, to be [served](serve).
///
/// # Errors
///
/// Returns the error of binding the address.
pub fn listen(at: SocketAddr) -> io::Result<TcpListener> {
    socket::listen(at, Options::default())
}

/// Returns the running kernel's name and number.
pub(crate) fn release() -> String {
    let name = rustix::system::uname();
    format!(
        "{} {}",
        name.sysname().to_string_lossy(),
        name.release().to_string_lossy()
    )
}

/// The backend's name in outcomes.
pub(crate) const NAME: &str = "kernel";
