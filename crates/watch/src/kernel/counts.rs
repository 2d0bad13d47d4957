//! What the BPF programs count: how much they saw, in all and for each connection.

use aya::maps::{Array, HashMap, Map, MapData, MapError};

use super::record::{self, SeenRecord};
use crate::seen::{Seen, SeenEnd};
use tinygram_host::clock::clock_ns;
use tinygram_host::record::Pod;

/// The counts in the kernel, and those of connections that began or ended since they were asked for.
pub(super) struct Counts {
    totals: Array<MapData, Totals>,
    by_connection: HashMap<MapData, u64, SeenRecord>,
    sights: Vec<SeenEnd>,
}

impl Counts {
    pub(super) fn new(totals: Map, by_connection: Map) -> Result<Self, MapError> {
        Ok(Self {
            totals: Array::try_from(totals)?,
            by_connection: HashMap::try_from(by_connection)?,
            sights: Vec::new(),
        })
    }

    /// Takes a record of the ring, if it is one about a connection.
    pub(super) fn take(&mut self, record: &[u8]) {
        let seen = record::seen(record);
        self.sights.extend(seen.map(|seen| seen.sight()));
    }

    /// Returns the sums over all connections since the start.
    pub(super) fn totals(&self) -> Seen {
        let Ok(totals) = self.totals.get(&0, 0) else {
            return Seen::default();
        };
        let sum = |of: fn(&Line) -> u64| totals.0.iter().map(of).sum();
        Seen {
            connections: sum(|line| line.connections),
            writes: Some(sum(|line| line.writes)),
            segments: sum(|line| line.segments),
            timed: 0,
        }
    }

    /// Returns the connections that began or ended since the last call.
    pub(super) fn news(&mut self) -> Vec<SeenEnd> {
        std::mem::take(&mut self.sights)
    }

    /// Returns the connections that have not ended.
    pub(super) fn open(&self) -> Vec<SeenEnd> {
        let now_ns = clock_ns(libc::CLOCK_REALTIME);
        let records = self.by_connection.iter().flatten();
        records
            .map(|(_, record)| SeenEnd {
                at_ns: now_ns,
                ..record.so_far()
            })
            .collect()
    }
}

/// `totals` of the BPF programs: a line of the cache for each processor.
#[repr(C)]
#[derive(Clone, Copy)]
struct Totals([Line; MOST_PROCESSORS]);

/// `struct totals` of `bpf/events.h`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Line {
    connections: u64,
    writes: u64,
    segments: u64,
    unused: [u64; 5],
}

// SAFETY: numbers without gaps between them.
unsafe impl Pod for Totals {}

const MOST_PROCESSORS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Contract, layout};

    #[test]
    fn a_line_has_the_fields_of_c_at_the_same_offsets() {
        let c = Contract::new(&[include_str!("../../bpf/events.h")], super::super::OBJECT);
        let line = layout!(Line, connections, writes, segments, unused);
        c.has("totals", &line);
        assert!(c.is_compiled("totals"));
        assert_eq!(c.number("MOST_PROCESSORS"), MOST_PROCESSORS);
    }
}
