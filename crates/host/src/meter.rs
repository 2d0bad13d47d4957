//! The meter: how long turns take on some sockets. A turn is the time from the first write after a read to the next
//! read that brings data.
//!
//! Of a client it is how long it waits for an answer. Of a server it contains the time that the client takes to ask
//! again. Two tracepoints are used while the meter is open; every write and read on the host costs a look into a table
//! then, about a tenth of a microsecond.

use std::time::Duration;

use aya::Ebpf;
use aya::maps::{HashMap, MapData};

use crate::lacking::Lacking;
use crate::programs::Programs;
use crate::record::{Pod, read};
use crate::ring::Ring;

/// The attached programs. Dropping it detaches them.
pub struct Meter {
    turns: Ring,
    measured: HashMap<MapData, u64, u64>,
    _object: Ebpf,
}

/// A turn: `struct turn` of `bpf/meter.h`. Times are in nanoseconds of the kernel's monotonic clock.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The socket.
    pub cookie: u64,
    /// When the program first wrote.
    pub wrote_ns: u64,
    /// When it read what came next.
    pub read_ns: u64,
}

impl Turn {
    /// Returns how long it took, in nanoseconds.
    #[must_use]
    pub fn length_ns(&self) -> u64 {
        self.read_ns.saturating_sub(self.wrote_ns)
    }
}

impl Meter {
    /// Loads and attaches the programs.
    ///
    /// # Errors
    ///
    /// Returns what the kernel or the privileges lack, in one line.
    pub fn open() -> Result<Self, Lacking> {
        let mut programs = Programs::load(OBJECT)?;
        programs.attach_to_calls()?;
        Ok(Self {
            turns: Ring::of(&mut programs, "turns", "unmeasured")?,
            measured: programs.map("measured")?,
            _object: programs.object,
        })
    }

    /// Measures this socket from now on.
    ///
    /// # Errors
    ///
    /// Returns what the kernel refuses.
    pub fn measure(&mut self, cookie: u64) -> std::io::Result<()> {
        let inserted = self.measured.insert(cookie, 0, 0);
        inserted.map_err(std::io::Error::other)
    }

    /// Passes the turns since the last call to `each`. If there are none yet, waits for at most `patience`.
    pub fn poll(&mut self, patience: Duration, mut each: impl FnMut(Turn)) {
        self.turns.poll(patience, |record| {
            if let Some(turn) = read(record) {
                each(turn);
            }
        });
    }

    /// Returns how many turns found no room since the start.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.turns.lost(0)
    }
}

// SAFETY: it is `repr(C)`, has no padding, and any octets are a valid value of it.
unsafe impl Pod for Turn {}

static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/meter.bpf.o");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Contract, layout};

    #[test]
    fn a_turn_has_the_fields_of_c_at_the_same_offsets() {
        let c = Contract::new(&[include_str!("../bpf/meter.h")], OBJECT);
        c.has("turn", &layout!(Turn, cookie, wrote_ns, read_ns));
    }
}
