//! Totals by program and by host, for captures of many connections.

use std::collections::BTreeMap;
use std::net::IpAddr;

use tinygram_diagnose::Kind;

use crate::results::Diagnosis;

/// The total of one program or one host.
#[derive(Clone, Debug, Default)]
pub struct Total {
    /// The server with its port, or the host.
    pub who: String,
    /// Connections.
    pub connections: usize,
    /// Stalls.
    pub stalls: usize,
    /// The cost of the stalls, in nanoseconds.
    pub cost_ns: i64,
    /// Floods.
    pub floods: usize,
}

/// Returns the totals by server and port: what its connections lost, whichever side is to blame.
pub fn by_service(results: &Diagnosis) -> Vec<Total> {
    let mut totals: BTreeMap<(IpAddr, u16), Total> = BTreeMap::new();
    for capture in &results.captures {
        for c in &capture.report.connections {
            let total = totals
                .entry((c.server.address(), c.server.port))
                .or_insert_with(|| Total {
                    who: c.server.to_string(),
                    ..Total::default()
                });
            total.connections += 1;
            total.stalls += c.stalls as usize;
            total.cost_ns += c.cost_ns;
        }
        for finding in &capture.report.findings {
            if finding.kind == Kind::TinygramFlood
                && let Some(c) = capture.connection(finding.connection)
                && let Some(total) = totals.get_mut(&(c.server.address(), c.server.port))
            {
                total.floods += 1;
            }
        }
    }
    costliest_first(totals)
}

/// Returns the totals by host: what must be changed there.
pub fn by_host(results: &Diagnosis) -> Vec<Total> {
    let mut totals: BTreeMap<IpAddr, (Total, Vec<u32>)> = BTreeMap::new();
    for (capture, finding) in results.findings().filter(|(_, f)| f.tier().accuses()) {
        let Some(c) = capture.connection(finding.connection) else {
            continue;
        };
        let host = c.end(finding.blame).address();
        let (total, connections) = totals.entry(host).or_default();
        total.who = host.to_string();
        total.cost_ns += finding.cost_ns;
        match finding.kind {
            Kind::TinygramFlood => total.floods += 1,
            _ => total.stalls += 1,
        }
        if connections.last() != Some(&c.id) {
            connections.push(c.id);
        }
    }
    let counted = totals.into_iter().map(|(host, (mut total, mut ids))| {
        ids.sort_unstable();
        ids.dedup();
        total.connections = ids.len();
        (host, total)
    });
    costliest_first(counted)
}

fn costliest_first<K>(totals: impl IntoIterator<Item = (K, Total)>) -> Vec<Total> {
    let mut totals: Vec<_> = totals.into_iter().map(|(_, total)| total).collect();
    totals.sort_by_key(|t| {
        use std::cmp::Reverse;
        (
            Reverse(t.cost_ns),
            Reverse(t.floods),
            Reverse(t.connections),
        )
    });
    totals
}
