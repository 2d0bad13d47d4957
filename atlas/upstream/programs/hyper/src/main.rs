//! Posts with hyper-util's Client and HttpConnector as shipped: HOST PORT CONNECTIONS EXCHANGES PIECES. The body is as many
//! pieces of 200 octets, which another task hands over one by one when the request is under way, as one that passes on
//! what it receives does. Writes the times as ask.py does.

use std::convert::Infallible;
use std::time::Instant;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::Request;
use hyper::body::Frame;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::sync::mpsc;

const PIECE: &[u8] = &[b'x'; 200];

type Failure = Box<dyn std::error::Error + Send + Sync>;

async fn exchange_all(url: String, exchanges: usize, pieces: usize) -> Result<Vec<f64>, Failure> {
    let client = Client::builder(TokioExecutor::new()).build_http();
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
    let [host, port, connections, exchanges, pieces] = words.as_slice() else {
        return Err("HOST PORT CONNECTIONS EXCHANGES PIECES".into());
    };
    let began = Instant::now();
    let mut tasks = Vec::new();
    for _ in 0..connections.parse()? {
        let url = format!("http://{host}:{port}/");
        tasks.push(tokio::spawn(exchange_all(
            url,
            exchanges.parse()?,
            pieces.parse()?,
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
