//! What tests of turns that were made by hand share: what an end did, and what a change is expected to do.
#![allow(dead_code, reason = "each test uses a part of it")]

use tinygram_engine::Duration;
use tinygram_whatif::change::Change;
use tinygram_whatif::forecast::{Forecast, forecast};
use tinygram_whatif::offer::AskedChanges;
use tinygram_whatif::prediction::{Service, Subject};
use tinygram_whatif::seen::{Read, Sent, Write};

pub(crate) const MS: u64 = 1_000_000;

pub(crate) fn write(at_ns: u64, length: u64, end: u64, read_until: u64) -> Write {
    Write {
        at_ns,
        length,
        end,
        read_until,
        more: false,
    }
}

pub(crate) fn read(at_ns: u64, length: u64, end: u64, late_ack_ns: Option<u64>) -> Read {
    Read {
        at_ns,
        length,
        end,
        late_ack_ns,
    }
}

pub(crate) fn sent(at_ns: u64, length: u64, end: u64) -> Sent {
    Sent { at_ns, length, end }
}

/// Returns what the change does at the end that is meant.
pub(crate) fn foreseen(subject: Subject, change: Change) -> Forecast {
    let service = Service {
        subjects: vec![subject],
        tick_ns: Duration::from_millis(4).as_nanos(),
        seed: 1,
    };
    let asked = AskedChanges {
        changes: &[change],
        by_target: true,
    };
    forecast(&[service], asked).expect("turns")
}
