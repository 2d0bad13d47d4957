//! What is known to help, protocol by protocol.

use crate::case::Case;
use crate::cure::Cure;
use crate::protocol::Protocol;
use crate::remedies::{
    Remedy, always, apart, begun, behind_empty_cotp, behind_request, final_dot, flood, held,
    remedy, torn,
};
use crate::side::Side;

/// Returns what is known to help the sender of a case, if the two programs speak this protocol.
pub(crate) fn of(protocol: Protocol, case: &Case) -> impl Iterator<Item = &'static Remedy> {
    let of_protocol = ALL.iter().filter(move |(of, _)| *of == protocol);
    let of_sender = of_protocol.flat_map(|(_, [client, server])| match case.sender {
        Side::Client => *client,
        Side::Server => *server,
    });
    of_sender.filter(move |remedy| (remedy.fits)(case))
}

/// Returns true if the remedies are settings of the usual program, not changes to its source.
pub(crate) fn are_settings(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::OpenVpn | Protocol::Vnc)
}

/// Of each protocol for a client that sends, and for a server.
static ALL: [(Protocol, [&[Remedy]; 2]); 25] = [
    (
        Protocol::Modbus,
        [
            &[
                remedy(
                    torn,
                    Cure::WriteOnce,
                    "send MBAP header and PDU in one write",
                ),
                remedy(
                    held,
                    Cure::NoDelay,
                    "libmodbus sets TCP_NODELAY, other masters have an option for it",
                ),
            ],
            &[remedy(
                held,
                Cure::NoDelay,
                "an outstation or gateway: ask its vendor for the setting that sends at once (TCP_NODELAY)",
            )],
        ],
    ),
    (
        Protocol::Ads,
        [
            &[remedy(
                apart,
                Cure::Gather,
                "gather the reads of a cycle into one ADS sum command",
            )],
            &[remedy(
                apart,
                Cure::Gather,
                "the TwinCAT router answers each request for itself: let the client gather them into one ADS sum command",
            )],
        ],
    ),
    (
        Protocol::Dnp3,
        [
            &[
                remedy(
                    apart,
                    Cure::Gather,
                    "a master that confirms and asks again at once writes two frames: let it write both together",
                ),
                remedy(
                    torn,
                    Cure::WriteOnce,
                    "write the link frames of a fragment together",
                ),
            ],
            &[
                remedy(
                    held,
                    Cure::NoDelay,
                    "an outstation: ask its vendor for the setting that sends at once (TCP_NODELAY)",
                ),
                remedy(
                    torn,
                    Cure::WriteOnce,
                    "write the link frames of a fragment together",
                ),
            ],
        ],
    ),
    (
        Protocol::Iec104,
        [
            &[
                remedy(
                    apart,
                    Cure::Gather,
                    "write APDUs that are ready at the same time together",
                ),
                remedy(held, Cure::NoDelay, "lib60870 sets TCP_NODELAY"),
            ],
            &[
                remedy(
                    apart,
                    Cure::Gather,
                    "an outstation: write the APDUs of one interrogation together",
                ),
                remedy(held, Cure::NoDelay, "lib60870 sets TCP_NODELAY"),
            ],
        ],
    ),
    (
        Protocol::S7,
        [
            &[
                remedy(
                    torn,
                    Cure::WriteOnce,
                    "send TPKT header and PDU in one write",
                ),
                remedy(
                    behind_empty_cotp,
                    Cure::Gather,
                    "a COTP frame without data (7 bytes) leaves ahead of the request: write both together",
                ),
                remedy(
                    behind_request,
                    Cure::Gather,
                    "gather reads into one multi-variable request",
                ),
                remedy(held, Cure::NoDelay, "Snap7 sets TCP_NODELAY"),
            ],
            &[remedy(
                held,
                Cure::QuickAck,
                "a controller: its firmware decides; make the client acknowledge at once",
            )],
        ],
    ),
    (
        Protocol::EtherNetIp,
        [
            &[remedy(
                apart,
                Cure::Gather,
                "gather reads into one Multiple Service Packet",
            )],
            &[remedy(
                held,
                Cure::QuickAck,
                "an adapter: its firmware decides; make the client acknowledge at once",
            )],
        ],
    ),
    (
        Protocol::OpcUa,
        [
            &[remedy(
                apart,
                Cure::Gather,
                "gather the nodes into one Read or subscription",
            )],
            &[
                remedy(
                    apart,
                    Cure::Gather,
                    "write the chunks of a message together",
                ),
                remedy(held, Cure::NoDelay, "set TCP_NODELAY in the server's stack"),
            ],
        ],
    ),
    (
        Protocol::OpenVpn,
        [
            &[remedy(
                held,
                Cure::NoDelay,
                "`socket-flags TCP_NODELAY` in the client's configuration (or pushed by the server); UDP, if the network lets it through",
            )],
            &[remedy(
                held,
                Cure::NoDelay,
                "`socket-flags TCP_NODELAY` in the server's configuration; UDP, if the network lets it through",
            )],
        ],
    ),
    (
        Protocol::OpenSsh,
        [
            &[remedy(
                held,
                Cure::NoDelay,
                "if this happens once a login, these are pieces of the key exchange: keep one connection for many logins (ControlMaster auto, ControlPersist); a program behind a forwarded port needs TCP_NODELAY, or one write, of its own",
            )],
            &[remedy(
                held,
                Cure::NoDelay,
                "if this happens once a login, these are pieces of the key exchange; a server that goes on so in the session needs a newer version, or its option for TCP_NODELAY",
            )],
        ],
    ),
    (
        Protocol::Smtp,
        [
            &[
                remedy(
                    final_dot,
                    Cure::WriteOnce,
                    "let the final dot leave with the body: a larger output buffer in the mail program",
                ),
                remedy(
                    begun,
                    Cure::Gather,
                    "write pipelined commands together (RFC 2920, section 3.1)",
                ),
            ],
            &[remedy(
                begun,
                Cure::Gather,
                "answer pipelined commands with one write (RFC 2920, section 3.2)",
            )],
        ],
    ),
    (
        Protocol::Pop3,
        [
            &[remedy(
                begun,
                Cure::Gather,
                "write pipelined commands together",
            )],
            &[remedy(
                begun,
                Cure::WriteOnce,
                "write the status line together with the message that follows it",
            )],
        ],
    ),
    (
        Protocol::Imap,
        [
            &[remedy(
                begun,
                Cure::WriteOnce,
                "write a command whole, literals with LITERAL+ (RFC 7888)",
            )],
            &[remedy(
                begun,
                Cure::WriteOnce,
                "write the lines of an answer together",
            )],
        ],
    ),
    (
        Protocol::Ftp,
        [
            &[remedy(
                begun,
                Cure::WriteOnce,
                "write a command with its line end in one write",
            )],
            &[remedy(
                begun,
                Cure::WriteOnce,
                "write the lines of an answer together",
            )],
        ],
    ),
    (
        Protocol::Tls,
        [
            &[remedy(
                begun,
                Cure::WriteOnce,
                "in the handshake, let the library gather the records of a flight (OpenSSL: its buffering BIO; Go and rustls do)",
            )],
            &[remedy(
                begun,
                Cure::WriteOnce,
                "in the handshake, let the library gather the records of a flight (OpenSSL: its buffering BIO; Java: one flush a flight)",
            )],
        ],
    ),
    (
        Protocol::Http,
        [
            &[
                remedy(
                    torn,
                    Cure::WriteOnce,
                    "write the request at once, header and body",
                ),
                remedy(
                    begun,
                    Cure::NoDelay,
                    "most libraries have an option for TCP_NODELAY",
                ),
            ],
            &[remedy(
                torn,
                Cure::WriteOnce,
                "write the answer at once, header and body (a buffered response, or cork around it)",
            )],
        ],
    ),
    (
        Protocol::Rdp,
        [
            &[
                remedy(held, Cure::NoDelay, "FreeRDP sets TCP_NODELAY"),
                remedy(flood, Cure::Gather, "gather input events into one PDU"),
            ],
            &[remedy(
                held,
                Cure::QuickAck,
                "Windows decides; make the client acknowledge at once",
            )],
        ],
    ),
    (
        Protocol::Vnc,
        [
            &[remedy(
                always,
                Cure::Gather,
                "gather pointer events (most viewers have a setting for it)",
            )],
            &[remedy(
                always,
                Cure::Gather,
                "write the rectangles of one update together; a server's deferred-update setting gathers them",
            )],
        ],
    ),
    (
        Protocol::Redis,
        [
            &[
                remedy(
                    always,
                    Cure::Gather,
                    "pipeline the commands with one write a batch",
                ),
                remedy(
                    held,
                    Cure::NoDelay,
                    "hiredis, Jedis, redis-py and ioredis set TCP_NODELAY",
                ),
            ],
            &[remedy(
                held,
                Cure::NoDelay,
                "Redis sets TCP_NODELAY; a proxy in front may not",
            )],
        ],
    ),
    (
        Protocol::PostgreSql,
        [
            &[
                remedy(
                    held,
                    Cure::Gather,
                    "write Parse, Bind, Execute and Sync together (libpq does)",
                ),
                remedy(held, Cure::NoDelay, "the driver's option for TCP_NODELAY"),
            ],
            &[remedy(
                held,
                Cure::NoDelay,
                "PostgreSQL sets TCP_NODELAY; a pooler in front may not (PgBouncer: tcp_defer_accept does not help, tcp_nodelay does)",
            )],
        ],
    ),
    (
        Protocol::MySql,
        [
            &[
                remedy(
                    torn,
                    Cure::WriteOnce,
                    "write packet header and body together",
                ),
                remedy(
                    held,
                    Cure::NoDelay,
                    "the driver's tcpNoDelay option (Connector/J has it on)",
                ),
            ],
            &[remedy(
                held,
                Cure::NoDelay,
                "MySQL sets TCP_NODELAY; a proxy in front may not",
            )],
        ],
    ),
    (
        Protocol::Mqtt,
        [
            &[
                remedy(torn, Cure::WriteOnce, "write header and payload together"),
                remedy(
                    held,
                    Cure::NoDelay,
                    "the client's option for TCP_NODELAY (Paho, Mosquitto: `set_tcp_nodelay true`)",
                ),
            ],
            &[remedy(
                held,
                Cure::NoDelay,
                "the broker's option for TCP_NODELAY (Mosquitto: `set_tcp_nodelay true`)",
            )],
        ],
    ),
    (
        Protocol::Smb,
        [
            &[
                remedy(apart, Cure::Gather, "compound the requests"),
                remedy(
                    held,
                    Cure::NoDelay,
                    "Samba's client: `socket options = TCP_NODELAY` (its default)",
                ),
            ],
            &[remedy(
                held,
                Cure::NoDelay,
                "Samba: `socket options = TCP_NODELAY` (its default)",
            )],
        ],
    ),
    (
        Protocol::Dns,
        [
            &[remedy(
                torn,
                Cure::WriteOnce,
                "write the length and the message in one write (RFC 7766, section 8)",
            )],
            &[remedy(
                torn,
                Cure::WriteOnce,
                "write the length and the message in one write (RFC 7766, section 8)",
            )],
        ],
    ),
    (
        Protocol::Bgp,
        [
            &[remedy(
                always,
                Cure::Gather,
                "the router's software decides; updates that are ready together belong into one write",
            )],
            &[remedy(
                always,
                Cure::Gather,
                "the router's software decides; updates that are ready together belong into one write",
            )],
        ],
    ),
    (
        Protocol::OpenFlow,
        [
            &[remedy(
                held,
                Cure::NoDelay,
                "the switch: TCP_NODELAY in its OpenFlow agent",
            )],
            &[
                remedy(
                    held,
                    Cure::NoDelay,
                    "the controller: TCP_NODELAY (Ryu, Floodlight, ONOS: option of their channel)",
                ),
                remedy(
                    always,
                    Cure::Gather,
                    "the controller: write the messages of an event together",
                ),
            ],
        ],
    ),
];
