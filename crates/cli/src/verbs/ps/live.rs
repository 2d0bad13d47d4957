//! Reads a socket's options through a copy of its owner's descriptor (`pidfd_getfd`).
//!
//! It changes nothing on the socket and closes the copy at once.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

use libc::{c_int, socklen_t};
use netlink_packet_sock_diag::inet::nlas::TcpInfo;
use procfs::ProcError;
use procfs::process::{FDTarget, Process, all_processes};
use tinygram_link::tcp_info::{get, tcp_info};

use super::connection::{Connection, Counts, Options, Owner, state_name};
use crate::covered::Covered;

/// Calls `visit` with every descriptor of every process that leads to a socket, and with a function
/// that reads the socket. Adds the processes that may not be read to `hidden`.
pub(crate) fn each_socket(
    hidden: &mut BTreeSet<i32>,
    mut visit: impl FnMut(u64, Owner, &mut dyn FnMut() -> Option<Connection>),
) {
    let Ok(processes) = all_processes() else {
        return;
    };
    for process in processes.flatten() {
        let pid = process.pid;
        if let Err(ProcError::PermissionDenied(_)) = visit_process(&process, hidden, &mut visit) {
            hidden.insert(pid);
        }
    }
}

fn visit_process(
    process: &Process,
    hidden: &mut BTreeSet<i32>,
    visit: &mut impl FnMut(u64, Owner, &mut dyn FnMut() -> Option<Connection>),
) -> Result<(), ProcError> {
    let descriptors = process.fd()?;
    let mut about = None;
    let handle = pidfd_open(process.pid)?;
    for descriptor in descriptors.flatten() {
        if let FDTarget::Socket(inode) = descriptor.target {
            if about.is_none() {
                about = Some(owner(process)?);
            }
            let owner = Owner {
                fd: descriptor.fd,
                ..about.clone().expect("just found")
            };
            visit(
                inode,
                owner,
                &mut || match pidfd_getfd(&handle, descriptor.fd) {
                    Ok(socket) => read(&socket),
                    Err(error) => {
                        // A process that has ended since it was listed is not an error.
                        if error.kind() == io::ErrorKind::PermissionDenied {
                            hidden.insert(process.pid);
                        }
                        None
                    }
                },
            );
        }
    }
    Ok(())
}

/// Returns the owner for all descriptors of a process.
fn owner(process: &Process) -> Result<Owner, ProcError> {
    let pid = process.pid;
    let network = |pid: &str| {
        fs::metadata(format!("/proc/{pid}/ns/net"))
            .ok()
            .map(|meta| meta.ino())
    };
    let theirs = network(&pid.to_string());
    let covered = Covered::find(pid as u32).ok().flatten();
    Ok(Owner {
        pid,
        name: process.stat()?.comm,
        fd: -1,
        user: process.uid().ok().map(user_name),
        container: container(pid),
        network_namespace: theirs.filter(|theirs| network("self") != Some(*theirs)),
        covered: covered.and_then(|covered| covered.state().ok().flatten()),
    })
}

/// Returns the name from the local list of users; the number if it is not listed.
fn user_name(uid: u32) -> String {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == uid.to_string()).then(|| name.to_owned())
    });
    named.unwrap_or_else(|| uid.to_string())
}

/// Returns the container that a process's control group is named after: its first twelve
/// characters, as the usual tools show it.
fn container(pid: i32) -> Option<String> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    groups.split(['/', '\n', '-', '.', ':']).find_map(|part| {
        let is_id = part.len() == 64 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then(|| part[..12].to_owned())
    })
}

/// Returns the connection behind a descriptor, without its owners; `None` if it is not a TCP
/// connection.
fn read(socket: &OwnedFd) -> Option<Connection> {
    if option(socket, libc::SOL_SOCKET, libc::SO_PROTOCOL)? != libc::IPPROTO_TCP as u32 {
        return None;
    }
    let info = tcp_info(socket)?;
    let flag = |name| option(socket, libc::IPPROTO_TCP, name).map(|value| value != 0);
    Some(Connection {
        owners: Vec::new(),
        local: address(socket, libc::getsockname)?,
        remote: address(socket, libc::getpeername)?,
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

fn option(socket: &OwnedFd, level: c_int, name: c_int) -> Option<u32> {
    let mut bytes = [0; 4];
    get(socket, level, name, &mut bytes).filter(|length| *length == 4)?;
    Some(u32::from_ne_bytes(bytes))
}

type NameCall = unsafe extern "C" fn(c_int, *mut libc::sockaddr, *mut socklen_t) -> c_int;

fn address(socket: &OwnedFd, call: NameCall) -> Option<SocketAddr> {
    // SAFETY: any bytes are a valid address storage.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let mut length = size_of_val(&storage) as socklen_t;
    let place = (&raw mut storage).cast();
    // SAFETY: the kernel writes at most `length` bytes of storage, of the family it names.
    unsafe {
        if call(socket.as_raw_fd(), place, &raw mut length) != 0 {
            return None;
        }
        match c_int::from(storage.ss_family) {
            libc::AF_INET => {
                let v4 = place.cast::<libc::sockaddr_in>().read();
                Some(
                    (
                        Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr)),
                        u16::from_be(v4.sin_port),
                    )
                        .into(),
                )
            }
            libc::AF_INET6 => {
                let v6 = place.cast::<libc::sockaddr_in6>().read();
                let ip = IpAddr::from(Ipv6Addr::from(v6.sin6_addr.s6_addr)).to_canonical();
                Some((ip, u16::from_be(v6.sin6_port)).into())
            }
            _ => None,
        }
    }
}

fn pidfd_open(pid: i32) -> Result<OwnedFd, ProcError> {
    // SAFETY: no pointers.
    Ok(owned(unsafe {
        libc::syscall(libc::SYS_pidfd_open, pid, 0)
    })?)
}

fn pidfd_getfd(process: &OwnedFd, fd: i32) -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0) })
}

fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    match c_int::try_from(result) {
        // SAFETY: a fresh descriptor that belongs to nobody else.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// include/uapi/linux/tcp.h, Linux 6.15.
const TCP_RTO_MIN_US: c_int = 45;
const TCP_DELACK_MAX_US: c_int = 46;
