//! Joins the namespaces, and keeps the link while the command or the user wants it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};

use tinygram_link::device::TunDevice;
use tinygram_link::namespace::{self, Namespace};
use tinygram_link::netlink;
use tinygram_link::relay::{Carried, Link};
use tinygram_link::veth::{self, Offload};

use super::plan::{Emulation, FAR, How, NEAR, Plan};
use super::show;
use crate::outcome::Failure;
use crate::supervise::Supervisor;
use crate::{stop, supervise, terminal};

/// How it ended.
pub(super) struct Ended {
    /// What an emulated link carried, there and back.
    pub(super) carried: Option<[Carried; 2]>,
    /// How the command ended.
    pub(super) status: Option<ExitStatus>,
}

pub(super) fn link(plan: &Plan) -> Result<Ended, Failure> {
    let [near, far] = namespaces(plan)?;
    // Signals are caught before there is anything to remove; with a command they go to the command.
    let supervisor = match plan.command.is_empty() {
        true => {
            stop::listen()?;
            None
        }
        false => Some(supervise::stand_by()?),
    };
    let link = match &plan.how {
        How::Veth(offload) => {
            join_by_veth(*offload, &near, &far)?;
            None
        }
        How::Emulated(emulation) => Some(emulate(emulation, &near, &far)?),
    };
    let status = match supervisor {
        None => {
            terminal::print(show::invitation(&near, &far).as_bytes())?;
            stop::wait_for_ever();
            None
        }
        Some(supervisor) => Some(run_command(plan, supervisor, &near, &far)?),
    };
    let carried = link.map(|link| link.end().map_err(|error| io("carrying packets", error)));
    Ok(Ended {
        carried: carried.transpose()?,
        status,
    })
}

fn emulate(emulation: &Emulation, near: &Namespace, far: &Namespace) -> Result<Link, Failure> {
    let device = |space: &Namespace, own| {
        TunDevice::new(space, DEVICE, own, emulation.mtu).map_err(|error| {
            let there_is_none = error.kind() == io::ErrorKind::NotFound;
            match there_is_none {
                true => Failure::Input("this kernel has no TUN driver (/dev/net/tun)".into()),
                false => io("making a TUN device", error),
            }
        })
    };
    let devices = (device(near, NEAR)?, device(far, FAR)?);
    Link::join(devices.0, devices.1, emulation.rules(), emulation.seed)
        .map_err(|error| io("starting the link", error))
}

/// Joins the namespaces by a veth pair, which is removed with them.
fn join_by_veth(offload: Offload, near: &Namespace, far: &Namespace) -> Result<(), Failure> {
    veth::join([near, far], DEVICE, [NEAR, FAR], offload)
        .map_err(|error| io("making a veth pair", error))
}

/// Returns the named namespaces, or two new ones.
fn namespaces(plan: &Plan) -> Result<[Namespace; 2], Failure> {
    let refused = |error: namespace::Error| Failure::Input(error.to_string());
    if let Some([first, second]) = &plan.between {
        let open = |name: &String| Namespace::named(name).map_err(refused);
        return Ok([open(first)?, open(second)?]);
    }
    namespace::acquire_privilege().map_err(refused)?;
    let make = || -> io::Result<Namespace> {
        let space = Namespace::new()?;
        space.within(netlink::loopback_up)??;
        Ok(space)
    };
    let make = || make().map_err(|error| io("making a network namespace", error));
    Ok([make()?, make()?])
}

fn run_command(
    plan: &Plan,
    supervisor: Supervisor,
    near: &Namespace,
    far: &Namespace,
) -> Result<ExitStatus, Failure> {
    let (name, arguments) = plan.command.split_first().expect("checked by the caller");
    let inside = near.clone();
    let mut command = Command::new(name);
    command
        .args(arguments)
        .env("TINYGRAM_PEER", FAR.v4.to_string())
        .env("TINYGRAM_PEER6", FAR.v6.to_string())
        .env("TINYGRAM_PEER_NETNS", far.path());
    // SAFETY: one system call on an open descriptor, between fork and exec.
    unsafe { command.pre_exec(move || inside.enter()) };
    supervisor.start(command)?.wait()
}

fn io(doing: &str, error: io::Error) -> Failure {
    Failure::Io {
        doing: doing.into(),
        error,
    }
}

/// The name of the device at both ends.
const DEVICE: &str = "link0";
