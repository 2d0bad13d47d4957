//! The engine on real packets: a TCP/IP stack in user space.

pub mod core;
pub mod device;
mod listener;
mod options;
mod stack;
mod stream;

pub use device::{Tun, TunSettings};
pub use listener::TcpListener;
pub use options::SocketOptions;
pub use stack::{Driver, Stack};
pub use stream::{OwnedReadHalf, OwnedWriteHalf, TcpStream};
