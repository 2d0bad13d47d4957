//! Bytes on the wire and in capture files.
//!
//! - [`encode`] writes the packet that carries one of the engine's segments, and [`packet`] reads
//!   one that came in whole; [`options`], [`checksum`] and [`sequence`] are what both are made of.
//! - [`capture`] reads and writes pcap and pcapng; [`decode`] turns a captured frame, which may be
//!   cut short, into the facts of one TCP segment.
//! - [`tcpdump`] prints the engine's segments as that program does.

pub mod capture;
pub mod checksum;
pub mod decode;
pub mod encode;
pub mod endpoint;
pub mod options;
pub mod packet;
pub mod sequence;
pub mod tcpdump;
