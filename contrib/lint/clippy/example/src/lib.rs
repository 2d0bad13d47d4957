//! Calls that `../clippy.toml` disallows, and the one function in which it allows them. `../test` compares the warnings.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

/// Warned of: the option is not set.
pub fn ask(address: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?; // warned of
    // Two writes before a read: clippy has no lint that sees them.
    stream.write_all(b"head")?;
    stream.write_all(b"body")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Warned of: the option is not set on what is accepted.
pub fn serve(listener: &TcpListener) -> io::Result<()> {
    let (mut stream, _) = listener.accept()?; // warned of
    stream.write_all(b"welcome")
}

/// Warned of, too: clippy does not look at what follows. So such calls belong into one function, as below.
pub fn mended(address: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?; // warned of
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Warned of: tokio leaves the option off.
pub async fn wait(address: &str) -> io::Result<tokio::net::TcpStream> {
    tokio::net::TcpStream::connect(address).await // warned of
}

/// Warned of: tokio leaves the option off.
pub async fn accepted(listener: &tokio::net::TcpListener) -> io::Result<tokio::net::TcpStream> {
    Ok(listener.accept().await?.0) // warned of
}

/// Not warned of.
///
/// # Errors
/// The peer cannot be reached.
#[expect(clippy::disallowed_methods, reason = "sets TCP_NODELAY")]
pub fn connect(address: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
