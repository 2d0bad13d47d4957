//! Our own stack as the server, over a TUN device or an emulated link, in real time: the running
//! kernel is the client and the receiver.
//!
//! The stack, its driver and its server share one thread, as in a program that wants the least
//! latency: a write reaches the device at once, and the stack processes arriving packets when the
//! server waits.

mod host;
mod server;

use std::net::SocketAddr;

use tinygram_engine::profile::{Profile, Sizes};
use tinygram_link::emulator::Rules;
use tinygram_link::priority;
use tinygram_naglemark::hosts::congestion;
use tinygram_naglemark::{Backend, Conditions, Error, Policy, Taken, Trial};

use crate::client::Client;
use crate::kernel::{estimated, release};
use crate::networks::{self, MTU};
use crate::request::Told;
use crate::socket::{self, Options};

/// What joins the stack to the kernel.
#[derive(Clone, Debug)]
pub enum Line {
    /// A TUN device, MTU 1500, without offload, so that every packet is as it would be on a wire.
    Tun,
    /// A TUN device with the link emulator behind it, and the seed of the emulator's random
    /// decisions.
    Emulated(Rules, u64),
}

/// The settings of the stack. Sizes are in octets.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What joins the stack to the kernel.
    pub line: Line,
    /// The stack's rules.
    pub profile: &'static Profile,
    /// The socket options of both ends.
    pub options: Options,
    /// The socket buffers that trials will ask for.
    pub socket_buffers: Vec<u64>,
    /// The policies that trials will ask for.
    pub policies: Vec<Policy>,
}

/// Our stack as the server, the running kernel as the client.
///
/// Needs the right to make namespaces ([`acquire_privilege`](crate::acquire_privilege)) and TUN devices.
pub struct OurStack {
    client: Client,
    policies: Vec<Policy>,
    /// A listener for each size of the socket buffer, in octets.
    servers: Vec<(u64, SocketAddr)>,
    conditions: Conditions,
}

impl OurStack {
    /// Starts the stack, and tests it with a first connection.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`] if namespaces or devices cannot be made.
    ///
    /// # Panics
    ///
    /// If there is no socket buffer in the settings.
    pub fn open(settings: &Settings) -> Result<Self, Error> {
        priority::prefer();
        let space = networks::space()?;
        let servers = host::start(&space, settings)?;
        let client = Client::new(Some(space), settings.options);
        let connected = client.connect(servers[0].1);
        let probe = connected.map_err(|error| Error::failed("connecting to the stack", error))?;
        let mss = socket::mss(&probe)?;
        let profile = settings.profile;
        let config = (profile.config)(&Sizes {
            mss: MTU,
            send_buffer: 1,
            receive_buffer: 1,
        });
        let (medium, rtt) = estimated(settings.line.rules());
        let conditions = Conditions {
            backend: NAME.into(),
            link: settings.line.name().into(),
            stack: format!("{}, to {}", profile.name, release()),
            mss,
            congestion: congestion(&config),
            medium,
            wire: None,
            rtt,
        };
        Ok(Self {
            client,
            policies: settings.policies.clone(),
            servers,
            conditions,
        })
    }
}

impl Backend for OurStack {
    fn conditions(&self) -> Conditions {
        self.conditions.clone()
    }

    fn run(&mut self, trial: &Trial) -> Result<Taken, Error> {
        self.run_telling(trial, &mut || {})
    }

    fn run_telling(&mut self, trial: &Trial, made: &mut dyn FnMut()) -> Result<Taken, Error> {
        let told = Told::by(&trial.policy, &self.policies);
        let told = told.ok_or_else(|| Error::policy(NAME, &trial.policy))?;
        let mut servers = self.servers.iter();
        let server = servers.find(|(buffer, _)| *buffer == trial.socket_buffer);
        let Some((_, server)) = server else {
            let doing = format!("answering from a socket buffer of {}", trial.socket_buffer);
            return Err(Error::failed(doing, "it is not in the stack's settings"));
        };
        let taken = self.client.transfers(*server, trial, told, made);
        taken.map_err(|error| {
            Error::failed(format!("transferring over {}", self.conditions.link), error)
        })
    }
}

impl Line {
    /// Returns the line's name, as shown.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Tun => "tun",
            Self::Emulated(..) => "emulated",
        }
    }

    /// Returns the link's rules, if it is emulated.
    fn rules(&self) -> Option<&Rules> {
        match self {
            Self::Tun => None,
            Self::Emulated(rules, _) => Some(rules),
        }
    }
}

/// The backend's name in outcomes.
const NAME: &str = "stack";
