//! What KurrentDB's server answers when events are appended, over HTTP/2: each stream was new, and nothing is kept.
use bytes::Bytes;
use h2::server::SendResponse;
use h2::RecvStream;
use http::{HeaderMap, HeaderValue, Request, Response};
use tokio::net::{TcpListener, TcpStream};

/// An `AppendResp`, as a message of gRPC: success, with revision 0 and no position.
const APPENDED: &[u8] = &[0, 0, 0, 0, 6, 0x0a, 4, 0x08, 0, 0x22, 0];
/// gRPC's number for a method that a server does not have: so an old server answers when it is asked for its features.
const UNIMPLEMENTED: &str = "12";

pub async fn answer(port: u16) {
    let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    loop {
        let (end, _) = listener.accept().await.unwrap();
        end.set_nodelay(true).unwrap();
        tokio::spawn(serve(end));
    }
}

async fn serve(end: TcpStream) {
    // The runner looks whether somebody listens, and says nothing.
    let Ok(mut connection) = h2::server::handshake(end).await else {
        return;
    };
    while let Some(Ok((request, respond))) = connection.accept().await {
        tokio::spawn(reply(request, respond));
    }
}

async fn reply(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
) -> Result<(), h2::Error> {
    let appends = request.uri().path().ends_with("/Append");
    let mut body = request.into_body();
    while let Some(piece) = body.data().await {
        let size = piece?.len();
        body.flow_control().release_capacity(size)?;
    }
    let mut response = Response::new(());
    response
        .headers_mut()
        .insert("content-type", HeaderValue::from_static("application/grpc"));
    if !appends {
        let status = HeaderValue::from_static(UNIMPLEMENTED);
        response.headers_mut().insert("grpc-status", status);
        respond.send_response(response, true)?;
        return Ok(());
    }
    let mut stream = respond.send_response(response, false)?;
    stream.send_data(Bytes::from_static(APPENDED), false)?;
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    stream.send_trailers(trailers)
}
