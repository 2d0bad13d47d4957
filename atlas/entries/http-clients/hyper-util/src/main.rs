//! hyper-util's client, with the connector that it has.
use std::convert::Infallible;
use std::io::Read;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use futures_util::stream::{self, Stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::Request;
use hyper_util::client::legacy::{connect::HttpConnector, Client};
use hyper_util::rt::TokioExecutor;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let url = format!("http://{}:{}/", words[0], words[1]);
    let mut connector = HttpConnector::new();
    if std::env::var_os("NODELAY").is_some() {
        connector.set_nodelay(true);
    }
    let client = Client::builder(TokioExecutor::new())
        .build::<_, UnsyncBoxBody<Bytes, Infallible>>(connector);
    ask(words[2].parse().unwrap(), || async {
        let (method, body) = match words[3].as_str() {
            "POST" => ("POST", Full::from("x".repeat(400)).boxed_unsync()),
            "STREAM" => ("POST", StreamBody::new(pieces()).boxed_unsync()),
            _ => ("GET", Empty::new().boxed_unsync()),
        };
        let answer = client
            .request(
                Request::builder()
                    .method(method)
                    .uri(&url)
                    .body(body)
                    .unwrap(),
            )
            .await
            .unwrap();
        answer.into_body().collect().await.unwrap();
    })
    .await;
}

/// Gives four pieces, each when the one before it has been taken and other tasks had their turn.
fn pieces() -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> + Send {
    stream::unfold(0, |number| async move {
        tokio::task::yield_now().await;
        (number < 4).then(|| (Ok(Frame::data(Bytes::from("x".repeat(100)))), number + 1))
    })
}

async fn ask<F: std::future::Future<Output = ()>>(exchanges: u64, mut exchange: impl FnMut() -> F) {
    let mut number = 0;
    while exchanges == 0 || number < exchanges {
        number += 1;
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs_f64();
        let began = Instant::now();
        exchange().await;
        println!("{wall:.6} {:.3}", began.elapsed().as_secs_f64() * 1e3);
    }
    println!("done");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}
