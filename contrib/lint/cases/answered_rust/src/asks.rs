use std::io::{Read, Write};
use std::net::TcpStream;

struct Client {
    end: TcpStream,
}

impl Client {
    fn open(port: u16) -> Client {
        // cannot tell: rust-socket-with-nagle
        let end = TcpStream::connect(("localhost", port)).unwrap();
        Client { end }
    }

    pub fn ask(&mut self, question: &[u8]) -> u32 {
        for _ in 0..2 {
            self.send(question);
            if self.answer() == 1 {
                break;
            }
        }
        0
    }

    fn send(&mut self, octets: &[u8]) {
        self.end.write_all(octets).unwrap();
    }

    fn answer(&mut self) -> usize {
        let mut octets = [0; 100];
        self.end.read(&mut octets).unwrap()
    }
}
