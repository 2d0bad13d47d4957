//! Workloads: programs that the papers ran, and the kinds of program they argue about.
//!
//! | module | the program |
//! |---|---|
//! | [`naglemark`] | a blocking client and server, one question and one answer at a time |
//! | [`exchange`] | the same with each message in several writes: write, write, read |
//! | [`event_loop`] | a server that polls many sockets and blocks on none of them |
//! | [`opening`] | a connection opened and left alone |
//! | [`telnet`] | one thread types and another one reads |

pub mod event_loop;
pub mod exchange;
pub mod naglemark;
pub mod opening;
pub mod telnet;
