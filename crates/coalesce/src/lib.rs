//! What to hold and when to flush: pure, without a process, a clock or a socket.
//!
//! The road of one answer: the program writes ([`Memory::on_write`] decides *hold* or *pass*, or that
//! the answer is *complete* and takes along what is held), perhaps writes again, and then waits for
//! something ([`before_wait`], [`before_read`], [`after_read`] decide when what is held must leave).
//! The hooks ask these questions and do what the answers say; nothing else decides.
//!
//! Flush-on-block is DLDET (Mogul and Minshall, *Rethinking the TCP Nagle algorithm*, 2001, §5)
//! without the limits the paper found: the set of written sockets is kept per thread, so an event
//! loop, a request on one socket answered on another and a blocked reader beside a writing thread
//! are all covered.

#![no_std]

#[cfg(test)]
extern crate std;

mod debt;
mod memory;
mod pace;
mod purse;
mod rules;
mod wait;

pub use memory::{Decision, Habit, Memory, Write};
pub use pace::Pace;
pub use rules::{Policy, Rules};
pub use wait::{
    AfterRead, BeforeRead, BeforeWait, Found, Held, Read, Wait, after_read, before_read,
    before_wait,
};
