//! axum's first example, and an answer that is a stream.
use std::convert::Infallible;

use axum::body::Body;
use axum::serve::ListenerExt;
use axum::{routing::get, Router};
use futures_util::stream::{self, Stream};

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let app = Router::new()
        .route("/whole", get(|| async { "x".repeat(400) }))
        .route("/streamed", get(|| async { Body::from_stream(pieces()) }));
    let listener = tokio::net::TcpListener::bind(format!("0.0.0.0:{}", words[0]))
        .await
        .unwrap();
    if words.len() > 1 {
        let listener = listener.tap_io(|connection| connection.set_nodelay(true).unwrap());
        axum::serve(listener, app).await.unwrap();
    } else {
        axum::serve(listener, app).await.unwrap();
    }
}

/// Gives four pieces, each when the one before it has been taken and other tasks had their turn.
fn pieces() -> impl Stream<Item = Result<String, Infallible>> + Send {
    stream::unfold(0, |number| async move {
        tokio::task::yield_now().await;
        (number < 4).then(|| (Ok("x".repeat(100)), number + 1))
    })
}
