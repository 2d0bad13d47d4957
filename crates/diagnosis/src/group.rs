//! Groups of findings that one sentence covers: the same habit of the same hosts.

use std::collections::BTreeMap;
use std::net::IpAddr;

use tinygram_diagnose::{ConnectionReport, Facts, Finding, Kind, Side};
use tinygram_report::units::counted;
use tinygram_stalls::flood::Flood;
use tinygram_stalls::ms;

use crate::capture::Capture;
use crate::results::Diagnosis;

/// Findings of one kind, of one sending side, between a client and a service.
pub struct Group<'a> {
    /// The capture that they are of.
    pub capture: &'a Capture,
    /// Their kind.
    pub kind: Kind,
    /// The findings, in order of discovery; never empty.
    pub findings: Vec<&'a Finding>,
    /// Their cost, in nanoseconds.
    pub cost_ns: i64,
    /// The connections of the findings.
    pub connections: Vec<&'a ConnectionReport>,
    /// The sum of the connections' durations, in nanoseconds.
    pub duration_ns: i64,
}

/// Returns the groups, the costliest first.
pub fn groups(results: &Diagnosis) -> Vec<Group<'_>> {
    let mut all = Vec::new();
    for capture in &results.captures {
        let mut found: BTreeMap<(IpAddr, IpAddr, u16, Side, Kind), Vec<&Finding>> = BTreeMap::new();
        for finding in capture
            .report
            .findings
            .iter()
            .filter(|f| f.tier().accuses())
        {
            let Some(c) = capture.connection(finding.connection) else {
                continue;
            };
            let server = (c.server.address(), c.server.port);
            let key = (
                c.client.address(),
                server.0,
                server.1,
                finding.sender,
                finding.kind,
            );
            found.entry(key).or_default().push(finding);
        }
        all.extend(
            found
                .into_values()
                .map(|findings| Group::of(capture, findings)),
        );
    }
    all.sort_by_key(|g| (std::cmp::Reverse(g.cost_ns), g.kind, g.findings[0].start_ns));
    all
}

impl<'a> Group<'a> {
    fn of(capture: &'a Capture, findings: Vec<&'a Finding>) -> Self {
        let mut ids: Vec<_> = findings.iter().map(|f| f.connection).collect();
        ids.sort_unstable();
        ids.dedup();
        let connections: Vec<_> = ids
            .into_iter()
            .filter_map(|id| capture.connection(id))
            .collect();
        Self {
            capture,
            kind: findings[0].kind,
            cost_ns: findings.iter().map(|f| f.cost_ns).sum(),
            duration_ns: connections.iter().map(|c| c.duration_ns()).sum(),
            connections,
            findings,
        }
    }

    /// Returns the verdict on the group, in one sentence.
    pub fn sentence(&self) -> String {
        let finding = self.typical();
        let c = self.connections[0];
        let many = match self.connections.len() {
            1 => String::new(),
            n if self.kind.is_stall() => format!(" ({n} connections, their times added)"),
            n => format!(" ({n} connections)"),
        };
        let client = match self.connections.len() {
            1 => c.client.to_string(),
            _ => c.client.address().to_string(),
        };
        let cost = match self.kind.is_stall() {
            true => format!(
                "{} cost {} of {}",
                counted(self.findings.len() as u64, "stall"),
                seconds(self.cost_ns),
                seconds(self.duration_ns)
            ),
            false => "a tinygram flood".to_owned(),
        };
        format!(
            "client {client} -> server {}{many}: {cost}; the {} {}; {}",
            c.server,
            finding.sender,
            self.habit(),
            finding.cure()
        )
    }

    /// Returns what the sender does: of several floods, all that it sent; of several stalls, what the typical one shows.
    fn habit(&self) -> String {
        let floods = self.findings.iter().filter_map(|it| match it.facts {
            Facts::Flood(flood) => Some(flood),
            _ => None,
        });
        let together = floods.reduce(|sum, it| Flood {
            segments: sum.segments.saturating_add(it.segments),
            bytes: sum.bytes + it.bytes,
            saved: sum.saved.saturating_add(it.saved),
            ..sum
        });
        together.map_or_else(|| self.typical().habit(), |it| it.habit())
    }

