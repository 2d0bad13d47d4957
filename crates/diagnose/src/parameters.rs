use std::net::IpAddr;

use tinygram_wire::decode::Segment;

use crate::vocabulary::Kind;

/// What may be set about an analysis.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// Most connections kept at once; beyond it the longest silent one is judged and let go.
    /// About 900 bytes each.
    pub connection_limit: usize,
    /// Number of the first connection: several captures in one report count on.
    pub first_connection: u32,
    /// Most findings kept with their details; beyond it they are counted only.
    pub finding_limit: usize,
    /// Most connections listed in the report, those with findings first to stay.
    pub listed_limit: usize,
    /// What is looked at; everything if there is none.
    pub filter: Option<Filter>,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            connection_limit: 131_072,
            first_connection: 0,
            finding_limit: 100_000,
            listed_limit: 10_000,
            filter: None,
        }
    }
}

/// Which segments are looked at, and which findings are kept. An empty list takes all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Addresses of either end.
    pub hosts: Vec<IpAddr>,
    /// Ports of either end.
    pub ports: Vec<u16>,
    /// From here, in nanoseconds since the first frame of the capture.
    pub from_ns: Option<i64>,
    /// Up to here, likewise.
    pub to_ns: Option<i64>,
    /// Kinds of findings.
    pub kinds: Vec<Kind>,
}

impl Filter {
    /// Returns true if it lets everything through.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn takes(&self, segment: &Segment, time_ns: i64, first_ns: i64) -> bool {
        let ends = [segment.source, segment.destination];
        let host = |end: &tinygram_wire::endpoint::Endpoint| self.hosts.contains(&end.address());
        let since_ns = time_ns - first_ns;
        (self.hosts.is_empty() || ends.iter().any(host))
            && (self.ports.is_empty() || ends.iter().any(|end| self.ports.contains(&end.port)))
            && self.from_ns.is_none_or(|from_ns| since_ns >= from_ns)
            && self.to_ns.is_none_or(|to_ns| since_ns <= to_ns)
    }
}
