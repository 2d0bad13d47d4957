//! How to make the change, in the languages and servers people use.

/// One recipe of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// Language, server or system.
    pub place: &'static str,
    /// What it cures.
    pub cure: Cure,
    /// What to write or set.
    pub text: &'static str,
    /// Ports by which a connection to such a server is recognised.
    pub ports: &'static [u16],
}

/// What a recipe does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cure {
    /// Makes one write of several. The better cure wherever it can be had.
    WriteOnce,
    /// Sends small segments at once. Wrong where many small writes follow each other: they become
    /// as many packets.
    NoDelay,
    /// Makes the receiver acknowledge at once, where the sender cannot be changed.
    QuickAck,
}

impl Cure {
    /// For tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::WriteOnce => "write once",
            Self::NoDelay => "no delay",
            Self::QuickAck => "ACK at once",
        }
    }
}

/// The recipes that fit a server's port, or none.
pub fn for_port(port: u16) -> impl Iterator<Item = &'static Recipe> {
    TABLE.iter().filter(move |r| r.ports.contains(&port))
}

const HTTP: &[u16] = &[80, 443, 8000, 8080, 8443];

const fn recipe(
    place: &'static str,
    cure: Cure,
    text: &'static str,
    ports: &'static [u16],
) -> Recipe {
    Recipe {
        place,
        cure,
        text,
        ports,
    }
}

/// The table.
pub const TABLE: &[Recipe] = &[
    recipe(
        "C",
        Cure::WriteOnce,
        "writev(), sendmsg() with an iovec, or send(..., MSG_MORE) for all pieces but the last",
        &[],
    ),
    recipe(
        "C",
        Cure::NoDelay,
        "int on = 1; setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);",
        &[],
    ),
    recipe(
        "Go",
        Cure::WriteOnce,
        "w := bufio.NewWriter(conn); ...; w.Flush() once per message, or net.Buffers.WriteTo(conn)",
        &[],
    ),
    recipe(
        "Go",
        Cure::NoDelay,
        "on by default; remove conn.SetNoDelay(false)",
        &[],
    ),
    recipe(
        "Java",
        Cure::WriteOnce,
        "BufferedOutputStream around getOutputStream(), flush() once per message; SocketChannel.write(ByteBuffer[])",
        &[],
    ),
    recipe("Java", Cure::NoDelay, "socket.setTcpNoDelay(true)", &[]),
    recipe(
        "Python",
        Cure::WriteOnce,
        "sock.sendall(header + body), or sock.sendmsg([header, body])",
        &[],
    ),
    recipe(
        "Python",
        Cure::NoDelay,
        "sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)",
        &[],
    ),
    recipe(
        "Node",
        Cure::WriteOnce,
        "socket.cork(); ...writes...; process.nextTick(() => socket.uncork())",
        &[],
    ),
    recipe(
        "Node",
        Cure::NoDelay,
        "socket.setNoDelay(true); for HTTP servers noDelay is the default since 18",
        &[],
    ),
    recipe(
        ".NET",
        Cure::WriteOnce,
        "BufferedStream around NetworkStream, Flush() once per message; Socket.Send(IList<ArraySegment<byte>>)",
        &[],
    ),
    recipe(
        ".NET",
        Cure::NoDelay,
        "socket.NoDelay = true; HttpWebRequest: ServicePoint.UseNagleAlgorithm = false",
        &[],
    ),
    recipe(
        "Rust",
        Cure::WriteOnce,
        "BufWriter::new(stream), flush() once per message; write_vectored",
        &[],
    ),
    recipe("Rust", Cure::NoDelay, "stream.set_nodelay(true)?", &[]),
    recipe(
        "nginx",
        Cure::WriteOnce,
        "tcp_nopush on; (with sendfile on)",
        HTTP,
    ),
    recipe(
        "nginx",
        Cure::NoDelay,
        "tcp_nodelay on; (default; acts on keep-alive connections, and proxied ones too)",
        HTTP,
    ),
    recipe(
        "HAProxy",
        Cure::NoDelay,
        "remove `option http-no-delay` only if it is set against a flood; nodelay is the default",
        HTTP,
    ),
    recipe(
        "Redis clients",
        Cure::WriteOnce,
        "pipeline the commands: one write per batch, and never header and payload apart",
        &[6379],
    ),
    recipe(
        "Redis clients",
        Cure::NoDelay,
        "hiredis: redisEnableTcpNoDelay (default); Jedis, redis-py, ioredis set it themselves",
        &[6379],
    ),
    recipe(
        "gRPC",
        Cure::NoDelay,
        "on by default; grpc-go: no WithWriteBufferSize(0), which writes frames apart",
        &[50051],
    ),
    recipe(
        "SMTP",
        Cure::WriteOnce,
        "Postfix, sendmail: let the final dot leave with the body (larger smtp output buffer)",
        &[25, 587],
    ),
    recipe(
        "SSH",
        Cure::NoDelay,
        "OpenSSH sets it for sessions; forwarded ports of other programs need their own",
        &[22],
    ),
    recipe(
        "Windows registry",
        Cure::QuickAck,
        r"HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters\Interfaces\{GUID}: TcpAckFrequency = 1 (DWORD); reboot",
        &[],
    ),
    recipe(
        "Windows registry",
        Cure::NoDelay,
        r"TCPNoDelay = 1 beside it: MSMQ only (HKLM\SOFTWARE\Microsoft\MSMQ\Parameters); others set the socket option",
        &[],
    ),
    recipe(
        "ip route quickack",
        Cure::QuickAck,
        "on the receiver: ip route change <route as shown by `ip route get PEER`> quickack 1",
        &[],
    ),
    recipe(
        "any program",
        Cure::WriteOnce,
        "tinygram run -- PROGRAM, which coalesces and flushes when the program blocks",
        &[],
    ),
];
