//! Protocols in which small segments often stall, recognised by their first bytes or their port.

use std::fmt;

use super::{Case, Cure, Kind, Pieces, Side};

/// The protocol of two programs. For each protocol the table below says how it is recognised, how
/// long its messages are, and what is known to help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "names of protocols; see `Protocol::name`")]
pub enum Protocol {
    Modbus,
    Ads,
    Dnp3,
    Iec104,
    S7,
    EtherNetIp,
    OpcUa,
    OpenVpn,
    OpenSsh,
    Smtp,
    Pop3,
    Imap,
    Ftp,
    Tls,
    Http,
    Rdp,
    Vnc,
    Redis,
    PostgreSql,
    MySql,
    Mqtt,
    Smb,
    Dns,
    Bgp,
    OpenFlow,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Self; 25] = [
        Self::Modbus,
        Self::Ads,
        Self::Dnp3,
        Self::Iec104,
        Self::S7,
        Self::EtherNetIp,
        Self::OpcUa,
        Self::OpenVpn,
        Self::OpenSsh,
        Self::Smtp,
        Self::Pop3,
        Self::Imap,
        Self::Ftp,
        Self::Tls,
        Self::Http,
        Self::Rdp,
        Self::Vnc,
        Self::Redis,
        Self::PostgreSql,
        Self::MySql,
        Self::Mqtt,
        Self::Smb,
        Self::Dns,
        Self::Bgp,
        Self::OpenFlow,
    ];

    /// Returns the protocol of a connection, recognised by the first bytes of one of its messages,
    /// otherwise by the server's port.
    #[must_use]
    pub fn of(server_port: u16, bytes: &[u8]) -> Option<Self> {
        let by_port = Self::by_port(server_port);
        // A port's usual protocol is chosen first if its messages look like it.
        if let Some(protocol) = by_port
            && (bytes.is_empty() || protocol.begins(bytes))
        {
            return by_port;
        }
        // On another port, only a beginning that hardly any other protocol has is believed.
        let telling = [
            Self::OpenSsh,
            Self::Tls,
            Self::Http,
            Self::Dnp3,
            Self::Vnc,
            Self::OpcUa,
        ];
        telling.into_iter().find(|p| p.begins(bytes)).or(by_port)
    }

    /// Returns the protocol whose usual port this is.
    #[must_use]
    pub fn by_port(server_port: u16) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|p| p.row().ports.contains(&server_port))
    }

    /// Returns the usual name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns true if a message of the protocol may begin with these bytes.
    #[must_use]
    pub fn begins(self, bytes: &[u8]) -> bool {
        (self.row().begins)(bytes)
    }

    /// Returns the length in bytes of the message that begins with these bytes, header included, if
    /// the protocol says so in the message's first 24 bytes.
    #[must_use]
    pub fn message_len(self, bytes: &[u8]) -> Option<usize> {
        match self.begins(bytes) {
            true => (self.row().length)(bytes),
            false => None,
        }
    }

    /// Returns what two segments of one sender were to the application. `first` has the first bytes
    /// of a segment of `first_len` bytes, `second` those of the next segment.
    #[must_use]
    pub fn pieces(self, first: &[u8], first_len: u32, second: &[u8]) -> Pieces {
        // TLS and SSH hide the messages inside their records.
        if matches!(self, Self::Tls | Self::OpenSsh) {
            return Pieces::Unknown;
        }
        match self.message_len(first) {
            // The longest link frame: another frame of the same fragment follows.
            Some(292) if self == Self::Dnp3 => Pieces::OneMessage,
            Some(len) if len > first_len as usize => Pieces::OneMessage,
            Some(len) if len == first_len as usize && self.begins(second) => Pieces::Pipelined,
            None if matches!(self, Self::Http) && self.begins(first) => match self.begins(second) {
                true => Pieces::Pipelined,
                false => Pieces::OneMessage,
            },
            _ => Pieces::Unknown,
        }
    }

    /// Returns whether a segment that begins with these bytes begins what the protocol's remedies
    /// are about: a message, or of TLS a record of the handshake. `None` if its bytes do not tell.
    pub(crate) fn is_begun_by(self, bytes: &[u8]) -> Option<bool> {
        let later_bytes_tell_nothing =
            matches!(self, Self::OpenSsh | Self::OpenVpn | Self::Rdp | Self::Vnc);
        if bytes.is_empty() || later_bytes_tell_nothing {
            return None;
        }
        let is_line = match self {
            Self::Smtp | Self::Ftp => is_reply(bytes) || is_command(bytes),
            Self::Pop3 => is_command(bytes),
            Self::Imap => is_tagged(bytes),
            _ => false,
        };
        let application_data = self == Self::Tls && bytes[0] == 23;
        Some((is_line || self.begins(bytes)) && !application_data)
    }

    /// Returns the protocol of a message that begins with these bytes, on a connection of this one:
    /// TLS, where the connection has changed to it (STARTTLS).
    pub(crate) fn within(self, bytes: &[u8]) -> Self {
        match !self.begins(bytes) && Self::Tls.begins(bytes) {
            true => Self::Tls,
            false => self,
        }
    }

    /// Returns what is known to help the sender of a case.
    pub(crate) fn remedies(self, case: &Case) -> impl Iterator<Item = &'static Remedy> {
        let [client, server] = self.row().remedies;
        let all = match case.sender {
            Side::Client => client,
            Side::Server => server,
        };
        all.iter().filter(move |remedy| (remedy.fits)(case))
    }

    /// Returns true if the remedies are settings of the usual program, not changes to its source.
    pub(crate) fn has_setting(self) -> bool {
        matches!(self, Self::OpenVpn | Self::Vnc)
    }

    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

