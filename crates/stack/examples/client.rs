//! An HTTP client (hyper) on our streams: fetches a page from one of the kernel's servers.
//!
//!     python3 -m http.server -b 0.0.0.0 8000 &
//!     cargo run --release -p tinygram-stack --example client -- http://10.78.0.1:8000/
//!
//! The body goes to stdout, the state of the connection to stderr. 10.78.0.1 is the kernel's
//! address on the device that the example makes; `--address ADDRESS/BITS` chooses another one.

mod common;

use std::io::{self, Write};
use std::net::SocketAddr;

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use tinygram_stack::TcpStream;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let common::Example { stack, rest, .. } = common::stack()?;
    let [address] = rest.as_slice() else {
        return Err("client wants an address such as http://10.78.0.1:8000/".into());
    };
    let (uri, remote) = parse(address).ok_or("the address must be http://IP[:PORT]/PATH")?;
    let stream = TcpStream::connect(&stack, remote).await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let request = Request::get(uri.path())
        .header("host", remote.to_string())
        .body(Empty::<Bytes>::new())?;
    // This task runs the connection while the client waits for the answer; it returns the stream at
    // the end.
    let connection = tokio::spawn(connection.without_shutdown());
    let response = sender.send_request(request).await?;
    eprintln!("{}", response.status());
    let mut body = response.into_body();
    let mut octets = 0;
    while let Some(frame) = body.frame().await {
        if let Some(data) = frame?.data_ref() {
            octets += data.len();
            io::stdout().write_all(data)?;
        }
    }
    drop(sender);
    let stream = connection.await??.io.into_inner();
    let info = stream.info();
    eprintln!(
        "{octets} octets; {:?}; smoothed round trip {:?}",
        info.state, info.srtt
    );
    Ok(())
}

fn parse(address: &str) -> Option<(Uri, SocketAddr)> {
    let uri: Uri = address.parse().ok()?;
    let host = uri.host()?.trim_matches(['[', ']']);
    let remote = SocketAddr::new(host.parse().ok()?, uri.port_u16().unwrap_or(80));
    Some((uri, remote))
}
