//! How to make a change, in common languages and servers.

use crate::cure::Cure;
use crate::protocol::Protocol;
use crate::side::Side;

/// One recipe of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// The language, server or system.
    pub place: &'static str,
    /// The cure that it applies.
    pub cure: Cure,
    /// What to write or set.
    pub text: &'static str,
    /// The ports by which a connection to such a server is recognised.
    pub ports: &'static [u16],
    /// The end of the connection at which the program is; `None` if it may be either.
    pub role: Option<Side>,
}

/// Returns the recipes for programs at the `blamed` end of a connection that speak a protocol. The
/// server's port selects them, unless the bytes show that another protocol is spoken there.
pub fn for_program(
    server_port: u16,
    protocol: Option<Protocol>,
    blamed: Side,
) -> impl Iterator<Item = &'static Recipe> {
    let home = Protocol::by_port(server_port);
    TABLE.iter().filter(move |recipe| {
        let spoken = match protocol {
            // TLS on another port may be any program.
            Some(Protocol::Tls) if home != protocol => false,
            Some(_) if home != protocol => {
                let homes = recipe.ports.iter().map(|port| Protocol::by_port(*port));
                homes.into_iter().any(|home| home == protocol)
            }
            _ => recipe.ports.contains(&server_port),
        };
        spoken && recipe.role.is_none_or(|role| role == blamed)
    })
}

/// Returns the recipes for languages and systems, which fit any program.
pub fn general() -> impl Iterator<Item = &'static Recipe> {
    TABLE
        .iter()
        .filter(|recipe| recipe.ports.is_empty() && recipe.role.is_none())
}

const HTTP: &[u16] = &[80, 443, 8000, 8080, 8443];
const MAIL: &[u16] = &[25, 587];

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
        role: None,
    }
}