struct Row {
    name: &'static str,
    ports: &'static [u16],
    begins: fn(&[u8]) -> bool,
    length: fn(&[u8]) -> Option<usize>,
    /// For a client that sends, and for a server.
    remedies: [&'static [Remedy]; 2],
}

/// What is known to help in some cases.
pub(crate) struct Remedy {
    fits: fn(&Case) -> bool,
    pub(crate) cure: Cure,
    pub(crate) text: &'static str,
}

const fn remedy(fits: fn(&Case) -> bool, cure: Cure, text: &'static str) -> Remedy {
    Remedy { fits, cure, text }
}

/// A segment was held, whatever it was.
fn held(case: &Case) -> bool {
    case.kind.is_stall()
}

/// The pieces of one message.
fn torn(case: &Case) -> bool {
    held(case) && case.pieces == Pieces::OneMessage
}

/// Messages of their own.
fn apart(case: &Case) -> bool {
    held(case) && case.pieces == Pieces::Pipelined
}

/// What left first begins a message, or may do so.
fn begun(case: &Case) -> bool {
    held(case) && case.begun != Some(false)
}

fn flood(case: &Case) -> bool {
    case.kind == Kind::TinygramFlood
}

fn always(_: &Case) -> bool {
    true
}

/// The dot that ends a mail, with or without the line end before it.
fn final_dot(case: &Case) -> bool {
    held(case) && [3, 5].contains(&case.held)
}

/// A TPKT header and the header of a COTP data frame, and nothing else.
const EMPTY_COTP: u32 = 7;

fn behind_empty_cotp(case: &Case) -> bool {
    apart(case) && case.trigger == EMPTY_COTP
}

fn behind_request(case: &Case) -> bool {
    apart(case) && case.trigger != EMPTY_COTP
}

/// In the order of [`Protocol`].
static ROWS: [Row; 25] = [
    Row {
        name: "Modbus/TCP",
        ports: &[502],
        begins: |b| be16(b, 2) == Some(0) && be16(b, 4).is_some_and(|n| (2..=254).contains(&n)),
        length: |b| Some(6 + be16(b, 4)?),
        remedies: [
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
    },
    Row {
        name: "ADS (TwinCAT)",
        ports: &[48898],
        begins: |b| be16(b, 0) == Some(0) && le32(b, 2).is_some_and(|n| n >= 32),
        length: |b| Some(6 + le32(b, 2)?),
        remedies: [
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
    },
    Row {
        name: "DNP3",
        ports: &[20000],
        begins: |b| b.starts_with(&[0x05, 0x64]),
        // IEEE 1815, 9.2: the length counts what follows it except the CRCs, one for each 16 bytes.
        length: |b| {
            let user = usize::from(*b.get(2)?).checked_sub(5)?;
            Some(10 + user + 2 * user.div_ceil(16))
        },
        remedies: [
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
    },
    Row {
        name: "IEC 60870-5-104",
        ports: &[2404],
        begins: |b| b.first() == Some(&0x68) && b.get(1).is_some_and(|&n| (4..=253).contains(&n)),
        length: |b| Some(2 + usize::from(*b.get(1)?)),
        remedies: [
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
    },
    Row {
        name: "S7 / ISO on TCP",
        ports: &[102],
        begins: |b| b.starts_with(&[0x03, 0x00]) && be16(b, 2).is_some_and(|n| n >= 7),
        length: |b| be16(b, 2),
        remedies: [
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
    },
    Row {
        name: "EtherNet/IP",
        ports: &[44818],
        begins: |b| le16(b, 0).is_some_and(|c| c <= 0x75) && le16(b, 2).is_some_and(|n| n < 4096),
        length: |b| Some(24 + le16(b, 2)?),
        remedies: [
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
    },
    Row {
        name: "OPC UA",
        ports: &[4840],
        begins: |b| {
            [&b"HEL"[..], b"ACK", b"OPN", b"MSG", b"CLO", b"ERR"]
                .iter()
                .any(|m| b.starts_with(m))
                && b.get(3).is_some_and(|c| b"FCA".contains(c))
        },
        length: |b| le32(b, 4),
        remedies: [
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
    },
    Row {
        name: "OpenVPN",
        ports: &[1194],
        begins: |b| be16(b, 0).is_some_and(|n| (14..=1700).contains(&n)),
        length: |b| Some(2 + be16(b, 0)?),
        remedies: [
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
    },
    Row {
        name: "SSH",
        ports: &[22],
        begins: |b| b.starts_with(b"SSH-"),
        length: |_| None,
        remedies: [
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
    },
    Row {
        name: "SMTP",
        ports: &[25, 465, 587],
        begins: |b| {
            [
                &b"EHLO"[..],
                b"HELO",
                b"MAIL",
                b"RCPT",
                b"DATA",
                b"QUIT",
                b"220",
                b"250",
                b"354",
            ]
            .iter()
            .any(|m| b.starts_with(m))
        },
        length: |_| None,
        remedies: [
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
    },
    Row {
        name: "POP3",
        ports: &[110, 995],
        begins: |b| b.starts_with(b"+OK") || b.starts_with(b"-ERR"),
        length: |_| None,
        remedies: [
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
    },
    Row {
        name: "IMAP",
        ports: &[143, 993],
        begins: |b| b.starts_with(b"* "),
        length: |_| None,
        remedies: [
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
    },
    Row {
        name: "FTP",
        ports: &[21],
        begins: |b| b.starts_with(b"USER ") || b.starts_with(b"220"),
        length: |_| None,
        remedies: [
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
    },
    Row {
        name: "TLS",
        ports: &[443, 853, 8443],
        begins: |b| {
            b.first().is_some_and(|t| (20..=23).contains(t))
                && b.get(1) == Some(&3)
                && b.get(2).is_some_and(|&m| m <= 4)
                && be16(b, 3).is_some_and(|n| (1..=16_640).contains(&n))
        },
        length: |b| Some(5 + be16(b, 3)?),
        remedies: [
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
    },
    Row {
        name: "HTTP",
        ports: &[80, 3128, 8000, 8008, 8080, 8081, 8888],
        begins: |b| {
            [
                &b"GET "[..],
                b"POST ",
                b"PUT ",
                b"HEAD ",
                b"DELETE ",
                b"OPTIONS ",
                b"PATCH ",
                b"CONNECT ",
                b"HTTP/1.",
            ]
            .iter()
            .any(|m| b.starts_with(m))
        },
        length: |_| None,
        remedies: [
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
    },
    Row {
        name: "RDP",
        ports: &[3389],
        begins: |b| b.starts_with(&[0x03, 0x00]) && be16(b, 2).is_some_and(|n| n >= 7),
        length: |b| be16(b, 2),
        remedies: [
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
    },
    Row {
        name: "VNC",
        ports: &[5900, 5901, 5902, 5903, 6900],
        begins: |b| b.starts_with(b"RFB 00"),
        length: |_| None,
        remedies: [
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
    },
    Row {
        name: "Redis",
        ports: &[6379],
        begins: |b| b.first().is_some_and(|c| b"*$+-:".contains(c)),
        length: |_| None,
        remedies: [
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
    },
    Row {
        name: "PostgreSQL",
        ports: &[5432],
        begins: |b| {
            b.first().is_some_and(u8::is_ascii_alphabetic)
                && be32(b, 1).is_some_and(|n| (4..1 << 20).contains(&n))
        },
        length: |b| Some(1 + be32(b, 1)?),
        remedies: [
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
    },
    Row {
        name: "MySQL",
        ports: &[3306],
        begins: |b| b.len() >= 4 && b[3] < 16 && le24(b, 0).is_some_and(|n| n > 0),
        length: |b| Some(4 + le24(b, 0)?),
        remedies: [
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
    },
    Row {
        name: "MQTT",
        ports: &[1883],
        begins: |b| b.first().is_some_and(|t| (0x10..=0xe0).contains(t)),
        length: |b| match *b.get(1)? {
            n if n < 128 => Some(2 + usize::from(n)),
            _ => None,
        },
        remedies: [
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
    },
    Row {
        name: "SMB",
        ports: &[139, 445],
        begins: |b| {
            b.first() == Some(&0) && b.get(4).is_some_and(|c| [0xff, 0xfe, 0xfd].contains(c))
        },
        length: |b| Some(4 + be24(b, 1)?),
        remedies: [
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
    },
    Row {
        name: "DNS",
        ports: &[53],
        begins: |b| be16(b, 0).is_some_and(|n| n >= 12),
        length: |b| Some(2 + be16(b, 0)?),
        remedies: [
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
    },
    Row {
        name: "BGP",
        ports: &[179],
        begins: |b| b.len() >= 16 && b[..16].iter().all(|&x| x == 0xff),
        length: |b| be16(b, 16),
        remedies: [
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
    },
    Row {
        name: "OpenFlow",
        ports: &[6633, 6653],
        begins: |b| {
            b.first().is_some_and(|v| (1..=6).contains(v)) && be16(b, 2).is_some_and(|n| n >= 8)
        },
        length: |b| be16(b, 2),
        remedies: [
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
    },
];

/// Three digits, then a blank, or a hyphen if more lines follow (RFC 5321, section 4.2; RFC 959).
fn is_reply(b: &[u8]) -> bool {
    b.len() > 3 && b[..3].iter().all(u8::is_ascii_digit) && b" -".contains(&b[3])
}

/// Three or four letters, then a blank or the line's end; the first bytes may hold no more.
fn is_command(b: &[u8]) -> bool {
    let letters = b.iter().take_while(|c| c.is_ascii_alphabetic()).count();
    let ends = b.get(letters).is_some_and(|c| b" \r\n".contains(c));
    (3..=4).contains(&letters) && ends || b.starts_with(b"STARTTLS")
}

/// IMAP's tag of letters and digits, then a blank (RFC 9051, section 2.2.1).
fn is_tagged(b: &[u8]) -> bool {
    let tag = b.iter().take_while(|c| c.is_ascii_alphanumeric()).count();
    tag > 0 && b.get(tag) == Some(&b' ')
}

fn be16(b: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_be_bytes([
        *b.get(at)?,
        *b.get(at + 1)?,
    ])))
}

fn be24(b: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(*b.get(at)?) << 16 | be16(b, at + 1)?)
}

fn be32(b: &[u8], at: usize) -> Option<usize> {
    Some(be16(b, at)? << 16 | be16(b, at + 2)?)
}

fn le16(b: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_le_bytes([
        *b.get(at)?,
        *b.get(at + 1)?,
    ])))
}

fn le24(b: &[u8], at: usize) -> Option<usize> {
    Some(le16(b, at)? | usize::from(*b.get(at + 2)?) << 16)
}

fn le32(b: &[u8], at: usize) -> Option<usize> {
    Some(le16(b, at)? | le16(b, at + 2)? << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_protocols() {
        for (protocol, name) in [
            (Protocol::Modbus, "Modbus/TCP"),
            (Protocol::OpenSsh, "SSH"),
            (Protocol::Http, "HTTP"),
            (Protocol::OpenFlow, "OpenFlow"),
        ] {
            assert_eq!(protocol.name(), name);
        }
        assert_eq!(Protocol::ALL.len(), ROWS.len());
    }

    #[test]
    fn bytes_tell_more_than_ports() {
        assert_eq!(Protocol::of(8888, b"SSH-2.0-x"), Some(Protocol::OpenSsh));
        assert_eq!(
            Protocol::of(9999, &[0x16, 3, 1, 0, 50, 1]),
            Some(Protocol::Tls)
        );
        assert_eq!(
            Protocol::of(502, &[0, 1, 0, 0, 0, 6, 1, 3]),
            Some(Protocol::Modbus)
        );
        assert_eq!(Protocol::of(9999, b"hello"), None);
        assert_eq!(Protocol::of(22, &[]), Some(Protocol::OpenSsh));
    }

    #[test]
    fn messages_say_how_long_they_are() {
        let request = [0, 1, 0, 0, 0, 6, 1, 3, 0, 0, 0, 1];
        assert_eq!(Protocol::Modbus.message_len(&request), Some(12));
        // A DNP3 read of 18 bytes behind its length: 10 + 13 + 2.
        assert_eq!(
            Protocol::Dnp3.message_len(&[5, 0x64, 18, 0xc4]),
            Some(10 + 13 + 2)
        );
        assert_eq!(Protocol::Tls.message_len(&[23, 3, 3, 0, 10]), Some(15));
        assert_eq!(Protocol::Tls.message_len(&[99, 3, 3, 0, 10]), None);
    }

    #[test]
    fn first_bytes_tell_what_a_remedy_is_about() {
        let begun = |protocol: Protocol, bytes: &[u8]| protocol.is_begun_by(bytes);
        assert_eq!(begun(Protocol::Http, b"HTTP/1.1"), Some(true));
        assert_eq!(begun(Protocol::Http, b"PASS l0m"), Some(false));
        assert_eq!(begun(Protocol::Http, &[0x81, 0xfe, 2]), Some(false));
        assert_eq!(begun(Protocol::Http, b""), None);
        assert_eq!(begun(Protocol::Smtp, b"250 Reci"), Some(true));
        assert_eq!(begun(Protocol::Smtp, b"RCPT TO:"), Some(true));
        assert_eq!(begun(Protocol::Smtp, b"Date: Fr"), Some(false));
        assert_eq!(begun(Protocol::Tls, &[22, 3, 1, 0, 80, 1]), Some(true));
        assert_eq!(begun(Protocol::Tls, &[23, 3, 3, 0, 80, 1]), Some(false));
        assert_eq!(begun(Protocol::OpenSsh, &[0, 0, 0, 12, 10, 21]), None);
    }

    #[test]
    fn a_connection_that_has_changed_to_tls_speaks_tls() {
        let record = [23, 3, 3, 0, 250];
        assert_eq!(Protocol::Smtp.within(&record), Protocol::Tls);
        assert_eq!(Protocol::Smtp.within(b"250 ok\r\n"), Protocol::Smtp);
        assert_eq!(Protocol::Smtp.within(b""), Protocol::Smtp);
    }
}
