//! Protocols in which small segments often stall, recognised by their first bytes or their port.

use core::fmt;

use crate::pieces::Pieces;

/// The protocol of two programs. For each protocol the table below says how it is recognised, and how
/// long its messages are.
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
    #[must_use]
    pub fn is_begun_by(self, bytes: &[u8]) -> Option<bool> {
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
    #[must_use]
    pub fn within(self, bytes: &[u8]) -> Self {
        match !self.begins(bytes) && Self::Tls.begins(bytes) {
            true => Self::Tls,
            false => self,
        }
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
}

/// In the order of [`Protocol`].
static ROWS: [Row; 25] = [
    Row {
        name: "Modbus/TCP",
        ports: &[502],
        begins: |b| be16(b, 2) == Some(0) && be16(b, 4).is_some_and(|n| (2..=254).contains(&n)),
        length: |b| Some(6 + be16(b, 4)?),
    },
    Row {
        name: "ADS (TwinCAT)",
        ports: &[48898],
        begins: |b| be16(b, 0) == Some(0) && le32(b, 2).is_some_and(|n| n >= 32),
        length: |b| Some(6 + le32(b, 2)?),
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
    },
    Row {
        name: "IEC 60870-5-104",
        ports: &[2404],
        begins: |b| b.first() == Some(&0x68) && b.get(1).is_some_and(|&n| (4..=253).contains(&n)),
        length: |b| Some(2 + usize::from(*b.get(1)?)),
    },
    Row {
        name: "S7 / ISO on TCP",
        ports: &[102],
        begins: |b| b.starts_with(&[0x03, 0x00]) && be16(b, 2).is_some_and(|n| n >= 7),
        length: |b| be16(b, 2),
    },
    Row {
        name: "EtherNet/IP",
        ports: &[44818],
        begins: |b| le16(b, 0).is_some_and(|c| c <= 0x75) && le16(b, 2).is_some_and(|n| n < 4096),
        length: |b| Some(24 + le16(b, 2)?),
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
    },
    Row {
        name: "OpenVPN",
        ports: &[1194],
        begins: |b| be16(b, 0).is_some_and(|n| (14..=1700).contains(&n)),
        length: |b| Some(2 + be16(b, 0)?),
    },
    Row {
        name: "SSH",
        ports: &[22],
        begins: |b| b.starts_with(b"SSH-"),
        length: |_| None,
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
    },
    Row {
        name: "POP3",
        ports: &[110, 995],
        begins: |b| b.starts_with(b"+OK") || b.starts_with(b"-ERR"),
        length: |_| None,
    },
    Row {
        name: "IMAP",
        ports: &[143, 993],
        begins: |b| b.starts_with(b"* "),
        length: |_| None,
    },
    Row {
        name: "FTP",
        ports: &[21],
        begins: |b| b.starts_with(b"USER ") || b.starts_with(b"220"),
        length: |_| None,
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
    },
    Row {
        name: "RDP",
        ports: &[3389],
        begins: |b| b.starts_with(&[0x03, 0x00]) && be16(b, 2).is_some_and(|n| n >= 7),
        length: |b| be16(b, 2),
    },
    Row {
        name: "VNC",
        ports: &[5900, 5901, 5902, 5903, 6900],
        begins: |b| b.starts_with(b"RFB 00"),
        length: |_| None,
    },
    Row {
        name: "Redis",
        ports: &[6379],
        begins: |b| b.first().is_some_and(|c| b"*$+-:".contains(c)),
        length: |_| None,
    },
    Row {
        name: "PostgreSQL",
        ports: &[5432],
        begins: |b| {
            b.first().is_some_and(u8::is_ascii_alphabetic)
                && be32(b, 1).is_some_and(|n| (4..1 << 20).contains(&n))
        },
        length: |b| Some(1 + be32(b, 1)?),
    },
    Row {
        name: "MySQL",
        ports: &[3306],
        begins: |b| b.len() >= 4 && b[3] < 16 && le24(b, 0).is_some_and(|n| n > 0),
        length: |b| Some(4 + le24(b, 0)?),
    },
    Row {
        name: "MQTT",
        ports: &[1883],
        begins: |b| b.first().is_some_and(|t| (0x10..=0xe0).contains(t)),
        length: |b| match *b.get(1)? {
            n if n < 128 => Some(2 + usize::from(n)),
            _ => None,
        },
    },
    Row {
        name: "SMB",
        ports: &[139, 445],
        begins: |b| {
            b.first() == Some(&0) && b.get(4).is_some_and(|c| [0xff, 0xfe, 0xfd].contains(c))
        },
        length: |b| Some(4 + be24(b, 1)?),
    },
    Row {
        name: "DNS",
        ports: &[53],
        begins: |b| be16(b, 0).is_some_and(|n| n >= 12),
        length: |b| Some(2 + be16(b, 0)?),
    },
    Row {
        name: "BGP",
        ports: &[179],
        begins: |b| b.len() >= 16 && b[..16].iter().all(|&x| x == 0xff),
        length: |b| be16(b, 16),
    },
    Row {
        name: "OpenFlow",
        ports: &[6633, 6653],
        begins: |b| {
            b.first().is_some_and(|v| (1..=6).contains(v)) && be16(b, 2).is_some_and(|n| n >= 8)
        },
        length: |b| be16(b, 2),
    },
];

/// Returns whether a reply begins: three digits, then a blank, or a hyphen if more lines follow (RFC 5321, section 4.2;
/// RFC 959).
fn is_reply(b: &[u8]) -> bool {
    b.len() > 3 && b[..3].iter().all(u8::is_ascii_digit) && b" -".contains(&b[3])
}

/// Returns whether a command begins: three or four letters, then a blank or the line's end. The first bytes may hold no
/// more.
fn is_command(b: &[u8]) -> bool {
    let letters = b.iter().take_while(|c| c.is_ascii_alphabetic()).count();
    let ends = b.get(letters).is_some_and(|c| b" \r\n".contains(c));
    (3..=4).contains(&letters) && ends || b.starts_with(b"STARTTLS")
}

/// Returns whether a tagged line begins: IMAP's tag of letters and digits, then a blank (RFC 9051, section 2.2.1).
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
mod tests;
