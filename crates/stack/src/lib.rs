//! The engine on real packets: a TCP/IP stack in user space whose small-segment and ACK policies are
//! chosen per socket.
//!
//! A [`Stack`] has a [device] (usually a [`Tun`]), addresses of its own, and a driver task that
//! reads packets and runs timers. [`TcpListener`] and [`TcpStream`] work like tokio's: `AsyncRead`,
//! `AsyncWrite`, [splitting](TcpStream::into_split). What they add are the policies.
//!
//! ```no_run
//! use tinygram_engine::sender::send_policy::SendPolicy;
//! use tinygram_stack::{Stack, TcpListener, Tun, TunSettings};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! # async fn run() -> std::io::Result<()> {
//! let tun = Tun::open(&TunSettings {
//!     ipv4: Some(([10, 78, 0, 1].into(), 24)), // the kernel's address on the device
//!     ..TunSettings::default()
//! })?;
//! let ours = [10, 78, 0, 2].into();
//! let stack = Stack::new(tun, &[ours])?;
//! let listener = TcpListener::bind(&stack, (ours, 7).into())?;
//! let (mut stream, _peer) = listener.accept().await?;
//! stream.set_send_policy(SendPolicy::Minshall);
//! let mut octets = [0; 1024];
//! let some = stream.read(&mut octets).await?;
//! stream.write_all(&octets[..some]).await?;
//! # Ok(())
//! # }
//! ```
//!
//! The examples are whole programs: `cargo run --release -p tinygram-stack --example http_server`
//! (then `curl http://10.78.0.2/`), `client` and `proxy`. They need the right to make a TUN device;
//! the first lines of each say how to run it without root.
//!
//! # How it works
//!
//! [`tinygram_tcp`] is the stack without a device, a clock or a thread; it and the engine decide
//! what happens to packets. One lock guards it. The thread that causes packets, because the driver
//! read a packet or a task wrote, also sends them, with the lock released. So a write reaches the
//! device without another thread's help; and on a single-threaded runtime a question is read,
//! handed to its task and answered without a thread switch.
//!
//! Buffers are rings of pieces of 2 KiB, up to the socket's limits and the stack's. Data is copied only from the
//! caller's buffer into the ring and from the ring into the packet.

mod alarm;
pub mod device;
mod driver;
mod listener;
mod shared;
mod stack;
mod stream;

pub use device::{Tun, TunSettings};
pub use driver::Driver;
pub use listener::TcpListener;
pub use stack::{Stack, StackSettings};
pub use stream::{OwnedReadHalf, OwnedWriteHalf, TcpStream};
pub use tinygram_tcp::{SocketOptions, StackRules};
