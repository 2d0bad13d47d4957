//! `tinygram link`: two namespaces joined by an emulated link: rate, delay, loss and the rest.

mod shown;

use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tinygram_link::device::{Addresses, Device};
use tinygram_link::emulator::Rules;
use tinygram_link::namespace::{self, Namespace};
use tinygram_link::netlink;
use tinygram_link::relay::Link;
use tinygram_link::veth::{self, Offload};

use crate::exit::{Done, Failure, complain};
use crate::supervise;
use crate::terminal;
use crate::values::{count, duration, rate, share};

/// Join two network namespaces by an emulated link: rate, delay, loss and the rest
///
/// Also makes the namespaces, or uses two existing ones. A COMMAND runs in the first and finds the
/// address of its peer in TINYGRAM_PEER and TINYGRAM_PEER6; without one, the link stays until Ctrl-C.
/// Nothing is left behind.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Bits per second each way, IP headers included [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Option<u64>,

    /// Delay one way; a round trip takes twice as long
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "0ms")]
    delay: Duration,

    /// Share of packets that are lost
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0%")]
    loss: f64,

    /// Share of packets that are held back, so that others overtake
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0%")]
    reorder: f64,

    /// How long those are held back
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1ms")]
    reorder_by: Duration,

    /// Share of packets that are sent twice
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0%")]
    duplicate: f64,

    /// Packets that may wait for a link with a rate; what comes then is dropped
    #[arg(long, value_name = "PACKETS", value_parser = count(0_u32..=1_000_000), default_value_t = 1000)]
    queue: u32,

    /// Largest IP packet, in bytes
    #[arg(long, value_name = "BYTES", value_parser = count(1280_u16..=65_535), default_value_t = 1500)]
    mtu: u16,

    /// Seed of the random numbers: the same packets meet the same fate
    #[arg(long, value_name = "N", value_parser = count(0..=u64::MAX), default_value_t = 1)]
    seed: u64,

    /// Join by the kernel's own veth pair instead: no rate and no delay, nothing is lost or counted
    #[arg(long, conflicts_with_all = EMULATED)]
    veth: bool,

    /// Leave segmentation offload on over veth, so that segments are joined beneath TCP
    #[arg(long, requires = "veth")]
    offload: bool,

    /// Join these two, made by `ip netns add`, instead of new ones
    #[arg(long, value_names = ["FIRST", "SECOND"], num_args = 2)]
    namespaces: Vec<String>,

    /// Write the statistics as one JSON document
    #[arg(long)]
    json: bool,

    /// Run this in the first namespace, and end with it
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The options that only the emulator has, and those that would outlive a veth pair's end.
const EMULATED: [&str; 11] = [
    "rate",
    "delay",
    "loss",
    "reorder",
    "reorder_by",
    "duplicate",
    "queue",
    "mtu",
    "seed",
    "namespaces",
    "json",
];

const EXAMPLES: &str = "\
Examples:
  tinygram link --rate 20Mbit --delay 10ms --loss 1%           two namespaces, until Ctrl-C
  tinygram link --delay 10ms -- sh -c 'ping -c 3 $TINYGRAM_PEER'
  tinygram link --delay 10ms -- sh                             a shell at one end; the other end:
    nsenter --net=$TINYGRAM_PEER_NETNS python3 -m http.server &
  ip netns add a; ip netns add b; tinygram link --namespaces a b --rate 1Gbit
  tinygram link --veth -- ping -c 3 10.77.0.2                  as fast as the kernel is";

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let [near, far] = namespaces(args)?;
    // Signals are caught before there is anything to remove.
    let caught =
        Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(|error| io("catching signals", error))?;
    let link = if args.veth {
        join_by_veth(args, &near, &far)?;
        None
    } else {
        Some(emulate(args, &near, &far)?)
    };

    let status = if args.command.is_empty() {
        terminal::print(shown::invitation(&near, &far).as_bytes())?;
        wait_for_signal(caught);
        None
    } else {
        // From now on signals go to the command.
        drop(caught);
        Some(run_command(&args.command, &near, &far)?)
    };

    let Some(link) = link else {
        return match status {
            None => Ok(Done::Well),
            Some(status) => supervise::end_like(status),
        };
    };
    let carried = link.end().map_err(|error| io("carrying packets", error))?;
    let text = if args.json {
        shown::json(args, &carried)
    } else {
        shown::text(&carried)
    };
    match status {
        None => terminal::print(text.as_bytes()),
        // Standard output belongs to the command.
        Some(status) => {
            complain(text.trim_end_matches('\n'));
            supervise::end_like(status)
        }
    }
}

