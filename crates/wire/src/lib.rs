//! Reads and writes the engine's segments as the bytes of TCP/IP packets, and capture files.
//!
//! - [`encode`] writes the packet that carries one of the engine's segments, and [`packet`] reads a
//!   packet that arrived whole; both use [`options`], [`checksum`] and [`sequence`].
//! - [`capture`] reads and writes pcap and pcapng; [`decode`] turns a captured frame, which may be
//!   truncated, into the facts of one TCP segment.
//! - [`reassembly`] puts the fragments of IP packets together.
//! - [`tcpdump`] prints the engine's segments as the program tcpdump does.

pub mod capture;
pub mod checksum;
pub mod decode;
pub mod encode;
pub mod endpoint;
pub mod options;
pub mod packet;
pub mod reassembly;
pub mod sequence;
pub mod tcpdump;
