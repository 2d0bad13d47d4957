//! The server: a thread for each connection, which does what each request says.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

use socket2::SockRef;

use super::super::policy::Policy;
use super::super::request::{Answer, Counts, Request};
use crate::tcp_info::tcp_info;

/// Answers everybody who connects, for ever.
pub(super) fn serve(listener: &TcpListener) {
    // A connection that broke, or a thread that cannot be had, is the client's to notice.
    for stream in listener.incoming().flatten() {
        let thread = std::thread::Builder::new().name("answers".into());
        let _ = thread.spawn(move || answer(stream));
    }
}

/// Does what the requests of a connection say, until it ends or somebody else speaks.
fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut request = [0; Request::OCTETS];
    let mut told = None;
    loop {
        stream.read_exact(&mut request)?;
        match Request::decode(&request) {
            // No kernel can be told a policy of ours.
            Some(Request::Answer(answer)) if matches!(answer.policy, Policy::Ours(_)) => {
                return Ok(());
            }
            Some(Request::Answer(answer)) => {
                let settings = (answer.policy, answer.socket_buffer);
                if told != Some(settings) {
                    let socket = SockRef::from(&stream);
                    socket.set_send_buffer_size(answer.socket_buffer as usize)?;
                    socket.set_tcp_nodelay(answer.policy == Policy::NoDelay)?;
                    told = Some(settings);
                }
                write_answer(&stream, &answer)?;
            }
            Some(Request::Counts) => stream.write_all(&counts(&stream).encode())?,
            None => return Ok(()),
        }
    }
}

fn write_answer(stream: &TcpStream, answer: &Answer) -> io::Result<()> {
    let socket = SockRef::from(stream);
    let mut missing = answer.length as usize;
    let piece = vec![0; missing.min(answer.app_buffer as usize)];
    if answer.policy == Policy::Cork {
        socket.set_tcp_cork(true)?;
    }
    while missing > 0 {
        let piece = &piece[..missing.min(piece.len())];
        let more = match answer.policy {
            Policy::More => piece.len() < missing,
            Policy::FlushByHand => true,
            _ => false,
        };
        write_piece(&socket, piece, more)?;
        missing -= piece.len();
    }
    match answer.policy {
        Policy::Cork => socket.set_tcp_cork(false),
        // Flushes what MSG_MORE holds, even where it is set already.
        Policy::FlushByHand => socket.set_tcp_nodelay(true),
        _ => Ok(()),
    }
}

fn write_piece(socket: &SockRef<'_>, mut piece: &[u8], more: bool) -> io::Result<()> {
    let flags = if more { libc::MSG_MORE } else { 0 };
    while !piece.is_empty() {
        let written = socket.send_with_flags(piece, flags)?;
        piece = &piece[written..];
    }
    Ok(())
}

fn counts(stream: &TcpStream) -> Counts {
    tcp_info(stream).map_or(Counts::default(), |info| Counts {
        data_segments: info.data_segs_out,
        retransmitted: info.total_retrans,
        short_segments: None,
    })
}
