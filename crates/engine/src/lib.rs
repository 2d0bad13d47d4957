//! A sans-IO TCP on ranges whose small-segment and ACK policies are chosen per socket.
//!
//! The engine has no clock, does no IO and carries no octets: time is an argument, segments are
//! values, and data is ranges of offsets. A simulator or a real stack brings the rest.
//!
//! # The journey of a write
//!
//! 1. The application writes. A [copy rule](socket::copy_rule) cuts the write into pieces and says
//!    when the writer sleeps ([`socket`]).
//! 2. After every piece the [sender] runs an output pass: full segments go, and so does
//!    what must go; a *runt* is put before the [send policy](sender::send_policy), which reads the
//!    sender's variables and says [`Send`](sender::send_policy::Verdict::Send) or
//!    [`Hold`](sender::send_policy::Verdict::Hold), and why.
//! 3. Segments land in the [outbox] and from there on a link or a wire.
//! 4. The peer's [receiver] puts them in order, and its
//!    [ACK policy](receiver::ack_policy) says when to acknowledge: on arrival, after the
//!    application has read, or when a timer says so.
//! 5. A [connection] joins the two halves: it opens and closes, lets data carry acknowledgments,
//!    and answers one question, [when to be called again](connection::Connection::next_wakeup).
//!
//! A [profile] names the rules that a historic or modern stack is made of.

extern crate alloc;

pub mod connection;
pub mod extensions;
pub mod offset;
pub mod options;
pub mod outbox;
pub mod profile;
pub mod receiver;
pub mod segment;
pub mod sender;
pub mod socket;
pub mod time;

pub use connection::{Config, Connection, Reason, State, Wrote};
pub use extensions::{Extensions, Keepalive};
pub use offset::{Offset, Span};
pub use options::{Blocks, Options, SackBlocks, TcpOptions, Timestamps};
pub use outbox::{Events, Outbox};
pub use segment::{Flags, Segment};
pub use time::{Duration, Instant};
