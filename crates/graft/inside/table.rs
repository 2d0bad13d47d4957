//! The table of descriptors.

use crate::layout::{SOCKETS, Shared, Socket};

/// Returns the entry of a descriptor, if it has one.
#[inline(always)]
pub(crate) fn socket(shared: &Shared, fd: u64) -> Option<&Socket> {
    shared.sockets.get(usize::try_from(fd).unwrap_or(SOCKETS))
}
