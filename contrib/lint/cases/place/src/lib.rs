use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener as Local;

pub enum Listener {
    Tcp(TcpListener),
    Unix(Local),
}

pub fn take(listener: &Listener) {
    match listener {
        // ruleid: rust-socket-with-nagle
        Listener::Tcp(it) => greet(it.accept().unwrap().0),
        // cannot tell: rust-socket-with-nagle
        Listener::Unix(it) => drop(it.accept()),
    }
}

fn greet(mut end: TcpStream) {
    end.write_all(b"head").unwrap();
    end.write_all(b"body").unwrap();
}

pub struct Server {
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        // cannot tell: rust-socket-with-nagle
        let woken = TcpStream::connect(("localhost", self.port));
        drop(woken);
    }
}

pub fn wake(port: u16) {
    // cannot tell: rust-socket-with-nagle
    let _ = TcpStream::connect(("localhost", port));
    // cannot tell: rust-socket-with-nagle
    TcpStream::connect(("localhost", port)).unwrap();
}
