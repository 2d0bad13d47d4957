//! Our own stack as the server, over a TUN device or an emulated link, in real time: the running
//! kernel is the client and the receiver.
//!
//! The stack, its driver and its server share one thread, as a program does that wants the least
//! latency of it: a write reaches the device at once, and what arrives is looked at when the server
//! waits.

mod host;
mod server;

use std::net::SocketAddr;

use tinygram_engine::profile::{Profile, Sizes};
use tinygram_link::emulator::Rules;
use tinygram_link::priority;

use super::client::Client;
use super::networks::{self, MTU};
use super::plan::Plan;
use super::simulated::congestion;
use super::trial::{Backend, Conditions, Taken, Trial};
use crate::exit::Failure;
use crate::tcp_info::tcp_info;

/// What joins the stack to the kernel.
#[derive(Clone, Debug)]
pub(super) enum Line {
    /// A TUN device, MTU 1500, without offload, so that every packet is as it would be on a wire.
    Tun,
    /// The same with the link emulator behind it.
    Emulated(Rules, u64),
}

/// The stack as a backend.
pub(super) struct OurStack {
    client: Client,
    /// A listener for each size of the socket buffer, in octets.
    servers: Vec<(u64, SocketAddr)>,
    conditions: Conditions,
}

impl OurStack {
    /// Starts the stack, and looks at a first connection.
    pub(super) fn open(plan: &Plan) -> Result<Self, Failure> {
        priority::prefer();
        let space = networks::space()?;
        let profile = Profile::named(plan.profile).expect("the plan names a registered one");
        let servers = host::start(&space, plan, profile)?;
        let client = Client::new(Some(space), plan.socket_options());
        let probe = client.connect(servers[0].1).map_err(|error| Failure::Io {
            doing: "connecting to the stack".into(),
            error,
        })?;
        let mss = tcp_info(&probe).map_or(0, |info| info.snd_mss);
        let config = (profile.config)(&Sizes {
            mss: MTU,
            send_buffer: 1,
            receive_buffer: 1,
        });
        let conditions = Conditions {
            backend: "stack",
            link: plan.line.name().into(),
            stack: format!("{}, to {}", profile.name, super::kernel::release()),
            mss: u16::try_from(mss).unwrap_or(u16::MAX),
            congestion: congestion(&config),
        };
        Ok(Self {
            client,
            servers,
            conditions,
        })
    }
}

impl Backend for OurStack {
    fn conditions(&self) -> Conditions {
        self.conditions.clone()
    }

    fn run(&mut self, trial: &Trial, made: &mut dyn FnMut()) -> Result<Taken, Failure> {
        let mut servers = self.servers.iter();
        let (_, server) = servers
            .find(|(buffer, _)| *buffer == trial.socket_buffer)
            .expect("there is a listener for every size of the plan");
        let taken = self.client.transfers(*server, trial, made);
        taken.map_err(|error| Failure::Io {
            doing: format!("transferring over {}", self.conditions.link),
            error,
        })
    }
}

impl Line {
    /// As shown.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Tun => "tun",
            Self::Emulated(..) => "emulated",
        }
    }
}
