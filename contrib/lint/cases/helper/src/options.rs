use std::net::TcpStream;

pub fn open(address: &str) -> std::io::Result<TcpStream> {
    // ok: rust-socket-with-nagle
    let stream = TcpStream::connect(address)?;
    at_once(&stream)?;
    Ok(stream)
}

pub fn at_once(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)
}
