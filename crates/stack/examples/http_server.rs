//! An HTTP server (hyper) on our streams: `curl http://10.78.0.2/` reaches it from the same
//! machine, and so do wrk and a browser.
//!
//!     cargo run --release -p tinygram-stack --example http_server
//!
//! It needs the right to make a TUN device. Without root, run it in its own network namespace:
//!
//!     unshare --user --map-root-user --net sh -c \
//!       'target/release/examples/http_server & sleep 1; curl http://10.78.0.2/'
//!
//! `/` is a page, `/octets/N` returns N octets, and `/digest` returns the number and the digest of
//! the octets posted to it.

mod common;

use std::convert::Infallible;
use std::hash::{DefaultHasher, Hasher};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tinygram_stack::TcpListener;

/// One thread is enough, and fastest: a task that a packet wakes runs on the thread that read the
/// packet.
#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let common::Example {
        stack,
        addresses,
        rest,
    } = common::stack()?;
    if let Some(word) = rest.first() {
        let unknown = format!("http_server has no argument {word}");
        return Err(std::io::Error::new(
            std::io::ErrorKind::InvalidInput,
            unknown,
        ));
    }
    let any = IpAddr::from(Ipv6Addr::UNSPECIFIED);
    let listener = TcpListener::bind(&stack, SocketAddr::new(any, 80))?;
    eprintln!("serving http://{}/", addresses[0]);
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service_fn(answer));
            if let Err(error) = connection.await {
                eprintln!("{error}");
            }
        });
    }
}

type Body = BoxBody<Bytes, Infallible>;

async fn answer(request: Request<Incoming>) -> Result<Response<Body>, hyper::Error> {
    let path = request.uri().path().to_owned();
    let octets = path.strip_prefix("/octets/").map(str::parse::<u64>);
    Ok(match (request.method(), octets) {
        (&Method::GET, Some(Ok(octets))) => Response::new(Octets(octets).boxed()),
        (&Method::POST, _) if path == "/digest" => {
            let (octets, digest) = digest(request.into_body()).await?;
            page(
                StatusCode::OK,
                format!("{octets} octets, digest {digest:016x}\n"),
            )
        }
        (&Method::GET, None) if path == "/" => page(StatusCode::OK, PAGE.into()),
        _ => page(StatusCode::NOT_FOUND, "There is nothing here.\n".into()),
    })
}

const PAGE: &str = "<!doctype html><title>tinygram</title>\
<h1>Hello from user space</h1><p>This page came over tinygram's own TCP.</p>\n";

fn page(status: StatusCode, text: String) -> Response<Body> {
    let mut response = Response::new(Full::from(text).boxed());
    *response.status_mut() = status;
    let html = hyper::header::HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert("content-type", html);
    response
}

async fn digest(mut body: Incoming) -> Result<(u64, u64), hyper::Error> {
    let (mut octets, mut hasher) = (0, DefaultHasher::new());
    while let Some(frame) = body.frame().await {
        if let Some(data) = frame?.data_ref() {
            octets += data.len() as u64;
            // Octet by octet, so that the digest does not depend on where frames end.
            data.iter().for_each(|octet| hasher.write_u8(*octet));
        }
    }
    Ok((octets, hasher.finish()))
}

/// This many octets of zero.
struct Octets(u64);

impl hyper::body::Body for Octets {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];
        let some = self.0.min(ZEROS.len() as u64);
        self.0 -= some;
        let frame = Frame::data(Bytes::from_static(&ZEROS[..some as usize]));
        std::task::Poll::Ready((some > 0).then_some(Ok(frame)))
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        hyper::body::SizeHint::with_exact(self.0)
    }
}
