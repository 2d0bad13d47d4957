//! hyper on one thread: an answer in ten chunks of 40 bytes, which another task makes one by one.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::StreamBody;
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok());
    let listener = TcpListener::bind(("0.0.0.0", port.expect("a port"))).await?;
    let local = tokio::task::LocalSet::new();
    local.run_until(serve(listener)).await
}

async fn serve(listener: TcpListener) -> std::io::Result<()> {
    loop {
        let (connection, _) = listener.accept().await?;
        tokio::task::spawn_local(async move {
            let serving = http1::Builder::new()
                .writev(false)
                .serve_connection(TokioIo::new(connection), service_fn(answer));
            // The load hangs up when it has seen enough.
            let _ = serving.await;
        });
    }
}

async fn answer(
    _: Request<Incoming>,
) -> Result<Response<impl hyper::body::Body<Data = Bytes, Error = Infallible>>, Infallible> {
    let (send, pieces) = tokio::sync::mpsc::channel(1);
    tokio::task::spawn_local(async move {
        for _ in 0..10 {
            if send.send(Bytes::from_static(&[b'x'; 40])).await.is_err() {
                return;
            }
        }
    });
    let pieces = stream::unfold(pieces, |mut pieces| async move {
        let piece = pieces.recv().await?;
        Some((Ok(Frame::data(piece)), pieces))
    });
    Ok(Response::new(StreamBody::new(pieces)))
}