const fn played(role: Side, mut recipe: Recipe) -> Recipe {
    recipe.role = Some(role);
    recipe
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
        "JDK's HttpServer",
        Cure::NoDelay,
        "java -Dsun.net.httpserver.nodelay=true",
        &[],
    ),
    recipe(
        "Ruby",
        Cure::NoDelay,
        "socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1); Net::HTTP does so itself",
        &[],
    ),
    recipe(
        "PHP",
        Cure::NoDelay,
        "stream_context_create(['socket' => ['tcp_nodelay' => true]]); socket_set_option($s, SOL_TCP, TCP_NODELAY, 1)",
        &[],
    ),
    recipe(
        "Erlang",
        Cure::WriteOnce,
        "gen_tcp:send(Socket, [Header, Body]): one call with an iolist",
        &[],
    ),
    recipe(
        "Erlang",
        Cure::NoDelay,
        "{nodelay, true} among the options of gen_tcp:connect or listen, or inet:setopts(Socket, [{nodelay, true}])",
        &[],
    ),
    recipe(
        "Perl",
        Cure::NoDelay,
        "use Socket qw(IPPROTO_TCP TCP_NODELAY); setsockopt($s, IPPROTO_TCP, TCP_NODELAY, 1)",
        &[],
    ),
    recipe(
        "Perl's HTTP::Tiny",
        Cure::NoDelay,
        "it writes header and body apart and has no option for it; before the first request: my $c = \\&HTTP::Tiny::Handle::connect; *HTTP::Tiny::Handle::connect = sub { my $h = $c->(@_); setsockopt($h->{fh}, IPPROTO_TCP, TCP_NODELAY, 1); $h };",
        &[],
    ),
    recipe(
        "Nim",
        Cure::NoDelay,
        "socket.setSockOpt(OptNoDelay, true, level = IPPROTO_TCP.cint)",
        &[],
    ),
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
    played(
        Side::Server,
        recipe(
            "nginx",
            Cure::WriteOnce,
            "tcp_nopush on; (with sendfile on)",
            &[],
        ),
    ),
    played(
        Side::Server,
        recipe(
            "nginx",
            Cure::NoDelay,
            "tcp_nodelay on; (default; acts on keep-alive connections, and proxied ones too)",
            &[],
        ),
    ),
    played(
        Side::Server,
        recipe(
            "HAProxy",
            Cure::NoDelay,
            "`option http-no-delay` in defaults, frontend or backend: as it comes, HAProxy holds the pieces of a message with MSG_MORE",
            &[],
        ),
    ),
    played(
        Side::Server,
        recipe(
            "HTTP servers",
            Cure::NoDelay,
            "by the program: nginx `tcp_nodelay on;`, HAProxy `option http-no-delay`, the JDK's HttpServer `-Dsun.net.httpserver.nodelay=true`, Jetty and Tomcat have it on as shipped",
            HTTP,
        ),
    ),
    played(
        Side::Client,
        recipe(
            "Redis clients",
            Cure::WriteOnce,
            "pipeline the commands: one write per batch, and never header and payload apart",
            &[6379],
        ),
    ),
    played(
        Side::Client,
        recipe(
            "Redis clients",
            Cure::NoDelay,
            "hiredis: redisEnableTcpNoDelay (default); Jedis, redis-py, ioredis set it themselves",
            &[6379],
        ),
    ),
    recipe(
        "gRPC",
        Cure::NoDelay,
        "on by default; grpc-go: no WithWriteBufferSize(0), which writes frames apart",
        &[50051],
    ),
    recipe(
        "OpenVPN",
        Cure::NoDelay,
        "socket-flags TCP_NODELAY, at both ends (a server can push it)",
        &[1194],
    ),
    played(
        Side::Client,
        recipe(
            "SMTP clients",
            Cure::WriteOnce,
            "let the final dot leave with the body, by an output buffer longer than a segment (Postfix makes its own twice the MSS)",
            MAIL,
        ),
    ),
    played(
        Side::Client,
        recipe(
            "SMTP clients",
            Cure::NoDelay,
            "PHPMailer, which writes each line apart: $mail->SMTPOptions = ['socket' => ['tcp_nodelay' => true]]; Exim sets it itself",
            MAIL,
        ),
    ),
    played(
        Side::Server,
        recipe(
            "SMTP servers",
            Cure::NoDelay,
            "Exim: tcp_nodelay = true in its main configuration (default)",
            MAIL,
        ),
    ),
    played(
        Side::Client,
        recipe(
            "SSH",
            Cure::NoDelay,
            "one connection for many logins (ControlMaster auto, ControlPersist); a program behind a forwarded port needs the option on its own socket",
            &[22],
        ),
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
        "on the receiver: ip route change $(ip route get fibmatch PEER) quickack 1",
        &[],
    ),
    recipe(
        "Linux sysctl",
        Cure::QuickAck,
        "on the receiver, 6.7 and later: sysctl net.ipv4.tcp_pingpong_thresh=255",
        &[],
    ),
    recipe(
        "any program",
        Cure::WriteOnce,
        "tinygram run -- PROGRAM: no write waits for an acknowledgment, and what a busy program writes leaves when it waits \
         (with --eager also where answers are rare)",
        &[],
    ),
];

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn what_fits_any_program_names_no_program() {
        let places: Vec<_> = general().map(|recipe| recipe.place).collect();
        assert!(places.contains(&"Go") && places.contains(&"Windows registry"));
        for program in ["nginx", "HAProxy", "SMTP clients", "SSH", "OpenVPN"] {
            assert!(
                TABLE.iter().any(|recipe| recipe.place == program),
                "{program}"
            );
            assert!(!places.contains(&program), "{program}");
        }
    }

    /// A port of HTTP does not tell the program: what helps nginx is no recipe for a Java program.
    #[test]
    fn no_single_http_server_is_named_where_the_program_is_unknown() {
        for port in HTTP {
            let named = for_program(*port, Some(Protocol::Http), Side::Server);
            assert!(
                named.into_iter().all(|it| it.place == "HTTP servers"),
                "{port}"
            );
        }
    }

    fn places(port: u16, protocol: Option<Protocol>, blamed: Side) -> Vec<&'static str> {
        let recipes = for_program(port, protocol, blamed);
        recipes.map(|recipe| recipe.place).collect()
    }

    #[test]
    fn what_is_spoken_on_a_web_servers_port_decides() {
        let http = ["HTTP servers"];
        assert_eq!(places(80, Some(Protocol::Http), Side::Server), http);
        assert_eq!(places(80, None, Side::Server), http);
        assert_eq!(places(80, Some(Protocol::OpenSsh), Side::Client), ["SSH"]);
        assert_eq!(places(80, Some(Protocol::OpenSsh), Side::Server), [""; 0]);
        assert_eq!(places(80, Some(Protocol::Http), Side::Client), [""; 0]);
        assert_eq!(places(993, Some(Protocol::Tls), Side::Server), [""; 0]);
    }
}
