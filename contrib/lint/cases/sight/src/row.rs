use std::io::{Read, Write};
use std::net::TcpStream;

pub fn ask(port: u16, head: &[u8], body: &[u8]) -> usize {
    // ruleid: rust-socket-with-nagle
    let mut end = TcpStream::connect(("localhost", port)).unwrap();
    end.write_all(head).unwrap();
    if !body.is_empty() {
        end.write_all(body).unwrap();
    }
    let mut octets = [0; 100];
    end.read(&mut octets).unwrap()
}
