//! Network namespaces. `tinygram-link` makes, finds and enters them; here is the kernel's number for one.

use std::io;
use std::os::unix::net::UnixDatagram;

pub use tinygram_link::namespace::Namespace;

use crate::cookie;

/// Returns the kernel's number for a namespace, which no other has until the machine is started anew: an inode may be
/// another's after it has ended. Linux 5.14 and newer tell it.
///
/// # Errors
///
/// Returns what the system refuses.
pub fn cookie(namespace: &Namespace) -> io::Result<u64> {
    namespace.within(|| cookie::of_namespace(&UnixDatagram::unbound()?))?
}
