//! What the kernel says about a descriptor: asked once, at first use, and kept in the table.

use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use libc::{c_int, sockaddr, sockaddr_storage, socklen_t};

use crate::orders::{self, Orders};
use crate::settings::Peer;
use crate::table::{self, Identity, Kind};
use crate::{errno, kernel, ledger, watchdog};
use tinygram_coalesce::mapped;

/// Finds out what an unknown descriptor is. Its calls must not change `errno`.
pub(crate) fn classify(fd: c_int) -> Identity {
    errno::kept(|| {
        let identity = match kernel::option(fd, libc::SOL_SOCKET, libc::SO_PROTOCOL) {
            Some(libc::IPPROTO_TCP) => inspect_tcp(fd),
            Some(_) => Identity::new(Kind::Waits),
            None => Identity::new(if is_file(fd) { Kind::File } else { Kind::Waits }),
        };
        table::know(fd, identity);
        identity
    })
}

/// Finds out about a TCP socket that was inherited, received, or opened before the library was
/// loaded.
fn inspect_tcp(fd: c_int) -> Identity {
    let tcp = |name| kernel::option(fd, libc::IPPROTO_TCP, name).unwrap_or(0);
    // SAFETY: reads the descriptor's flags.
    let flags = unsafe { kernel::fcntl(fd, libc::F_GETFL, 0) };
    let alone = tcp(libc::TCP_CORK) != 0 || has_upper_protocol(fd) || tcp(libc::TCP_REPAIR) != 0;
    let nodelay = tcp(libc::TCP_NODELAY) != 0;
    let signed = nodelay && is_signed(fd);
    Identity::new(Kind::Tcp)
        .with(Identity::NONBLOCKING, flags & libc::O_NONBLOCK != 0)
        // Whoever it came from may still hold it.
        .with(Identity::ALIASED, true)
        .with(Identity::PROGRAM_NODELAY, nodelay && !signed)
        .with(Identity::NODELAY_SET | Identity::SIGNED, signed)
        .with(Identity::ALONE, alone)
        .with(Identity::ALL_OR_NOTHING, is_all_or_nothing(fd))
}

/// Marks the socket before another process may have `fd`: the mark says that the library set its
/// `TCP_NODELAY`, so that `getsockopt` in each process can tell what the other set.
pub(crate) fn sign(fd: c_int) {
    let ours = Identity::NODELAY_SET;
    let others = Identity::PROGRAM_NODELAY | Identity::SIGNED;
    // In a `vfork`ed child the number may lead by now to something without such an option.
    if table::identity(fd).masked(ours | others) == ours
        && kernel::option(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY) == Some(1)
        && kernel::set_option(fd, libc::SOL_SOCKET, SIGNATURE, 1)
    {
        table::amend(fd, Identity::SIGNED, true);
    }
}

/// Marks all sockets, because another process may get any of them.
pub(crate) fn sign_all() {
    errno::kept(|| table::in_use().for_each(sign));
}

/// Returns whether the socket's mark says that the library, and not a program, set its
/// `TCP_NODELAY`.
pub(crate) fn is_signed(fd: c_int) -> bool {
    kernel::option(fd, libc::SOL_SOCKET, SIGNATURE) == Some(1)
}

/// Changes the mark, because the program set `TCP_NODELAY` on a marked socket.
pub(crate) fn sign_anew(fd: c_int, by_program: bool) {
    errno::kept(|| kernel::set_option(fd, libc::SOL_SOCKET, SIGNATURE, (!by_program).into()));
}

/// The option used as the mark. It means nothing to TCP (it requests the count of dropped
/// datagrams), survives `execve`, and is inherited by what a listener accepts.
const SIGNATURE: c_int = libc::SO_RXQ_OVFL;

/// Returns whether a try could return less than a read of this socket would (`SO_RCVLOWAT`).
pub(crate) fn is_all_or_nothing(fd: c_int) -> bool {
    kernel::option(fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT) != Some(1)
}

/// Returns whether the socket has kernel TLS or similar: there `MSG_MORE` keeps a record open that
/// no option of TCP closes.
fn has_upper_protocol(fd: c_int) -> bool {
    let mut name = [0_u8; 16];
    kernel::read_option(fd, libc::IPPROTO_TCP, libc::TCP_ULP, &mut name)
        .is_some_and(|len| len > 0 && name[0] != 0)
}

/// Decides once whether the connection on `fd` is covered, sets its options, and opens its account.
///
/// This is done at connect and accept instead of at the first write, because a stdio stream writes
/// inside the C library, where no hook sees it.
pub(crate) fn book(fd: c_int, identity: Identity) -> Identity {
    let Some(orders) = orders::orders() else {
        return identity;
    };
    errno::kept(|| {
        let peer = needs_peer(orders).then(|| peer_of(fd, identity));
        // Not connected (yet): the rest is decided when it is.
        if peer == Some(None) {
            return identity;
        }
        enter(orders, fd, identity, peer.flatten())
    })
}

/// Does the same as [`book`] for a socket that is about to be connected to `address`.
pub(crate) fn book_connect(fd: c_int, address: *const sockaddr, len: socklen_t) {
    let identity = table::identity(fd);
    let Some(orders) = orders::orders().filter(|_| identity.kind() == Kind::Tcp) else {
        return;
    };
    errno::kept(|| {
        // SAFETY: the program passes `len` bytes of address to the kernel.
        let Some((address, port)) = (unsafe { parse(address, len) }) else {
            return;
        };
        let peer = Peer {
            address: mapped(address),
            port,
            accepted: false,
        };
        enter(
            orders,
            fd,
            identity.with(Identity::ACCEPTED, false),
            Some(peer),
        );
    });
}

