//! Posts with hyper-util's Client and HttpConnector as shipped: HOST PORT CONNECTIONS EXCHANGES PIECES [http2]. The body is as
//! many pieces of 200 octets, which another task hands over one by one when the request is under way, as one that passes on
//! what it receives does. Writes the times as ask.py does. Or answers HTTP/2: serve HOST PORT.

use std::convert::Infallible;
use std::time::Instant;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

const PIECE: &[u8] = &[b'x'; 200];

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Answers each request, once it is there as a whole; with NODELAY, so that only the client can be held.
async fn serve(address: &str) -> Result<(), Failure> {
    let listener = TcpListener::bind(address).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let answer = service_fn(|request: Request<Incoming>| async {
            request.into_body().collect().await?;
            Ok::<_, hyper::Error>(Response::new(Full::new(Bytes::from_static(b"ok"))))
        });
        let served = http2::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(stream), answer);
        tokio::spawn(async move {
            let _ = served.await;
        });
    }
}

async fn exchange_all(
    url: String,
    exchanges: usize,
    pieces: usize,
    is_http2: bool,
) -> Result<Vec<f64>, Failure> {
    let client = Client::builder(TokioExecutor::new())
        .http2_only(is_http2)
        .build_http();
    let mut micros = Vec::new();
    for number in 0..=exchanges {
        let began = Instant::now();
        let (hand_over, handed) = mpsc::channel::<Bytes>(1);
        let body = StreamBody::new(stream::unfold(handed, |mut handed| async move {
            let piece = handed.recv().await?;
            Some((Ok::<_, Infallible>(Frame::data(piece)), handed))
        }));
        let request = Request::post(&url)
            .header("content-length", pieces * PIECE.len())
            .body(body.boxed_unsync())?;
        tokio::spawn(async move {
            for _ in 0..pieces {
                tokio::task::yield_now().await;
                if hand_over.send(Bytes::from_static(PIECE)).await.is_err() {
                    return;
                }
            }
        });
        client.request(request).await?.into_body().collect().await?;
        if number > 0 {
            micros.push(began.elapsed().as_secs_f64() * 1e6);
        }
    }
    Ok(micros)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, host, port] = words.as_slice()
        && verb == "serve"
    {
        return serve(&format!("{host}:{port}")).await;
    }
    let [host, port, connections, exchanges, pieces, version @ ..] = words.as_slice() else {
        return Err("HOST PORT CONNECTIONS EXCHANGES PIECES [http2]".into());
    };
    let began = Instant::now();
    let mut tasks = Vec::new();
    for _ in 0..connections.parse()? {
        let url = format!("http://{host}:{port}/");
        tasks.push(tokio::spawn(exchange_all(
            url,
            exchanges.parse()?,
            pieces.parse()?,
            version == ["http2"],
        )));
    }
    let mut micros = Vec::new();
    for task in tasks {
        micros.extend(task.await??);
    }
    println!(
        "{{\"micros\": {micros:?}, \"seconds\": {}}}",
        began.elapsed().as_secs_f64()
    );
    Ok(())
}
