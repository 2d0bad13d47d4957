//! hyper as shipped, with its own connector: uploads of 400 octets, which another task hands over in two pieces when the
//! request is under way, as one that passes on what it receives does. Asks until it is ended.

use std::convert::Infallible;
use std::error::Error;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::Request;
use hyper::body::Frame;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::sync::mpsc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let port = std::env::args().nth(1).ok_or("a port")?;
    let client = Client::builder(TokioExecutor::new()).build_http();
    loop {
        let (hand_over, pieces) = mpsc::channel::<Bytes>(1);
        let body = StreamBody::new(stream::unfold(pieces, |mut pieces| async move {
            let piece = pieces.recv().await?;
            Some((Ok::<_, Infallible>(Frame::data(piece)), pieces))
        }));
        let request = Request::post(format!("http://127.0.0.1:{port}/"))
            .header("content-length", 400)
            .body(body.boxed_unsync())?;
        tokio::spawn(async move {
            for _ in 0..2 {
                tokio::task::yield_now().await;
                if hand_over.send(Bytes::from_static(&[b'b'; 200])).await.is_err() {
                    return;
                }
            }
        });
        let answer = client.request(request).await?;
        answer.into_body().collect().await?;
    }
}