/// Sets `TCP_NODELAY` on a listener and notes its service: accepted connections inherit both
/// without further calls.
pub(crate) fn book_listener(fd: c_int) {
    let mut identity = table::identity(fd);
    if identity.kind() == Kind::Unknown && table::has_room_for(fd) {
        identity = classify(fd);
    }
    if let Some(orders) = orders::orders()
        && identity.kind() == Kind::Tcp
    {
        errno::kept(|| {
            if let Some((_, port)) = name_of(fd, libc::getsockname) {
                identity = identity.with_service(port, true);
            }
            if orders.only[0].is_none() {
                identity = set_nodelay(orders, fd, identity);
            }
            table::know(fd, identity);
        });
    }
}

fn enter(orders: &Orders, fd: c_int, identity: Identity, peer: Option<Peer>) -> Identity {
    let covered = peer.is_none_or(|peer| crate::settings::covers(&orders.only, &peer));
    let row = peer
        .filter(|_| covered)
        .and_then(|peer| orders.page?.row_of(&peer));
    let mut identity = identity.with(Identity::BOOKED, true).with_row(row);
    if let Some(peer) = peer {
        identity = identity.with_service(peer.port, peer.accepted);
    }
    identity = if covered {
        set_nodelay(orders, fd, identity)
    } else {
        identity.with(Identity::ALONE, true)
    };
    table::know(fd, identity);
    if covered && orders.rules().eager && orders.policy().holds() {
        watchdog::expect();
    }
    if let Some(row) = row {
        ledger::open(orders, fd, row);
    }
    identity
}

/// Sets the options of a connection from before the policy was switched from observe.
#[cold]
pub(crate) fn take_over(orders: &Orders, fd: c_int, identity: Identity) -> Identity {
    let covered = Identity::BOOKED | Identity::ALONE;
    if identity.masked(covered) != Identity::BOOKED || !orders.policy().sets_nodelay() {
        return identity;
    }
    let set = errno::kept(|| set_nodelay(orders, fd, identity));
    table::know(fd, set);
    set
}

fn set_nodelay(orders: &Orders, fd: c_int, identity: Identity) -> Identity {
    if !orders.policy().sets_nodelay() || identity.has(Identity::NODELAY_SET) {
        return identity;
    }
    let set = kernel::set_option(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1);
    identity.with(Identity::NODELAY_SET, set)
}

fn needs_peer(orders: &Orders) -> bool {
    orders.page.is_some() || orders.only[0].is_some()
}

fn peer_of(fd: c_int, identity: Identity) -> Option<Peer> {
    let (address, remote) = name_of(fd, libc::getpeername)?;
    let (_, local) = name_of(fd, libc::getsockname)?;
    // For an inherited or received connection the lower port counts as the service's.
    let accepted =
        identity.has(Identity::ACCEPTED) || (identity.has(Identity::ALIASED) && local < remote);
    let port = if accepted { local } else { remote };
    Some(Peer {
        address: mapped(address),
        port,
        accepted,
    })
}

type NameCall = unsafe extern "C" fn(c_int, *mut sockaddr, *mut socklen_t) -> c_int;

fn name_of(fd: c_int, call: NameCall) -> Option<(IpAddr, u16)> {
    let mut storage = MaybeUninit::<sockaddr_storage>::zeroed();
    let mut len = size_of::<sockaddr_storage>() as socklen_t;
    // SAFETY: the kernel writes at most `len` bytes, and tells how many.
    unsafe {
        let address = storage.as_mut_ptr().cast::<sockaddr>();
        (call(fd, address, &raw mut len) == 0)
            .then(|| parse(address, len))
            .flatten()
    }
}

/// # Safety
/// `address` points to `len` bytes.
unsafe fn parse(address: *const sockaddr, len: socklen_t) -> Option<(IpAddr, u16)> {
    let has = |bytes: usize| !address.is_null() && len as usize >= bytes;
    // SAFETY: each read takes as many bytes as were checked to be there, aligned or not.
    unsafe {
        if !has(size_of::<libc::sa_family_t>()) {
            return None;
        }
        match c_int::from((&raw const (*address).sa_family).read_unaligned()) {
            libc::AF_INET if has(size_of::<libc::sockaddr_in>()) => {
                let v4 = address.cast::<libc::sockaddr_in>().read_unaligned();
                Some((
                    Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr)).into(),
                    u16::from_be(v4.sin_port),
                ))
            }
            libc::AF_INET6 if has(size_of::<libc::sockaddr_in6>()) => {
                let v6 = address.cast::<libc::sockaddr_in6>().read_unaligned();
                Some((
                    Ipv6Addr::from(v6.sin6_addr.s6_addr).into(),
                    u16::from_be(v6.sin6_port),
                ))
            }
            _ => None,
        }
    }
}

/// Returns whether reading `fd`, which is neither TCP nor a file, would wait now.
pub(crate) fn would_wait(fd: c_int) -> bool {
    let mut asked = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one entry, one descriptor's flags.
    unsafe {
        kernel::poll(&raw mut asked, 1, 0) == 0
            && kernel::fcntl(fd, libc::F_GETFL, 0) & libc::O_NONBLOCK == 0
    }
}

fn is_file(fd: c_int) -> bool {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: filled by a call that succeeded.
    unsafe {
        libc::fstat(fd, status.as_mut_ptr()) == 0
            && matches!(
                status.assume_init().st_mode & libc::S_IFMT,
                libc::S_IFREG | libc::S_IFDIR | libc::S_IFBLK
            )
    }
}