fn emulate(args: &Args, near: &Namespace, far: &Namespace) -> Result<Link, Failure> {
    let device = |space: &Namespace, own| {
        Device::new(space, DEVICE, own, args.mtu).map_err(|error| {
            let there_is_none = error.kind() == io::ErrorKind::NotFound;
            match there_is_none {
                true => Failure::Input("this kernel has no TUN driver (/dev/net/tun)".into()),
                false => io("making a TUN device", error),
            }
        })
    };
    let devices = (device(near, NEAR)?, device(far, FAR)?);
    Link::join(devices.0, devices.1, rules(args), args.seed)
        .map_err(|error| io("starting the link", error))
}

/// Joins the namespaces by a veth pair, which is removed with them.
fn join_by_veth(args: &Args, near: &Namespace, far: &Namespace) -> Result<(), Failure> {
    let offload = match args.offload {
        true => Offload::On,
        false => Offload::Off,
    };
    veth::join([near, far], DEVICE, [NEAR, FAR], offload)
        .map_err(|error| io("making a veth pair", error))
}

/// Returns the named namespaces, or two new ones.
fn namespaces(args: &Args) -> Result<[Namespace; 2], Failure> {
    let refused = |error: namespace::Error| Failure::Input(error.to_string());
    if let [first, second] = args.namespaces.as_slice() {
        if first == second {
            return Err(Failure::Input(format!(
                "--namespaces {first} {second}: a link joins two namespaces, not one with itself"
            )));
        }
        let open = |name: &String| Namespace::named(name).map_err(refused);
        return Ok([open(first)?, open(second)?]);
    }
    namespace::acquire_privilege().map_err(refused)?;
    let make = || -> io::Result<Namespace> {
        let space = Namespace::new()?;
        space.within(netlink::loopback_up)?;
        Ok(space)
    };
    let make = || make().map_err(|error| io("making a network namespace", error));
    Ok([make()?, make()?])
}

fn rules(args: &Args) -> Rules {
    Rules {
        rate: args.rate,
        delay: args.delay,
        loss: args.loss,
        reorder: args.reorder,
        reorder_by: args.reorder_by,
        duplicate: args.duplicate,
        queue: args.queue as usize,
    }
}

fn run_command(
    words: &[OsString],
    near: &Namespace,
    far: &Namespace,
) -> Result<ExitStatus, Failure> {
    let (name, arguments) = words.split_first().expect("checked by the caller");
    let inside = Arc::new(
        near.try_clone()
            .map_err(|error| io("entering the namespace", error))?,
    );
    let mut command = Command::new(name);
    command
        .args(arguments)
        .env("TINYGRAM_PEER", FAR.v4.to_string())
        .env("TINYGRAM_PEER6", FAR.v6.to_string())
        .env("TINYGRAM_PEER_NETNS", far.path());
    // SAFETY: one system call on an open descriptor, between fork and exec.
    unsafe { command.pre_exec(move || inside.enter()) };
    let waiting = |error| io("waiting for the command", error);
    let supervisor = supervise::stand_by().map_err(waiting)?;
    let child = command
        .spawn()
        .map_err(|error| Failure::Input(format!("cannot run {}: {error}", name.display())))?;
    supervisor.wait(&child).map_err(waiting)
}

fn wait_for_signal(mut caught: Signals) {
    let _ = caught.forever().next();
    // A second Ctrl-C ends us by default.
    drop(caught);
}

fn io(doing: &str, error: io::Error) -> Failure {
    Failure::Io {
        doing: doing.into(),
        error,
    }
}

/// The name of the device at both ends.
const DEVICE: &str = "link0";
const NEAR: Addresses = Addresses {
    v4: Ipv4Addr::new(10, 77, 0, 1),
    v6: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1),
};
const FAR: Addresses = Addresses {
    v4: Ipv4Addr::new(10, 77, 0, 2),
    v6: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 2),
};
