//! Actix Web's first example, and an answer that is a stream.
use std::convert::Infallible;

use actix_web::{web, App, HttpResponse, HttpServer};
use futures_util::stream::{self, Stream};

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let port: u16 = std::env::args().nth(1).unwrap().parse().unwrap();
    HttpServer::new(|| {
        App::new()
            .route("/whole", web::get().to(|| async { "x".repeat(400) }))
            .route(
                "/streamed",
                web::get().to(|| async { HttpResponse::Ok().streaming(Box::pin(pieces())) }),
            )
    })
    .bind(("0.0.0.0", port))?
    .run()
    .await
}

/// Gives four pieces, each when the one before it has been taken and other tasks had their turn.
fn pieces() -> impl Stream<Item = Result<web::Bytes, Infallible>> + Send {
    stream::unfold(0, |number| async move {
        tokio::task::yield_now().await;
        (number < 4).then(|| (Ok(web::Bytes::from("x".repeat(100))), number + 1))
    })
}
