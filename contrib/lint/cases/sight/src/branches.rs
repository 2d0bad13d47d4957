use std::io::{Read, Write};
use std::net::TcpStream;

pub enum End {
    Plain(TcpStream),
    Sealed(TcpStream),
}

pub fn open(port: u16) -> End {
    // cannot tell: rust-socket-with-nagle
    End::Plain(TcpStream::connect(("localhost", port)).unwrap())
}

// Each way writes once, and what goes into a buffer is no write.
pub fn ask(end: &mut End, sealed: bool, buffer: &mut Vec<u8>) -> usize {
    buffer.write_all(b"head").unwrap();
    buffer.write_all(b"body").unwrap();
    match end {
        End::Plain(plain) => plain.write_all(buffer).unwrap(),
        End::Sealed(inner) => {
            if sealed {
                inner.write_all(buffer).unwrap();
            } else {
                inner.write_all(b"open").unwrap();
            }
        }
    }
    0
}
