//! Which findings are of a segment that another connection has, too: the same one behind a translator of addresses.

use std::collections::HashMap;

use tinygram_stalls::thresholds::NUMBERED_COPY_NS;

use crate::findings::finding::{Facts, Finding};

/// The held segments so far: by which connection each was sent last, with which time to live, and when, in nanoseconds since the
/// epoch.
#[derive(Default)]
pub(crate) struct Sightings {
    last: HashMap<Identity, (u32, u8, i64)>,
}

/// The sequence number of a held segment, what it acknowledges, its length, and that of the trigger.
type Identity = [u32; 4];

impl Sightings {
    /// Returns whether another connection has the held segment of this finding, at the same time but for what a router takes, and
    /// with another time to live: a router takes one off (RFC 1812, section 5.3.1), and a generator of traffic, whose connections
    /// may all begin with one number, does not. Takes note of it if not.
    pub(crate) fn has(&mut self, finding: &Finding) -> bool {
        let Facts::Hold(hold) = &finding.facts else {
            return false;
        };
        let [seq, ack] = hold.numbers;
        let (id, ttl, now_ns) = (finding.connection, hold.ttl, hold.held.time_ns);
        let segment = [seq, ack, hold.held_len, hold.trigger_len];
        let last = self.last.get(&segment);
        let twice = last.is_some_and(|&(other, before, at_ns)| {
            other != id && before != ttl && (now_ns - at_ns).abs() <= NUMBERED_COPY_NS
        });
        if !twice {
            self.last.insert(segment, (id, ttl, now_ns));
        }
        twice
    }
}
