use std::io::Write;
use std::net::TcpListener;

pub fn serve(listener: &TcpListener) -> std::io::Result<()> {
    // cannot tell: rust-socket-with-nagle
    let (mut stream, _) = listener.accept()?;
    stream.write_all(b"head")?;
    stream.write_all(b"body")
}
