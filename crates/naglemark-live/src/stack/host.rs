//! The thread that runs the stack, with its device and its listeners.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, mpsc};

use tinygram_link::device::{self, Addresses};
use tinygram_link::namespace::Namespace;
use tinygram_link::relay::Link;
use tinygram_naglemark::{Error, Policy};
use tinygram_stack::device::{Device, PacketSocket};
use tinygram_stack::{SocketOptions, Stack, StackSettings, TcpListener, Tun, TunSettings};

use super::{Line, Settings, server};
use crate::networks::{DEVICE, FAR, MTU, NEAR};

/// The arguments of the thread.
struct Given {
    /// The kernel's namespace.
    inside: Namespace,
    line: Line,
    options: SocketOptions,
    /// Sizes of the send buffer, in octets.
    send_buffers: Vec<u64>,
    policies: Arc<[Policy]>,
}

/// Starts the stack and the device or link that joins it to the kernel in `space`. Returns a
/// server's address for each size of the socket buffer. The stack and the servers run until the
/// process ends.
pub(super) fn start(
    space: &Namespace,
    settings: &Settings,
) -> Result<Vec<(u64, SocketAddr)>, Error> {
    let failed = |error: io::Error| Error::failed("making a TUN device for --backend stack", error);
    let given = Given {
        inside: space.clone(),
        line: settings.line.clone(),
        options: SocketOptions {
            profile: settings.profile,
            mss: settings.options.mss,
            ..SocketOptions::default()
        },
        send_buffers: settings.socket_buffers.clone(),
        policies: settings.policies.clone().into(),
    };
    let (tell, ready) = mpsc::channel();
    let thread = std::thread::Builder::new().name("stack".into());
    let run = move || {
        let told = tell.clone();
        if let Err(error) = live(given, tell) {
            let _ = told.send(Err(error));
        }
    };
    thread.spawn(run).map_err(failed)?;
    let ended = |_| Err(io::ErrorKind::UnexpectedEof.into());
    ready.recv().unwrap_or_else(ended).map_err(failed)
}

type Ready = io::Result<Vec<(u64, SocketAddr)>>;

/// Runs the thread: one runtime for driver and servers.
fn live(given: Given, tell: mpsc::Sender<Ready>) -> io::Result<()> {
    given.inside.enter()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match given.line {
            Line::Tun => run(tun()?, given, tell).await,
            Line::Emulated(rules, seed) => {
                let [here, there] = device::socket_pair()?;
                let kernels = device::TunDevice::new(&given.inside, DEVICE, NEAR, MTU)?;
                let _link = Link::join(kernels, there, rules, seed)?;
                run(PacketSocket::new(here, MTU)?, given, tell).await
            }
        }
    })
}

/// Runs the stack until its device disappears.
async fn run(device: impl Device, given: Given, tell: mpsc::Sender<Ready>) -> io::Result<()> {
    let ours = IpAddr::V4(FAR.v4);
    let (stack, driver) = Stack::with_driver(device, &[ours], &StackSettings::default())?;
    let mut servers = Vec::new();
    for &send_buffer in &given.send_buffers {
        let options = SocketOptions {
            send_buffer,
            ..given.options.clone()
        };
        let listener = TcpListener::bind_with(&stack, (ours, 0).into(), BACKLOG, &options)?;
        servers.push((send_buffer, listener.local_addr()));
        tokio::spawn(server::serve(listener, given.policies.clone()));
    }
    let _ = tell.send(Ok(servers));
    driver.await
}

/// Opens a TUN device in this thread's namespace.
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
