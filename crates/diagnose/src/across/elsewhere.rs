//! What another connection of the same two hosts shows of a hold.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use tinygram_stalls::{Protocol, Side};
use tinygram_wire::endpoint::Endpoint;

use crate::findings::finding::{Facts, Finding};
use crate::report::connections::ConnectionReport;

/// The times of the connections of two hosts, by their addresses.
pub(crate) struct Elsewhere {
    lives: HashMap<Hosts, Vec<Life>>,
}

/// The addresses of two hosts, the smaller first.
type Hosts = [(u64, u64); 2];

/// A connection's number, and from when to when it was seen, in nanoseconds since the epoch.
type Life = (u32, RangeInclusive<i64>);

impl Elsewhere {
    /// Returns what the connections show of holds on the control connections of FTP among these findings; `None` if
    /// there are no such holds.
    pub(crate) fn of<'a>(
        findings: &[Finding],
        connections: impl Iterator<Item = &'a ConnectionReport>,
    ) -> Option<Self> {
        if !findings.iter().any(is_asked_about) {
            return None;
        }
        let mut lives: HashMap<_, Vec<Life>> = HashMap::new();
        for row in connections {
            let life = (row.id, row.first_ns..=row.last_ns);
            lives.entry(hosts(row)).or_default().push(life);
        }
        Some(Self { lives })
    }

    /// Returns whether the server had a data connection to the same client while this hold lasted. It says "226" when
    /// that is done, whatever the client acknowledges meanwhile (RFC 959, section 5.4).
    pub(crate) fn explains(&self, finding: &Finding, row: &ConnectionReport) -> bool {
        let Facts::Hold(hold) = &finding.facts else {
            return false;
        };
        let lives = self.lives.get(&hosts(row));
        lives.into_iter().flatten().any(|(id, life)| {
            *id != row.id
                && *life.start() <= hold.held.time_ns
                && *life.end() >= hold.trigger.time_ns
        })
    }
}

/// Returns whether a stall is that of an FTP server.
pub(crate) fn is_asked_about(finding: &Finding) -> bool {
    finding.protocol == Some(Protocol::Ftp)
        && finding.sender == Side::Server
        && finding.kind.is_stall()
}

fn hosts(row: &ConnectionReport) -> Hosts {
    let address = |end: Endpoint| (end.high, end.low);
    let mut hosts = [address(row.client), address(row.server)];
    hosts.sort_unstable();
    hosts
}