    /// Returns a finding with the most frequent habit of the group.
    pub fn typical(&self) -> &'a Finding {
        let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for (at, finding) in self.findings.iter().enumerate() {
            counts.entry(finding.habit()).or_insert((0, at)).0 += 1;
        }
        let most = counts.values().max_by_key(|(n, at)| (*n, usize::MAX - at));
        self.findings[most.map_or(0, |(_, at)| *at)]
    }

    /// Returns the surest finding; of several, the first with the group's typical habit, if one has it.
    pub fn surest(&self) -> &'a Finding {
        let typical = self.typical();
        let rank = |it: &&Finding| (it.tier(), it.habit() == typical.habit());
        let from_last = self.findings.iter().copied().rev();
        from_last.max_by_key(rank).unwrap_or(typical)
    }

    /// Returns a Wireshark display filter for the findings, from a flood's first frame to its last; only for the first of them if it would
    /// be too long to paste.
    pub fn filter(&self) -> String {
        let frames: Vec<_> = self
            .findings
            .iter()
            .take(FILTERED)
            .flat_map(|it| match (&it.frames[..], it.kind.is_stall()) {
                ([first, .., last], false) => vec![format!("{} .. {}", first.frame, last.frame)],
                (each, _) => each.iter().map(|it| it.frame.to_string()).collect(),
            })
            .collect();
        format!("frame.number in {{{}}}", frames.join(", "))
    }

    /// Returns what the filter leaves out, and how to see it; `None` if it is complete.
    pub fn filter_note(&self) -> Option<String> {
        let all = self.findings.len();
        (all > FILTERED).then(|| {
            format!(
                "the first {FILTERED} of {all}; for all of them write --annotate FILE.pcapng, open that and \
                 filter by frame.comment"
            )
        })
    }
}

/// The most findings whose frames a filter lists: some 800 characters.
const FILTERED: usize = 40;

/// Returns a duration for people to read. Nobody counts days in seconds.
pub fn seconds(ns: i64) -> String {
    let s = ns as f64 / 1e9;
    match ns / 1_000_000_000 {
        ..1 => ms(ns),
        1..TWO_DAYS_S => format!("{s:.1} s"),
        TWO_DAYS_S..TWO_YEARS_S => format!("{:.1} days", s / DAY_S as f64),
        _ => format!("{:.1} years", s / YEAR_S as f64),
    }
}

/// Returns a connection's round trip for people to read. What no handshake measured is the most that it can be.
pub fn rtt(of: &ConnectionReport) -> String {
    match (of.rtt_ns, of.rtt_measured) {
        (None, _) => "-".to_owned(),
        (Some(ns), true) => ms(ns),
        (Some(ns), false) => format!("<= {}", ms(ns)),
    }
}

const DAY_S: i64 = 86_400;
const TWO_DAYS_S: i64 = 2 * DAY_S;
/// With its share of a leap day.
const YEAR_S: i64 = 31_557_600;
const TWO_YEARS_S: i64 = 2 * YEAR_S;

#[cfg(test)]
mod tests {
    #[test]
    fn a_long_time_is_said_in_days_and_years() {
        let of = |s: f64| super::seconds((s * 1e9) as i64);
        assert_eq!((of(0.25), of(1.0)), ("250 ms".into(), "1.0 s".into()));
        assert_eq!(of(172_799.9), "172799.9 s");
        assert_eq!(of(172_800.0), "2.0 days");
        assert_eq!(of(63_115_199.0), "730.5 days");
        assert_eq!(of(233_114_085.7), "7.4 years");
        assert_eq!(super::seconds(-5_000), "-5 us");
    }
}
