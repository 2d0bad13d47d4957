//! What a user may choose, and which connections that leaves.

use std::net::IpAddr;

use tinygram_wire::decode::Segment;

use tinygram_stalls::Kind;

/// The settings of an analysis.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// The most connections kept at once, some 1,100 bytes each. Beyond it the connection that has
    /// been silent longest is judged and removed.
    pub connection_limit: usize,
    /// The most findings kept with their details; further ones are only counted.
    pub finding_limit: usize,
    /// The most connections listed in the report; those with findings are kept first.
    pub listed_limit: usize,
    /// What is looked at; `None` means everything.
    pub filter: Option<Filter>,
    /// The number of a frame whose story is told ([`Report::explanation`](crate::Report::explanation)).
    pub explain: Option<u64>,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            connection_limit: 131_072,
            finding_limit: 100_000,
            listed_limit: 10_000,
            filter: None,
            explain: None,
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
    /// The first time looked at, in nanoseconds since the first frame of the capture.
    pub from_ns: Option<i64>,
    /// The last time looked at, in nanoseconds since the first frame of the capture.
    pub to_ns: Option<i64>,
    /// The kinds of findings kept.
    pub kinds: Vec<Kind>,
}

impl Filter {
    /// Returns true if the filter lets everything through.
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
