//! Asks the kernel by netlink, in the calling thread's namespace, and changes its network configuration (rtnetlink).

use std::io;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, AsRawFd};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader,
    NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

use crate::namespace::Namespace;

/// Turns the loopback device on.
///
/// # Errors
/// Returns the kernel's error.
pub fn loopback_up() -> io::Result<()> {
    set_up(LOOPBACK)
}

/// Turns a device on.
///
/// # Errors
/// Returns the kernel's error.
pub fn set_up(device: u32) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = device;
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    change(RouteNetlinkMessage::SetLink(message), 0)
}

/// Sets how many packets may wait in a device's queue.
///
/// # Errors
/// Returns the kernel's error. (The older `SIOCSIFTXQLEN` requires root of the whole machine, so it
/// is not used.)
pub fn set_queue_length(device: u32, packets: u32) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = device;
    message.attributes = vec![LinkAttribute::TxQueueLen(packets)];
    change(RouteNetlinkMessage::SetLink(message), 0)
}

/// Makes a pair of veth devices, one here and one in `there`, both of this name.
pub(crate) fn make_veth(name: &str, there: &Namespace) -> io::Result<()> {
    let mut peer = LinkMessage::default();
    let fd = there.as_fd().as_raw_fd();
    peer.attributes = vec![
        LinkAttribute::IfName(name.to_owned()),
        LinkAttribute::NetNsFd(fd),
    ];
    let mut message = LinkMessage::default();
    message.attributes = vec![
        LinkAttribute::IfName(name.to_owned()),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]),
    ];
    change(
        RouteNetlinkMessage::NewLink(message),
        NLM_F_CREATE | NLM_F_EXCL,
    )
}

/// Gives a device an address that is usable at once, without duplicate address detection, because
/// nobody else is on the link.
pub(crate) fn add_address(device: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
    let mut message = AddressMessage::default();
    message.header.index = device;
    message.header.prefix_len = prefix;
    message.header.family = match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    };
    message.header.flags = AddressHeaderFlags::Nodad;
    message.attributes = vec![
        AddressAttribute::Local(address),
        AddressAttribute::Address(address),
    ];
    change(
        RouteNetlinkMessage::NewAddress(message),
        NLM_F_CREATE | NLM_F_EXCL,
    )
}

/// Returns the number of the device with this name.
pub(crate) fn index_of(name: &str) -> io::Result<u32> {
    let socket = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        None,
    )?;
    Ok(rustix::net::netdevice::name_to_index(&socket, name)?)
}

/// Sends a request, and passes what the kernel answers to `each`, up to its last message (of a dump, or an
/// acknowledgment), or until `each` has heard enough.
///
/// # Errors
/// Returns the kernel's error.
pub fn ask<M: NetlinkSerializable + NetlinkDeserializable>(
    protocol: isize,
    request: M,
    flags: u16,
    mut each: impl FnMut(M) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut socket = Socket::new(protocol)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | flags;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(request));
    message.finalize();
    let mut octets = vec![0; message.buffer_len()];
    message.serialize(&mut octets);
    socket.send(&octets, 0)?;
    loop {
        let (answer, _) = socket.recv_from_full()?;
        let mut rest = answer.as_slice();
        while !rest.is_empty() {
            let one = NetlinkMessage::<M>::deserialize(rest).map_err(io::Error::other)?;
            // Messages begin at multiples of four octets.
            let length = (one.header.length as usize).next_multiple_of(4);
            rest = rest.get(length..).unwrap_or_default();
            match one.payload {
                NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
                NetlinkPayload::Error(_) | NetlinkPayload::Done(_) => return Ok(()),
                NetlinkPayload::InnerMessage(answer) => {
                    let heard = each(answer);
                    if heard.is_break() {
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
    }
}

/// Changes something, and waits until the kernel says that it is done.
fn change(request: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
    ask(NETLINK_ROUTE, request, NLM_F_ACK | flags, |_| {
        ControlFlow::Continue(())
    })
}

/// The index of the loopback device, which is the first device of every namespace.
const LOOPBACK: u32 = 1;
