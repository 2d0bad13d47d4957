//! One TCP connection, sans-IO, on ranges of octets, whose small-segment and ACK policies are chosen per socket.
//!
//! The engine has no clock, does no IO and carries no octets: time is an argument, segments are
//! values, and data is ranges of offsets. A simulator or a real stack brings the rest. It needs an
//! allocator and no operating system (`no_std`).
//!
//! # The loop
//!
//! The caller of a [`Connection`] repeats three steps:
//!
//! 1. **Call.** Call the engine if the application called ([`write`](Connection::write),
//!    [`read`](Connection::read), [`close`](Connection::close) and others), a segment arrived
//!    ([`on_segment`](Connection::on_segment)), or the requested time came
//!    ([`on_wakeup`](Connection::on_wakeup)). Every call takes the time, which must not go back,
//!    and an [`Outbox`]. When the application is about to sleep, call
//!    [`app_blocks`](Connection::app_blocks): `MODERN`, and every policy that asks for hints about
//!    blocking, holds what was written until then or until a watchdog's time has passed.
//! 2. **Drain the outbox.** Its segments go to the network, in their order; its [`Events`] say what
//!    the application may want to know.
//! 3. **Arm the deadline.** [`next_wakeup`](Connection::next_wakeup) returns when to call
//!    `on_wakeup` if nothing else happens before. Any call may change it.
//!
//! Two connections on a line that takes a millisecond:
//!
//! ```
//! use std::collections::VecDeque;
//! use tinygram_engine::profile::{Profile, Sizes};
//! use tinygram_engine::{Connection, Duration, Events, Instant, Outbox, Segment, State};
//!
//! const DELAY: Duration = Duration::from_millis(1);
//!
//! let sizes = Sizes { mss: 1460, send_buffer: 65_536, receive_buffer: 65_536 };
//! let config = Profile::MODERN.builder(sizes).build()?;
//! let mut ends = [Connection::new(&config), Connection::new(&config)];
//! // Segments on their way: when they arrive, at which end.
//! let mut line: VecDeque<(Instant, usize, Segment)> = VecDeque::new();
//! let (mut now, mut out) = (Instant::ZERO, Outbox::new());
//!
//! // Call; then drain the outbox: what `end` says arrives at the other one.
//! ends[1].listen();
//! ends[0].connect(now, &mut out);
//! let accepted = ends[0].write(now, 5000, false, &mut out);
//! assert_eq!(accepted, 5000);
//! line.extend(out.segments.drain(..).map(|segment| (now + DELAY, 1, segment)));
//!
//! let mut read = 0;
//! loop {
//!     // The deadline: of all that may happen next, the first.
//!     let arrival = line.front().map(|(at, ..)| *at);
//!     let timers = ends.iter().filter_map(Connection::next_wakeup);
//!     let Some(next) = timers.chain(arrival).min() else { break };
//!     now = next;
//!     let end = match line.pop_front_if(|(at, ..)| *at == now) {
//!         Some((_, end, segment)) => {
//!             ends[end].on_segment(now, &segment, &mut out);
//!             end
//!         }
//!         None => {
//!             let due = |it: &Connection| it.next_wakeup() == Some(now);
//!             let end = ends.iter().position(due).expect("whose deadline it was");
//!             ends[end].on_wakeup(now, &mut out);
//!             end
//!         }
//!     };
//!     read += ends[end].read(now, u64::MAX, &mut out);
//!     let news = out.take_events();
//!     let is_done = end == 0 && news.has(Events::CONNECTED);
//!     if is_done || news.has(Events::PEER_CLOSED) {
//!         ends[end].close(now, &mut out);
//!     }
//!     line.extend(out.segments.drain(..).map(|segment| (now + DELAY, 1 - end, segment)));
//! }
//! assert_eq!(read, 5000);
//! assert!(ends.iter().all(|end| end.state() == State::Closed));
//! # Ok::<(), tinygram_engine::connection::InvalidConfig>(())
//! ```
//!
//! # Octets
//!
//! The engine carries no octets. Its caller keeps two buffers and copies by offsets. The first
//! octet that the application writes has [`Offset::FIRST`], in both directions.
//!
//! - **To send:** keep the octets that [`write`](Connection::write) accepted, from [`Vars::una`]
//!   on. A segment in the outbox names the range that it carries ([`Segment::data`]): copy it from
//!   there, also for a retransmission. When `una` has moved, drop what lies below it.
//! - **To receive:** ask [`accepts`](Connection::accepts) about an arriving segment before
//!   [`on_segment`](Connection::on_segment), and keep its octets only if the answer is yes: a segment
//!   that the engine refuses (outside the window, too old, with an impossible acknowledgment) may be
//!   forged, and must not replace octets that are kept. Keep those at their offsets, also the ones that
//!   come early. After [`on_segment`](Connection::on_segment), all below [`Receiver::nxt`] is in order,
//!   and [`read`](Connection::read) returns how many octets of it the application takes.
//!
//! The example `udp` does this with two queues; `tinygram-tcp` does it for a whole stack.
//!
//! [`Vars::una`]: sender::send_policy::Vars::una
//! [`Receiver::nxt`]: receiver::Receiver::nxt
//!
//! # Examples that run
//!
//! `cargo run -p tinygram-engine --example two_ends` prints such a run with the reasons for each
//! hold, `--example own_policy` defines its own send policy, and `--example udp` carries segments
//! and octets in UDP datagrams.
//!
//! # The journey of a write
//!
//! 1. The application writes. A [copy rule](socket::copy_rule) cuts the write into pieces and says
//!    when the writer sleeps ([`socket`]).
//! 2. After every piece the [sender] runs an output pass: it sends full segments and everything
//!    else that must go, and asks the [send policy](sender::send_policy) about a *runt*. The policy
//!    reads the sender's variables and answers [`Send`](sender::send_policy::Verdict::Send) or
//!    [`Hold`](sender::send_policy::Verdict::Hold), with a reason.
//! 3. Segments go to the [outbox] and from there to a link or a wire.
//! 4. The peer's [receiver] puts them in order, and its [ACK policy](receiver::ack_policy) decides
//!    when to acknowledge: on arrival, after the application has read, or when a timer expires.
//! 5. A [connection] joins the two halves: it opens and closes, lets data carry acknowledgments,
//!    and returns [when to call it again](Connection::next_wakeup).
//!
//! # What can be chosen
//!
//! A [`Profile`](profile::Profile) names the rules of a historic or modern stack, and a
//! [`ConfigBuilder`](connection::ConfigBuilder) changes them one by one. Each kind of rule is an
//! enum of the known rules, with a `Custom` variant and a small trait for your own rule, which may
//! have a memory:
//!
//! | what | choices | trait |
//! |---|---|---|
//! | which runts leave | [`SendPolicy`](sender::send_policy::SendPolicy) | [`send_policy::Rule`](sender::send_policy::Rule) |
//! | when to acknowledge | [`AckPolicy`](receiver::ack_policy::AckPolicy), [`AckTimer`](receiver::ack_policy::AckTimer) | [`ack_policy::Rule`](receiver::ack_policy::Rule) |
//! | how a write is cut | [`CopyRule`](socket::copy_rule::CopyRule) | [`copy_rule::Rule`](socket::copy_rule::Rule) (without memory) |
//! | how cwnd moves | [`Congestion`](sender::congestion::Congestion) | [`congestion::Control`](sender::congestion::Control) |
//! | what idleness does to cwnd | [`IdleRestart`](sender::congestion::restart::IdleRestart) | |
//! | today's extensions | [`Extensions`] | |
//!
//! The crate `tinygram-naglemark` runs your own rule in the benchmark; its entry page shows how.
//! `tinygram-tcp` adds octets, ports and listeners to the engine.
//!
//! Names are for a command line: the enums that have names parse and print them
//! (`"minshall".parse::<SendPolicy>()`).

#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod connection;
pub mod extensions;
pub mod offset;
pub mod options;
pub mod outbox;
pub mod profile;
pub mod queues;
pub mod receiver;
pub mod registry;
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
