//! Workloads: programs that the papers ran, and the kinds of program they argue about.
//!
//! | module | the program |
//! |---|---|
//! | [`exchange`] | the same with each message in several writes: write, write, read |
//! | [`bulk`] | one end writes so many octets, the other one reads them |
//! | [`event_loop`] | a server that polls many sockets and blocks on none of them |
//! | [`http`] | pages of documents, over a connection each or over one (P-HTTP) |
//! | [`opening`] | a connection opened and left alone |
//! | [`periodic`] | a program that writes a little at fixed times, and one that reads |
//! | [`telnet`] | one thread types and another one reads |

pub mod bulk;
pub mod event_loop;
pub mod exchange;
pub mod http;
pub mod opening;
pub mod periodic;
pub mod telnet;
