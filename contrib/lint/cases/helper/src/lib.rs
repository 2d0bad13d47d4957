//! What it accepts goes to a function of another file that sets the option: this file alone cannot tell.
use std::io::Write;
use std::net::TcpListener;

pub mod options;
pub mod other;

pub fn serve(listener: &TcpListener) -> std::io::Result<()> {
    // cannot tell: rust-socket-with-nagle
    let (mut stream, _) = listener.accept()?;
    options::at_once(&stream)?;
    stream.write_all(b"head")?;
    stream.write_all(b"body")
}
