//! The server: a thread for each connection, which does what each request says.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

use socket2::SockRef;
use tinygram_link::tcp_info::tcp_info;
use tinygram_naglemark::SocketPolicy;

use super::rules::Now;
use crate::request::{Answer, Counts, Request, Told};

/// Answers every client that connects, for ever.
pub fn serve(listener: &TcpListener) {
    serve_under(listener, &Now::default());
}

/// Answers every client that connects, for ever, by the send policy that is in the kernel now if a request names one.
pub(super) fn serve_under(listener: &TcpListener, rule: &Now) {
    // If a connection breaks or a thread cannot be started, the client notices it.
    for stream in listener.incoming().flatten() {
        let thread = std::thread::Builder::new().name("answers".into());
        let rule = rule.clone();
        let _ = thread.spawn(move || answer(stream, &rule));
    }
}

/// Does what the requests of a connection say, until the connection ends or sends something that is
/// not a request.
fn answer(mut stream: TcpStream, rule: &Now) -> io::Result<()> {
    let mut request = [0; Request::OCTETS];
    let mut told = None;
    loop {
        stream.read_exact(&mut request)?;
        match Request::decode(&request) {
            Some(Request::Answer(answer)) => {
                let settings = (answer.policy, answer.socket_buffer);
                if told != Some(settings) {
                    let socket = SockRef::from(&stream);
                    socket.set_send_buffer_size(answer.socket_buffer as usize)?;
                    follow(&socket, answer.policy, rule)?;
                    told = Some(settings);
                }
                // A program that leaves its socket as it is.
                let policy = match answer.policy {
                    Told::Socket(policy) => policy,
                    Told::Listed(_) => SocketPolicy::Default,
                };
                write_answer(&stream, policy, &answer)?;
            }
            Some(Request::Counts) => stream.write_all(&counts(&stream).encode())?,
            None => return Ok(()),
        }
    }
}

/// Lets a connection follow a policy from now on.
fn follow(socket: &SockRef<'_>, policy: Told, rule: &Now) -> io::Result<()> {
    match policy {
        Told::Socket(policy) => socket.set_tcp_nodelay(policy == SocketPolicy::NoDelay),
        Told::Listed(_) => {
            // Without BPF a kernel does not know our send policies.
            let name = rule.name().ok_or(io::ErrorKind::Unsupported)?;
            socket.set_tcp_congestion(name.as_bytes())?;
            // The kernel's own rule never holds beside it.
            socket.set_tcp_nodelay(true)
        }
    }
}

fn write_answer(stream: &TcpStream, policy: SocketPolicy, answer: &Answer) -> io::Result<()> {
    let socket = SockRef::from(stream);
    let mut missing = answer.length as usize;
    let piece = vec![0; missing.min(answer.app_buffer as usize)];
    if policy == SocketPolicy::Cork {
        socket.set_tcp_cork(true)?;
    }
    while missing > 0 {
        let piece = &piece[..missing.min(piece.len())];
        let more = match policy {
            SocketPolicy::More => piece.len() < missing,
            SocketPolicy::FlushByHand => true,
            _ => false,
        };
        write_piece(&socket, piece, more)?;
        missing -= piece.len();
    }
    match policy {
        SocketPolicy::Cork => socket.set_tcp_cork(false),
        // Flushes what MSG_MORE holds, even if TCP_NODELAY is set already.
        SocketPolicy::FlushByHand => socket.set_tcp_nodelay(true),
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
