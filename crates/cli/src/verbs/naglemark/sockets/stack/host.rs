//! The thread on which the stack lives, with its device and its listeners.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc;

use tinygram_engine::profile::Profile;
use tinygram_link::device::{self, Addresses};
use tinygram_link::namespace::Namespace;
use tinygram_link::relay::Link;
use tinygram_stack::device::{Device, PacketSocket};
use tinygram_stack::{SocketOptions, Stack, StackSettings, TcpListener, Tun, TunSettings};

use super::super::networks::{DEVICE, FAR, MTU, NEAR};
use super::super::plan::Plan;
use super::{Line, server};
use crate::exit::Failure;

/// What the thread is given.
struct Settings {
    /// The kernel's namespace.
    inside: Namespace,
    line: Line,
    options: SocketOptions,
    /// Sizes of the send buffer, in octets.
    send_buffers: Vec<u64>,
    naglim: Option<u32>,
}

/// Starts the stack and what joins it to the kernel in `space`; gives a server's address for each size
/// of the socket buffer. They live as long as the process.
pub(super) fn start(
    space: &Namespace,
    plan: &Plan,
    profile: &'static Profile,
) -> Result<Vec<(u64, SocketAddr)>, Failure> {
    let failed = |error| Failure::Io {
        doing: "making a TUN device for --backend stack".into(),
        error,
    };
    let settings = Settings {
        inside: space.try_clone().map_err(failed)?,
        line: plan.line.clone(),
        options: SocketOptions {
            profile,
            mss: plan.mss,
            ..SocketOptions::default()
        },
        send_buffers: plan.socket_buffers.clone(),
        naglim: plan.naglim,
    };
    let (tell, ready) = mpsc::channel();
    let thread = std::thread::Builder::new().name("stack".into());
    let run = move || {
        let told = tell.clone();
        if let Err(error) = live(settings, tell) {
            let _ = told.send(Err(error));
        }
    };
    thread.spawn(run).map_err(failed)?;
    let ended = |_| Err(io::ErrorKind::UnexpectedEof.into());
    ready.recv().unwrap_or_else(ended).map_err(failed)
}

type Ready = io::Result<Vec<(u64, SocketAddr)>>;

/// The thread's life: one runtime for driver and servers.
fn live(settings: Settings, tell: mpsc::Sender<Ready>) -> io::Result<()> {
    settings.inside.enter()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match settings.line {
            Line::Tun => run(tun()?, settings, tell).await,
            Line::Emulated(rules, seed) => {
                let [here, there] = device::socket_pair()?;
                let kernels = device::Device::new(&settings.inside, DEVICE, NEAR, MTU)?;
                let _link = Link::join(kernels, there, rules, seed)?;
                run(PacketSocket::new(here, MTU)?, settings, tell).await
            }
        }
    })
}

/// Runs the stack until its device is gone.
async fn run(device: impl Device, settings: Settings, tell: mpsc::Sender<Ready>) -> io::Result<()> {
    let ours = IpAddr::V4(FAR.v4);
    let (stack, driver) = Stack::with_driver(device, &[ours], &StackSettings::default())?;
    let mut servers = Vec::new();
    for &send_buffer in &settings.send_buffers {
        let options = SocketOptions {
            send_buffer,
            ..settings.options.clone()
        };
        let listener = TcpListener::bind_with(&stack, (ours, 0).into(), BACKLOG, &options)?;
        servers.push((send_buffer, listener.local_addr()));
        tokio::spawn(server::serve(listener, settings.naglim));
    }
    let _ = tell.send(Ok(servers));
    driver.await
}

/// In this thread's namespace.
fn tun() -> io::Result<Tun> {
    Tun::open(&TunSettings {
        name: Some(DEVICE.into()),
        mtu: MTU,
        ipv4: Some((NEAR.v4, Addresses::V4_PREFIX)),
        offload: false,
        ..TunSettings::default()
    })
}

/// A trial has one connection at a time.
const BACKLOG: usize = 128;
