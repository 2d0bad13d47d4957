//! The kernel's list of TCP sockets (`sock_diag`): those of every user, but only in this network
//! namespace, and without their owners or options.

use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;

use netlink_packet_core::NLM_F_DUMP;
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::nlas::Nla;
use netlink_packet_sock_diag::inet::{
    ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags,
};
use netlink_sys::protocols::NETLINK_SOCK_DIAG;
use tinygram_link::netlink;

use super::connection::{Connection, state_name};
use super::live;
use super::socket::Counts;

/// Returns every connection with its inode, which is 0 if its process has ended.
pub(crate) fn connections() -> io::Result<Vec<(u64, Connection)>> {
    let mut all = Vec::new();
    for (family, socket_id) in [
        (AF_INET, SocketId::new_v4()),
        (AF_INET6, SocketId::new_v6()),
    ] {
        let request = InetRequest {
            family,
            protocol: IPPROTO_TCP,
            extensions: ExtensionFlags::INFO,
            states: StateFlags::all(),
            socket_id,
        };
        let request = SockDiagMessage::InetRequest(request);
        netlink::ask(NETLINK_SOCK_DIAG, request, NLM_F_DUMP, |answer| {
            if let SockDiagMessage::InetResponse(response) = answer {
                all.extend(connection(&response));
            }
            ControlFlow::Continue(())
        })?;
    }
    // All connections without a process have inode 0: distinguish them by numbers that no inode
    // has.
    for (index, (inode, _)) in all
        .iter_mut()
        .enumerate()
        .filter(|(_, (inode, _))| *inode == 0)
    {
        *inode = u64::MAX - index as u64;
    }
    Ok(all)
}

fn connection(response: &InetResponse) -> Option<(u64, Connection)> {
    let id = &response.header.socket_id;
    let info = response.nlas.iter().find_map(|attribute| match attribute {
        Nla::TcpInfo(info) => Some(live::counts(info)),
        _ => None,
    });
    let connection = Connection {
        owners: Vec::new(),
        local: SocketAddr::new(id.source_address.to_canonical(), id.source_port),
        remote: SocketAddr::new(id.destination_address.to_canonical(), id.destination_port),
        state: state_name(response.header.state)?,
        options: None,
        counts: info.unwrap_or_else(Counts::default),
        verdict: None,
        changed: Vec::new(),
        cookie: Some(u64::from_ne_bytes(id.cookie)),
    };
    Some((u64::from(response.header.inode), connection))
}
