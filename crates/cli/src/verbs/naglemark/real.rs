//! The backends with real packets, on Linux: the kernel's sockets, under BPF too, and our own stack.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use tinygram_link::emulator::Rules;
use tinygram_link::host_costs::{self, Measured};
use tinygram_link::veth::Offload;
use tinygram_naglemark::load::LoadBackend;
use tinygram_naglemark::{Backend, Error, Plan, Policy};
use tinygram_naglemark_live::{
    self as live, Kernel, Line, LoadedKernel, Options, OurStack, Settings, Where,
};

use super::args::costs::{Cost, HostCosts};
use super::args::load::BackendName as Loaded;
use super::args::{BackendName, LinkName};
use super::ends::{Ends, Path};
use crate::outcome::{Done, Failure};
use crate::terminal;

/// What joins the two ends.
#[derive(Clone, Debug)]
pub(super) struct Joined {
    /// The path between the kernel's sockets.
    place: Where,
    /// The path between the stack and the kernel.
    line: Line,
}

impl Joined {
    /// Returns what joins the two ends of this path.
    pub(super) fn by(path: &Path<'_>) -> Result<Self, Failure> {
        let rules = Rules {
            rate: path.rate,
            delay: path.delay,
            impairment: path.impairment,
            reorder_by: REORDER_BY,
            ..Rules::NONE
        };
        let line = match path.link {
            LinkName::Emulated => Line::Emulated(rules, path.seed),
            LinkName::Loopback | LinkName::Veth => Line::Tun,
        };
        let place = match (path.connect, path.link) {
            (Some(typed), _) => Where::Remote(resolve(typed)?),
            (None, LinkName::Loopback) => Where::Loopback,
            (None, LinkName::Veth) if path.offload => Where::Veth(Offload::On),
            (None, LinkName::Veth) => Where::Veth(Offload::Off),
            (None, LinkName::Emulated) => Where::Emulated(rules, path.seed),
        };
        Ok(Self { place, line })
    }

    /// Returns what joins the kernel's sockets, and the stack to the kernel, by name.
    #[cfg(test)]
    pub(super) fn names(&self) -> (&'static str, &'static str) {
        (self.place.name(), self.line.name())
    }

    /// Returns whether namespaces must be made for a backend.
    pub(super) fn needs_namespaces(&self, backend: BackendName) -> bool {
        match backend {
            BackendName::Sim => false,
            BackendName::Kernel | BackendName::Bpf => self.place.needs_namespaces(),
            BackendName::Stack => true,
        }
    }

    /// Prepares a backend: namespaces, devices, listeners. What is simulated needs none.
    pub(super) fn open(
        &self,
        backend: BackendName,
        ends: Ends,
        plan: &Plan,
    ) -> Result<Option<Box<dyn Backend>>, Error> {
        let options = Options {
            mss: ends.mss,
            receive_buffer: ends.receive_buffer,
        };
        Ok(Some(match backend {
            BackendName::Sim => return Ok(None),
            BackendName::Kernel => Box::new(Kernel::open(&self.place, options)?),
            BackendName::Bpf => {
                Box::new(Kernel::with_policies(&self.place, options, &plan.policies)?)
            }
            BackendName::Stack => Box::new(OurStack::open(&Settings {
                line: self.line.clone(),
                profile: ends.profile,
                options,
                socket_buffers: plan.socket_buffers.clone(),
                policies: plan.policies.clone(),
            })?),
        }))
    }
}

/// Acquires the right to make namespaces. Call it before any thread is started.
pub(super) fn acquire_privilege() -> Result<(), Failure> {
    live::acquire_privilege().map_err(|error| Failure::Input(error.to_string()))
}

/// Prepares the kernel's sockets for load. Call it before any thread is started.
pub(super) fn loaded(
    backend: Loaded,
    policies: &[Policy],
) -> Result<Box<dyn LoadBackend>, Failure> {
    acquire_privilege()?;
    Ok(Box::new(match backend {
        Loaded::Bpf => LoadedKernel::with_policies(policies)?,
        Loaded::Kernel | Loaded::Sim => LoadedKernel::open()?,
    }))
}

/// Measures what calls cost on this machine.
pub(super) fn costs(batches: usize, rounds: usize) -> Result<HostCosts, Failure> {
    acquire_privilege()?;
    let measured = host_costs::measure(batches, rounds).map_err(|error| Failure::Io {
        doing: "measuring what calls cost".into(),
        error,
    })?;
    let Measured::Costs(costs) = measured else {
        return Err(Failure::Input(
            "naglemark costs: this machine has one processor (accepted: two, one for each end)"
                .into(),
        ));
    };
    let of = |cost: host_costs::Cost| Cost {
        us: cost.us,
        from: cost.from,
        to: cost.to,
    };
    Ok(HostCosts {
        write: of(costs.write),
        segment: of(costs.segment),
        acknowledgment: of(costs.acknowledgment),
        read: of(costs.read),
        wakeup: of(costs.wakeup),
    })
}

/// Answers clients on other machines until it is ended.
pub(super) fn serve(at: SocketAddr) -> Result<Done, Failure> {
    let listener = live::listen(at).map_err(|error| Failure::Io {
        doing: format!("listening on {at}"),
        error,
    })?;
    let at = listener.local_addr().unwrap_or(at);
    terminal::remark(&format!(
        "tinygram: serving on {at}; on the other host: tinygram naglemark --backend kernel --connect HOST:{}",
        at.port()
    ));
    live::serve(&listener);
    Ok(Done::Well)
}

fn resolve(typed: &str) -> Result<SocketAddr, Failure> {
    let mut found = typed.to_socket_addrs().map_err(|error| {
        Failure::Input(format!(
            "--connect {typed}: {error}; accepted: HOST:PORT as naglemark serve prints it"
        ))
    })?;
    found
        .next()
        .ok_or_else(|| Failure::Input(format!("--connect {typed}: no such host")))
}

/// Long enough for the next few segments to overtake.
const REORDER_BY: Duration = Duration::from_millis(1);
