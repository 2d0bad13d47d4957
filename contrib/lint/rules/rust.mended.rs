use std::io::Write;
use std::net::TcpStream;
use hyper_util::client::legacy::connect::HttpConnector;

fn ask(address: &str, question: &[u8]) -> std::io::Result<()> {
    // ok: rust-socket-with-nagle
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.write_all(question)
}

fn connector() -> HttpConnector {
    // ok: rust-http-connector-with-nagle
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector
}
