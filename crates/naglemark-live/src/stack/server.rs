//! The server on our stack: a task for each connection, which does what each request says.

use std::io;
use std::sync::Arc;

use tinygram_naglemark::{Policy, SocketPolicy};
use tinygram_stack::{TcpListener, TcpStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::request::{Answer, Counts, Request, Told};

/// Answers every client that connects, for ever.
pub(super) async fn serve(listener: TcpListener, policies: Arc<[Policy]>) {
    // If a connection breaks, the client notices it.
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(answer(stream, policies.clone()));
    }
}

/// Does what the requests of a connection say, until the connection ends or sends something that is
/// not a request.
async fn answer(mut stream: TcpStream, policies: Arc<[Policy]>) -> io::Result<()> {
    let mut request = [0; Request::OCTETS];
    let mut told = None;
    loop {
        stream.read_exact(&mut request).await?;
        match Request::decode(&request) {
            Some(Request::Answer(answer)) => {
                if told.replace(answer.policy) != Some(answer.policy)
                    && tell(&stream, answer.policy, &policies).is_none()
                {
                    return Ok(());
                }
                write_answer(&mut stream, &answer).await?;
            }
            Some(Request::Counts) => {
                let counts = counts(&stream).encode();
                stream.write_all(&counts).await?;
            }
            None => return Ok(()),
        }
    }
}

/// Sets the policy; returns `None` if there is no such policy.
fn tell(stream: &TcpStream, told: Told, policies: &[Policy]) -> Option<()> {
    stream.set_nodelay(told == Told::Socket(SocketPolicy::NoDelay));
    if let Told::Listed(at) = told {
        let Policy::Engine { policy, .. } = policies.get(usize::from(at))? else {
            return None;
        };
        stream.set_send_policy(policy.clone());
    }
    Some(())
}

async fn write_answer(stream: &mut TcpStream, answer: &Answer) -> io::Result<()> {
    let mut missing = answer.length as usize;
    let piece = vec![0; missing.min(answer.app_buffer as usize)];
    if answer.policy == Told::Socket(SocketPolicy::Cork) {
        stream.cork(true);
    }
    while missing > 0 {
        let piece = &piece[..missing.min(piece.len())];
        missing -= piece.len();
        let more = match answer.policy {
            Told::Socket(SocketPolicy::More) => missing > 0,
            Told::Socket(SocketPolicy::FlushByHand) => true,
            _ => false,
        };
        stream.write_whole(piece, more).await?;
    }
    match answer.policy {
        Told::Socket(SocketPolicy::Cork) => stream.cork(false),
        // Sends what MORE holds, even if TCP_NODELAY is set already.
        Told::Socket(SocketPolicy::FlushByHand) => stream.set_nodelay(true),
        _ => {}
    }
    Ok(())
}

fn counts(stream: &TcpStream) -> Counts {
    let sent = stream.info().sent;
    let count = |count| u32::try_from(count).unwrap_or(u32::MAX);
    Counts {
        data_segments: count(sent.data_segments),
        retransmitted: count(sent.retransmitted_segments),
        short_segments: Some(count(sent.short_segments)),
    }
}
