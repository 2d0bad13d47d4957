//! What the BPF program writes, and what it is told: the structures of `bpf/hand.h`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use aya::Pod;

use super::setting::Raw;

/// `struct socket_record`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct SocketRecord {
    pub(super) cookie: u64,
    pub(super) inode: u64,
    pub(super) cgroup: u64,
    pub(super) netns: u32,
    pub(super) delack_max: u32,
    pub(super) notsent_lowat: u32,
    pub(super) data_segs_out: u32,
    pub(super) local_port: u16,
    pub(super) remote_port: u16,
    pub(super) local: [u8; 16],
    pub(super) remote: [u8; 16],
    pub(super) congestion: [u8; 16],
    pub(super) state: u8,
    pub(super) nonagle: u8,
    pub(super) is_v6: u8,
    pub(super) set_by_program: u8,
    pub(super) data_segs_in: u32,
    pub(super) unused: [u8; 4],
}

impl SocketRecord {
    pub(super) fn local(&self) -> SocketAddr {
        SocketAddr::new(self.address(&self.local), self.local_port)
    }

    pub(super) fn remote(&self) -> SocketAddr {
        SocketAddr::new(self.address(&self.remote), self.remote_port)
    }

    fn address(&self, octets: &[u8; 16]) -> IpAddr {
        match self.is_v6 {
            0 => Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]).into(),
            _ => IpAddr::from(Ipv6Addr::from(*octets)).to_canonical(),
        }
    }
}

/// `struct change`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct ChangeRecord {
    pub(super) cookie: u64,
    pub(super) to: Raw,
    pub(super) expected: Raw,
    pub(super) argument: u32,
    pub(super) only_if: u8,
    pub(super) gives_way: u8,
    pub(super) is_done: u8,
    pub(super) unused: u8,
}

/// `struct change_record`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct OutcomeRecord {
    pub(super) cookie: u64,
    pub(super) before: Raw,
    pub(super) after: Raw,
    pub(super) error: i32,
    pub(super) result: u32,
}

/// `struct order`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Order {
    /// The option's number; 0 reports sockets.
    pub(super) option: u32,
    /// How many changes there are.
    pub(super) changes: u32,
    /// Those alone are reported that sent or received data in as many ticks; 0: all.
    pub(super) within: u32,
}

/// `MOST_CHANGES`.
pub(super) const MOST_CHANGES: usize = 1 << 16;

// SAFETY: each is `repr(C)`, has no padding, and any octets are a valid value of it.
unsafe impl Pod for ChangeRecord {}
// SAFETY: as above.
unsafe impl Pod for Order {}

/// `RESULT_DIFFERS`, `RESULT_REFUSED` and `RESULT_GAVE_WAY` of `enum result`.
pub(super) const DIFFERS: u32 = 1;
pub(super) const REFUSED: u32 = 2;
pub(super) const GAVE_WAY: u32 = 3;

/// Reads the records of a sweep; the kernel writes whole ones.
pub(super) fn records<T: Copy + Record>(octets: &[u8]) -> impl Iterator<Item = T> {
    octets.chunks_exact(size_of::<T>()).map(|chunk| {
        // SAFETY: as many octets as `T` has, any of which are a valid `T`.
        unsafe { std::ptr::read_unaligned(chunk.as_ptr().cast()) }
    })
}

/// A structure of which any octets are a valid value.
///
/// # Safety
///
/// The type is `repr(C)` and made of integers.
pub(super) unsafe trait Record {}
// SAFETY: made of integers.
unsafe impl Record for SocketRecord {}
// SAFETY: made of integers.
unsafe impl Record for OutcomeRecord {}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// `bpf/hand.h` asserts the same numbers.
    #[test]
    fn records_are_laid_out_as_in_c() {
        assert_eq!(size_of::<SocketRecord>(), 104);
        assert_eq!(offset_of!(SocketRecord, local), 44);
        assert_eq!(offset_of!(SocketRecord, congestion), 76);
        assert_eq!(offset_of!(SocketRecord, state), 92);
        assert_eq!(offset_of!(SocketRecord, data_segs_in), 96);
        assert_eq!(size_of::<ChangeRecord>(), 48);
        assert_eq!(offset_of!(ChangeRecord, argument), 40);
        assert_eq!(offset_of!(ChangeRecord, is_done), 46);
        assert_eq!(size_of::<OutcomeRecord>(), 48);
        assert_eq!(offset_of!(OutcomeRecord, error), 40);
        assert_eq!(size_of::<Order>(), 12);
    }
}
