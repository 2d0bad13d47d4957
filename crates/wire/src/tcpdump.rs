//! Prints segments as tcpdump does.

use std::fmt;

use tinygram_engine::Segment;

use crate::endpoint::Endpoint;

/// One line of `tcpdump -n`: time of day, addresses, and the segment with relative numbers.
///
/// `20:55:36.000310 IP 192.0.2.1.49152 > 192.0.2.2.80: Flags [P.], seq 1:101, ack 1, win 65535, length
/// 100`. The engine's offsets are the relative numbers that tcpdump counts from the SYN on.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// Nanoseconds since 1970 UTC; days are not shown.
    pub time_ns: i64,
    /// The sender.
    pub source: Endpoint,
    /// The receiver.
    pub destination: Endpoint,
    /// The segment to print.
    pub segment: &'a Segment,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.time_ns.div_euclid(1000).rem_euclid(DAY_MICROS);
        let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let version = match self.source.address().is_ipv4() {
            true => "IP",
            false => "IP6",
        };
        write!(
            f,
            "{hours:02}:{minutes:02}:{seconds:02}.{micros:06} {version} {}.{} > {}.{}: {}",
            self.source.address(),
            self.source.port,
            self.destination.address(),
            self.destination.port,
            self.segment,
        )
    }
}

const DAY_MICROS: i64 = 86_400 * 1_000_000;

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tinygram_engine::{Flags, Offset, Options};

    use super::*;

    fn line(source: &str, destination: &str) -> String {
        let end = |typed: &str| typed.parse::<SocketAddr>().expect("an address").into();
        let segment = Segment {
            seq: Offset::new(1),
            ack: Offset::new(1),
            len: 100,
            window: 65_535,
            flags: Flags::ACK.with(Flags::PSH),
            options: Options::default(),
        };
        Line {
            time_ns: 946_684_800_000_000_000 + 3_723_000_310_999,
            source: end(source),
            destination: end(destination),
            segment: &segment,
        }
        .to_string()
    }

    #[test]
    fn a_line_reads_as_tcpdumps() {
        let expected = "01:02:03.000310 IP 192.0.2.1.49152 > 192.0.2.2.80: Flags [P.], seq 1:101, \
                        ack 1, win 65535, length 100";
        assert_eq!(line("192.0.2.1:49152", "192.0.2.2:80"), expected);
        let six = line("[2001:db8::1]:49152", "[2001:db8::2]:80");
        assert!(
            six.contains(" IP6 2001:db8::1.49152 > 2001:db8::2.80: Flags"),
            "{six}"
        );
    }
}
