//! Reads a socket's options through a copy of its owner's descriptor (`pidfd_getfd`).
//!
//! It changes nothing on the socket and closes the copy at once.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

use libc::c_int;
use netlink_packet_sock_diag::inet::nlas::TcpInfo;
use procfs::ProcError;
use procfs::process::{FDTarget, Process, all_processes};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use socket2::SockRef;
use tinygram_host::names::Names;
use tinygram_host::process::{self, user_name};
use tinygram_link::tcp_info::{get, tcp_info};

use super::connection::{Connection, Owner, state_name};
use super::socket::{Counts, Options};
use crate::covered::Covered;

/// Calls `visit` with every descriptor of every process that leads to a socket, and with a function
/// that reads the socket. Adds the processes that may not be read to `hidden`.
pub(crate) fn each_socket(
    names: &mut Names,
    hidden: &mut BTreeSet<i32>,
    mut visit: impl FnMut(u64, Owner, &mut dyn FnMut() -> Option<Connection>),
) {
    let Ok(processes) = all_processes() else {
        return;
    };
    for process in processes.flatten() {
        let pid = process.pid;
        if let Err(ProcError::PermissionDenied(_)) =
            visit_process(&process, names, hidden, &mut visit)
        {
            hidden.insert(pid);
        }
    }
}

fn visit_process(
    process: &Process,
    names: &mut Names,
    hidden: &mut BTreeSet<i32>,
    visit: &mut impl FnMut(u64, Owner, &mut dyn FnMut() -> Option<Connection>),
) -> Result<(), ProcError> {
    let descriptors = process.fd()?;
    let mut about = None;
    let Some(pid) = Pid::from_raw(process.pid) else {
        return Ok(());
    };
    let handle = pidfd_open(pid, PidfdFlags::empty()).map_err(io::Error::from)?;
    for descriptor in descriptors.flatten() {
        if let FDTarget::Socket(inode) = descriptor.target {
            if about.is_none() {
                about = Some(owner(process, names)?);
            }
            let owner = Owner {
                fd: descriptor.fd,
                ..about.clone().expect("just found")
            };
            visit(inode, owner, &mut || match pidfd_getfd(
                &handle,
                descriptor.fd,
                PidfdGetfdFlags::empty(),
            ) {
                Ok(socket) => read(&socket),
                Err(error) => {
                    // A process that has ended since it was listed is not an error.
                    if io::Error::from(error).kind() == io::ErrorKind::PermissionDenied {
                        hidden.insert(process.pid);
                    }
                    None
                }
            });
        }
    }
    Ok(())
}

/// Returns the owner for all descriptors of a process.
fn owner(process: &Process, names: &mut Names) -> Result<Owner, ProcError> {
    let pid = process.pid;
    let network = |pid: &str| {
        fs::metadata(format!("/proc/{pid}/ns/net"))
            .ok()
            .map(|meta| meta.ino())
    };
    let theirs = network(&pid.to_string());
    let covered = Covered::find(pid as u32).ok().flatten();
    let user = process.uid().ok().map(user_name);
    let name = process.stat()?.comm;
    let about = process::Process::read(pid as u32, &name, user.clone().unwrap_or_default(), names);
    let container = about.container.as_ref();
    Ok(Owner {
        pid,
        name: about.name.clone(),
        script: about.script.clone(),
        fd: -1,
        user,
        container: container.and_then(|container| Some(container.id()?.to_string())),
        container_name: container.and_then(|container| Some(container.name()?.to_owned())),
        pod: container.and_then(|container| Some(container.pod()?.to_owned())),
        namespace: container.and_then(|container| Some(container.namespace()?.to_owned())),
        network_namespace: theirs.filter(|theirs| network("self") != Some(*theirs)),
        covered: covered.and_then(|covered| covered.state().ok().flatten()),
        process: about,
    })
}

/// Returns the connection behind a descriptor, without its owners; nothing if it is not a TCP connection.
fn read(socket: &OwnedFd) -> Option<Connection> {
    if option(socket, libc::SOL_SOCKET, libc::SO_PROTOCOL)? != libc::IPPROTO_TCP as u32 {
        return None;
    }
    let info = tcp_info(socket)?;
    let flag = |name| option(socket, libc::IPPROTO_TCP, name).map(|value| value != 0);
    let ends = SockRef::from(socket);
    Some(Connection {
        owners: Vec::new(),
        local: canonical(ends.local_addr().ok()?.as_socket()?),
        remote: canonical(ends.peer_addr().ok()?.as_socket()?),
        state: state_name(info.state)?,
        options: Some(Options {
            nodelay: flag(libc::TCP_NODELAY)?,
            cork: flag(libc::TCP_CORK)?,
            quickack: flag(libc::TCP_QUICKACK)?,
            delayed_ack_max_us: option(socket, libc::IPPROTO_TCP, TCP_DELACK_MAX_US),
            rto_min_us: option(socket, libc::IPPROTO_TCP, TCP_RTO_MIN_US),
            send_buffer: option(socket, libc::SOL_SOCKET, libc::SO_SNDBUF)?,
            receive_buffer: option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF)?,
        }),
        counts: counts(&info),
        verdict: None,
        changed: Vec::new(),
        cookie: ends.cookie().ok(),
    })
}

/// Returns the figures of the kernel's `struct tcp_info` that are shown.
pub(crate) fn counts(info: &TcpInfo) -> Counts {
    Counts {
        mss: info.snd_mss,
        rtt_us: info.rtt,
        // The kernel's value for "not measured yet" is the largest number.
        min_rtt_us: if info.min_rtt == u32::MAX {
            0
        } else {
            info.min_rtt
        },
        ack_timeout_us: info.ato,
        congestion_window: info.snd_cwnd,
        data_segments_sent: info.data_segs_out,
        data_segments_received: info.data_segs_in,
        bytes_sent: info.bytes_sent,
        bytes_received: info.bytes_received,
        segments_unacknowledged: info.unacked,
        bytes_not_sent: info.notsent_bytes,
        busy_us: info.busy_time,
    }
}

/// Returns an IPv4 address for one that IPv6 only wraps.
fn canonical(address: SocketAddr) -> SocketAddr {
    (address.ip().to_canonical(), address.port()).into()
}

fn option(socket: &OwnedFd, level: c_int, name: c_int) -> Option<u32> {
    let mut bytes = [0; 4];
    get(socket, level, name, &mut bytes).filter(|length| *length == 4)?;
    Some(u32::from_ne_bytes(bytes))
}

/// include/uapi/linux/tcp.h, Linux 6.15.
const TCP_RTO_MIN_US: c_int = 45;
const TCP_DELACK_MAX_US: c_int = 46;
