//! The server on our stack: a task for each connection, which does what each request says.

use std::io;

use tinygram_stack::{TcpListener, TcpStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::super::super::experiment;
use super::super::policy::Policy;
use super::super::request::{Answer, Counts, Request};

/// Answers everybody who connects, for ever.
pub(super) async fn serve(listener: TcpListener, naglim: Option<u32>) {
    // A connection that broke is the client's to notice.
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(answer(stream, naglim));
    }
}

/// Does what the requests of a connection say, until it ends or somebody else speaks.
async fn answer(mut stream: TcpStream, naglim: Option<u32>) -> io::Result<()> {
    let mut request = [0; Request::OCTETS];
    let mut told = None;
    loop {
        stream.read_exact(&mut request).await?;
        match Request::decode(&request) {
            Some(Request::Answer(answer)) => {
                if told.replace(answer.policy) != Some(answer.policy) {
                    tell(&stream, answer.policy, naglim);
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

fn tell(stream: &TcpStream, policy: Policy, naglim: Option<u32>) {
    stream.set_nodelay(policy == Policy::NoDelay);
    if let Policy::Ours(entry) = policy {
        stream.set_send_policy(experiment::policy(entry, naglim));
    }
}

async fn write_answer(stream: &mut TcpStream, answer: &Answer) -> io::Result<()> {
    let mut missing = answer.length as usize;
    let piece = vec![0; missing.min(answer.app_buffer as usize)];
    if answer.policy == Policy::Cork {
        stream.cork(true);
    }
    while missing > 0 {
        let piece = &piece[..missing.min(piece.len())];
        missing -= piece.len();
        let more = match answer.policy {
            Policy::More => missing > 0,
            Policy::FlushByHand => true,
            _ => false,
        };
        stream.write_whole(piece, more).await?;
    }
    match answer.policy {
        Policy::Cork => stream.cork(false),
        // Sends what MORE holds, even where it is set already.
        Policy::FlushByHand => stream.set_nodelay(true),
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
