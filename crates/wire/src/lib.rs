//! Bytes on the wire and in capture files.
//!
//! [`capture`] reads and writes pcap and pcapng; [`decode`] turns a captured frame into the
//! facts of one TCP segment.

pub mod capture;
pub mod decode;
