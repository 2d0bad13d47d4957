//! What is asked of the kernel's network configuration (rtnetlink), in the calling thread's
//! namespace.

use std::io;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

/// Turns the loopback device on.
///
/// # Errors
/// What the kernel says.
pub fn loopback_up() -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = LOOPBACK;
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    ask(RouteNetlinkMessage::SetLink(message), 0)
}

/// Sets how many packets may wait in a device's queue.
///
/// # Errors
/// What the kernel says. (The older `SIOCSIFTXQLEN` wants root of the whole machine.)
pub fn set_queue_length(device: u32, packets: u32) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = device;
    message.attributes = vec![LinkAttribute::TxQueueLen(packets)];
    ask(RouteNetlinkMessage::SetLink(message), 0)
}

/// Sends one request and waits for the kernel's answer.
fn ask(request: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
    let mut message = NetlinkMessage::new(header, request.into());
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    let (answer, _) = socket.recv_from_full()?;
    let answer =
        NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer).map_err(io::Error::other)?;
    match answer.payload {
        NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
        _ => Ok(()),
    }
}

/// The loopback device is the first of every namespace.
const LOOPBACK: u32 = 1;
