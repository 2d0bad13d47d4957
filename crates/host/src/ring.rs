//! What attached programs report: records in a ring buffer, and a count of those that found no room there.

use std::time::Duration;

use aya::maps::{MapData, PerCpuArray, RingBuf};

use crate::lacking::Lacking;
use crate::programs::Programs;
use crate::ready;

/// The records of a loaded object.
pub(crate) struct Ring {
    records: RingBuf<MapData>,
    lost: PerCpuArray<MapData, u64>,
}

impl Ring {
    /// Takes the ring buffer of this name, and the count of what it had no room for, out of the object.
    pub(crate) fn of(programs: &mut Programs, records: &str, lost: &str) -> Result<Self, Lacking> {
        Ok(Self {
            records: programs.map(records)?,
            lost: programs.map(lost)?,
        })
    }

    /// Passes the records since the last call to `each`. If there are none yet, waits for at most `patience`.
    pub(crate) fn poll(&mut self, patience: Duration, mut each: impl FnMut(&[u8])) {
        ready::wait(&self.records, patience);
        while let Some(record) = self.records.next() {
            each(&record);
        }
    }

    /// Returns how many records of a kind (a place in the map of counts) found no room since the start.
    pub(crate) fn lost(&self, kind: u32) -> u64 {
        let counts = self.lost.get(&kind, 0);
        counts.map_or(0, |counts| counts.iter().sum())
    }
}
