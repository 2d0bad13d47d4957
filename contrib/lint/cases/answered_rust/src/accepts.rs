use std::io::Write;
use std::net::{TcpListener, TcpStream};

pub trait Acceptor {
    fn accept(&mut self) -> TcpStream;
}

pub struct Plain {
    listener: TcpListener,
}

impl Acceptor for Plain {
    fn accept(&mut self) -> TcpStream {
        // ruleid: rust-socket-with-nagle
        self.listener.accept().unwrap().0
    }
}

pub fn welcome<A: Acceptor>(mut doors: A) {
    // cannot tell: rust-socket-with-nagle
    let mut end = doors.accept();
    end.write_all(b"head").unwrap();
    end.write_all(b"body").unwrap();
}
