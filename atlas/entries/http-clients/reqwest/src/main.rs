//! reqwest: a client that keeps its connection.
use std::convert::Infallible;
use std::io::Read;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures_util::stream::{self, Stream};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let url = format!("http://{}:{}/", words[0], words[1]);
    let client = reqwest::Client::new();
    ask(words[2].parse().unwrap(), || async {
        let request = match words[3].as_str() {
            "POST" => client.post(&url).body("x".repeat(400)),
            "STREAM" => client.post(&url).body(reqwest::Body::wrap_stream(pieces())),
            _ => client.get(&url),
        };
        request.send().await.unwrap().bytes().await.unwrap();
    })
    .await;
}

/// Gives four pieces, each when the one before it has been taken and other tasks had their turn.
fn pieces() -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
    stream::unfold(0, |number| async move {
        tokio::task::yield_now().await;
        (number < 4).then(|| (Ok(Bytes::from("x".repeat(100))), number + 1))
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
