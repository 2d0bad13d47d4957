use std::io::Write;

pub fn run(port: u16) {
    // cannot tell: rust-socket-with-nagle
    let mut end = std::net::TcpStream::connect(("localhost", port)).unwrap();
    end.write_all(b"head").unwrap();
    end.write_all(b"body").unwrap();
}
