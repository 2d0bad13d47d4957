//! Workloads: programs that the papers ran, and kinds of programs that they discuss.
//!
//! | module | the program |
//! |---|---|
//! | [`exchange`] | messages in turn, each in several writes: write, write, read |
//! | [`bulk`] | one end writes a number of octets, the other reads them |
//! | [`event_loop`] | a server that polls many sockets and blocks on none of them |
//! | [`http`] | pages of documents, over a connection each or over one (P-HTTP) |
//! | [`opening`] | a connection opened and then left alone |
//! | [`periodic`] | one program writes a little at fixed times, and one reads |
//! | [`telnet`] | one thread types and another one reads |

pub mod bulk;
pub mod event_loop;
pub mod exchange;
pub mod http;
pub mod opening;
pub mod periodic;
pub mod telnet;
