//! Connections that are only tried, and a module of the tests.
use std::io::Write;
use std::net::TcpStream;

#[cfg(test)]
mod server;

pub fn answers(address: &str) -> bool {
    // cannot tell: rust-socket-with-nagle
    TcpStream::connect(address).is_ok()
}

pub fn wait(address: &str) {
    // cannot tell: rust-socket-with-nagle
    while let Err(why) = TcpStream::connect(address) {
        eprintln!("{why}");
    }
}

pub fn is_there(address: &str) -> bool {
    // cannot tell: rust-socket-with-nagle
    match TcpStream::connect(address) {
        Ok(_stream) => true,
        _ => false,
    }
}

pub fn tell(address: &str) -> std::io::Result<()> {
    // ruleid: rust-socket-with-nagle
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"head")?;
    stream.write_all(b"body")
}

pub fn told(address: &str) -> bool {
    // ruleid: rust-socket-with-nagle
    TcpStream::connect(address).and_then(|stream| send(stream)).is_err()
}

pub fn handed(address: &str) -> bool {
    // ruleid: rust-socket-with-nagle
    send_all(TcpStream::connect(address)).is_ok()
}

pub fn why(address: &str) {
    // ruleid: rust-socket-with-nagle
    if let Err(why) = TcpStream::connect(address).and_then(|stream| send(stream)) {
        eprintln!("{why}");
    }
}

fn send_all(stream: std::io::Result<TcpStream>) -> std::io::Result<()> {
    send(stream?)
}

fn send(mut stream: TcpStream) -> std::io::Result<()> {
    stream.write_all(b"head")?;
    stream.write_all(b"body")
}
