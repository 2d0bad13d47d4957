use std::io::{Read, Write};
use std::net::TcpStream;

// "write_all(" in a text is none.
struct Client {
    end: TcpStream,
}

impl Client {
    fn open(port: u16) -> Client {
        // ruleid: rust-socket-with-nagle
        let end = TcpStream::connect(("localhost", port)).unwrap();
        Client { end }
    }

    pub fn tell(&mut self, pieces: &[&[u8]]) -> usize {
        for piece in pieces {
            self.end.write_all(piece).unwrap();
        }
        let mut octets = [0; 100];
        self.end.read(&mut octets).unwrap()
    }
}
