//! What the BPF programs count: how much they saw, in all and for each connection.

use aya::maps::{Array, HashMap, Map, MapData, MapError};

use super::record::{self, SeenRecord};
use crate::seen::{Seen, Sight};
use tinygram_host::clock::clock_ns;

/// The counts in the kernel, and those of connections that began or ended since they were asked for.
pub(super) struct Counts {
    totals: Array<MapData, Totals>,
    by_connection: HashMap<MapData, u64, SeenRecord>,
    sights: Vec<Sight>,
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
        let sum = |field: usize| totals.0.iter().map(|line| line[field]).sum();
        Seen {
            connections: sum(0),
            writes: Some(sum(1)),
            segments: sum(2),
            timed: 0,
        }
    }

    /// Returns the connections that began or ended since the last call.
    pub(super) fn news(&mut self) -> Vec<Sight> {
        std::mem::take(&mut self.sights)
    }

    /// Returns the connections that have not ended.
    pub(super) fn open(&self) -> Vec<Sight> {
        let now_ns = clock_ns(libc::CLOCK_REALTIME);
        let records = self.by_connection.iter().flatten();
        records
            .map(|(_, record)| Sight {
                at_ns: now_ns,
                ..record.so_far()
            })
            .collect()
    }
}

/// `totals` of the BPF programs: a line of the cache for each processor.
#[repr(C)]
#[derive(Clone, Copy)]
struct Totals([[u64; 8]; 256]);

// SAFETY: numbers without gaps between them.
unsafe impl aya::Pod for Totals {}
