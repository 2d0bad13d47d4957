use std::io::Write;
use std::net::{TcpListener, TcpStream};
use hyper_util::client::legacy::connect::HttpConnector;

fn ask(address: &str, question: &[u8]) -> std::io::Result<()> {
    // ruleid: rust-socket-with-nagle
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(question)
}

fn serve(listener: &TcpListener) -> std::io::Result<()> {
    // ruleid: rust-socket-with-nagle
    let (mut stream, _) = listener.accept()?;
    stream.write_all(b"welcome")
}

fn connector() -> HttpConnector {
    // ruleid: rust-http-connector-with-nagle
    HttpConnector::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> TcpStream {
        // ok: rust-socket-with-nagle
        TcpStream::connect("localhost:80").unwrap()
    }
}
#[cfg(all(test, feature = "net"))]
mod of_the_network {
    // ok: rust-socket-with-nagle
    fn client() { TcpStream::connect("localhost:80").unwrap().write_all(b"x") }
}

fn on_a_path(listener: &UnixListener) {
    // ok: rust-socket-with-nagle
    listener.accept().unwrap()
}

async fn quic(endpoint: Endpoint, listener: TcpListener) {
    loop {
        tokio::select! {
            // ok: rust-socket-with-nagle
            incoming = quic_endpoint.accept() => { serve(incoming) }
            // ruleid: rust-socket-with-nagle
            accepted = tcp_listener.accept() => { serve(accepted) }
        }
    }
}
