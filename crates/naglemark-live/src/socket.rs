//! Makes sockets of the running kernel, with the options that must be set before they connect.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};

use serde::Serialize;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tinygram_link::tcp_info::tcp_info;
use tinygram_naglemark::Error;

/// The options of the client's sockets and of a kernel's listener. Sizes are in octets.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Options {
    /// TCP_MAXSEG, at least 88; `None` for the route's MSS.
    pub mss: Option<u16>,
    /// SO_RCVBUF; `None` lets the kernel choose.
    pub receive_buffer: Option<u64>,
}

/// Returns a socket that is neither connected nor bound.
pub(crate) fn new(with: SocketAddr, options: Options) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(with), Type::STREAM, Some(Protocol::TCP))?;
    // The profile's congestion control, if the kernel has it. It is set before the socket connects,
    // because a connection that began with BBR stays paced.
    let _ = socket.set_tcp_congestion(b"cubic");
    if let Some(mss) = options.mss {
        socket.set_tcp_mss(mss.into())?;
    }
    if let Some(octets) = options.receive_buffer {
        socket.set_recv_buffer_size(octets as usize)?;
    }
    Ok(socket)
}

/// Returns a listener with the options that its connections inherit.
pub(crate) fn listen(at: SocketAddr, options: Options) -> io::Result<TcpListener> {
    let socket = new(at, options)?;
    socket.set_reuse_address(true)?;
    socket.bind(&at.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Returns the name of a connection's congestion control; an empty one if the kernel does not say.
pub(crate) fn congestion(connection: &TcpStream) -> String {
    let name = SockRef::from(connection)
        .tcp_congestion()
        .unwrap_or_default();
    String::from_utf8_lossy(&name)
        .trim_end_matches('\0')
        .to_owned()
}

/// Returns the largest segment of a connection.
pub(crate) fn mss(connection: &TcpStream) -> Result<u16, Error> {
    let told = tcp_info(connection).map_or(0, |info| info.snd_mss);
    match u16::try_from(told).unwrap_or(u16::MAX) {
        // As under an emulator of another machine's programs, which does not pass this on.
        0 => Err(Error::failed(
            "asking the kernel for a connection's MSS",
            "it tells none (TCP_INFO)",
        )),
        mss => Ok(mss),
    }
}

const BACKLOG: i32 = 128;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::Ipv4Addr;

    use socket2::SockRef;

    use super::*;

    /// BBR makes a socket paced when a connection begins with it, and a later change to CUBIC leaves it paced.
    #[test]
    fn a_connection_begins_with_cubic_at_both_ends() {
        let available =
            fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap();
        if !available.split_whitespace().any(|name| name == "cubic") {
            eprintln!("skipped: this kernel does not let a program choose CUBIC");
            return;
        }
        let options = Options::default();
        let listener = listen((Ipv4Addr::LOCALHOST, 0).into(), options).unwrap();
        let at = listener.local_addr().unwrap();
        let client = new(at, options).unwrap();
        client.connect(&at.into()).unwrap();
        let (server, _) = listener.accept().unwrap();
        for end in [SockRef::from(&client), SockRef::from(&server)] {
            let name = end.tcp_congestion().unwrap();
            assert!(name.starts_with(b"cubic"), "{name:?}");
        }
    }
}
