//! Decides what to hold and when to flush: pure functions, without a process, a clock or a socket.
//!
//! An answer passes through these steps. The program writes: [`Memory::on_write`] decides to *hold*
//! the write, to let it *pass*, or that the answer is *complete*, so that the held bytes leave with
//! this write. The program may write again. Then it waits for something: [`before_wait`],
//! [`before_read`] and [`after_read`] decide when the held bytes must leave. The hooks of `tinygram
//! run` call these functions and do what they return; no other code decides.
//!
//! Flush-on-block is DLDET (Mogul and Minshall, *Rethinking the TCP Nagle algorithm*, 2001, §5)
//! without the limits that the paper found. The set of written sockets is kept per thread, so the
//! rule works for an event loop, for a request on one socket that is answered on another, and for a
//! blocked reader beside a writing thread.

#![no_std]

#[cfg(test)]
extern crate std;

mod debt;
mod memory;
mod only;
mod pace;
mod purse;
mod rules;
mod trial;
mod wait;

pub use memory::{Decision, Habit, Memory, Write};
pub use only::{Only, mapped, unmapped};
pub use pace::Pace;
pub use rules::{Policy, Rules};
pub use trial::{Next, Spent, Trial, Turn, Verdict};
pub use wait::{
    AfterRead, BeforeRead, BeforeWait, Found, Held, Read, Wait, after_read, before_read,
    before_wait,
};
