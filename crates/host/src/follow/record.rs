//! What the BPF program writes, and what it is told: the structures of `bpf/follow.h`.

use aya::Pod;

use crate::hand::Raw;

pub(super) const MOST_SETTINGS: usize = 4;
pub(super) const MOST_PEERS: usize = 8;

/// `struct rule`.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RuleRecord {
    pub(super) netns: u32,
    pub(super) port: u16,
    pub(super) kind: u16,
    pub(super) id: u64,
}

/// `struct setting`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct SettingRecord {
    pub(super) to: Raw,
    pub(super) option: u32,
    pub(super) argument: u32,
}

/// `struct peer`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct PeerRecord {
    pub(super) address: [u8; 16],
    pub(super) mask: [u8; 16],
    pub(super) port: u16,
    pub(super) unused: [u16; 3],
}

/// `struct order_to_follow`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Order {
    pub(super) settings: [SettingRecord; MOST_SETTINGS],
    pub(super) peers: [PeerRecord; MOST_PEERS],
    pub(super) setting_count: u32,
    pub(super) peer_count: u32,
}

/// `struct follow_record`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct EventRecord {
    pub(super) cookie: u64,
    pub(super) netns: u32,
    pub(super) event: u32,
    pub(super) values: [Raw; MOST_SETTINGS],
    pub(super) results: [u32; MOST_SETTINGS],
    pub(super) errors: [i32; MOST_SETTINGS],
    pub(super) local_port: u16,
    pub(super) remote_port: u16,
    pub(super) by_process: u32,
    pub(super) program: [u8; 16],
}

/// `enum follow_event`, but for `FOLLOW_DONE`.
pub(super) const OPENED: u32 = 1;
pub(super) const CLOSED: u32 = 3;
pub(super) const LISTENS: u32 = 4;

impl EventRecord {
    /// Reads a record of the ring; `None` if it has another length.
    pub(super) fn read(octets: &[u8]) -> Option<Self> {
        // SAFETY: as many octets as the structure has, which is made of integers.
        (octets.len() == size_of::<Self>())
            .then(|| unsafe { std::ptr::read_unaligned(octets.as_ptr().cast()) })
    }

    /// Returns the name of the program that connected or listens; empty if none is known.
    pub(super) fn program(&self) -> &str {
        let name = self.program.split(|octet| *octet == 0).next();
        name.map_or("", |name| std::str::from_utf8(name).unwrap_or(""))
    }
}

// SAFETY: each is `repr(C)`, has no padding, and any octets are a valid value of it.
unsafe impl Pod for RuleRecord {}
// SAFETY: as above.
unsafe impl Pod for Order {}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// `bpf/follow.h` asserts the same numbers.
    #[test]
    fn records_are_laid_out_as_in_c() {
        assert_eq!(size_of::<RuleRecord>(), 16);
        assert_eq!(offset_of!(RuleRecord, id), 8);
        assert_eq!(size_of::<Order>(), 424);
        assert_eq!(offset_of!(Order, peers), 96);
        assert_eq!(size_of::<EventRecord>(), 136);
        assert_eq!(offset_of!(EventRecord, values), 16);
        assert_eq!(offset_of!(EventRecord, errors), 96);
        assert_eq!(offset_of!(EventRecord, program), 120);
    }
}
