//! Opening and closing in every order.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::Duration;

use libtest_mimic::Trial;
use socket2::{Domain, SockRef, Socket, Type};
use tinygram_engine::State;
use tinygram_stack::{SocketOptions, TcpStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::trial;
use crate::world::{Family, Line, World, kernel};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("endings/we-close-half", || we_close_half(Family::V4)),
        trial("endings/the-kernel-closes-half", || {
            kernel_closes_half(Family::V6)
        }),
        trial("endings/we-reset", we_reset),
        trial("endings/the-kernel-resets", kernel_resets),
        trial("endings/we-linger", we_linger),
        trial("endings/nobody-listens", nobody_listens),
        trial("endings/both-open-at-once", both_open),
        trial("endings/both-close-at-once", both_close),
        trial(
            "endings/we-drop-with-octets-unread",
            we_drop_with_octets_unread,
        ),
        trial("endings/ping", ping),
    ]
}

async fn we_close_half(family: Family) {
    let world = World::new(Line::PLAIN);
    let (mut ours, mut theirs) = world.connected(family, true).await;
    ours.write_all(b"question").await.expect("a write");
    ours.shutdown().await.expect("a FIN");
    let answers = kernel(move || {
        let mut question = String::new();
        theirs.read_to_string(&mut question).expect("the question");
        theirs.write_all(question.to_uppercase().as_bytes())
    });
    let mut answer = String::new();
    let (read, written) = tokio::join!(ours.read_to_string(&mut answer), answers);
    read.expect("the answer");
    written.expect("the kernel's write");
    assert_eq!(answer, "QUESTION");
    // The kernel's socket has been dropped.
    assert_eq!(ours.info().state, State::TimeWait);
}

async fn kernel_closes_half(family: Family) {
    let world = World::new(Line::OFFLOAD);
    let (mut ours, mut theirs) = world.connected(family, false).await;
    let asks = kernel(move || {
        theirs.write_all(b"question").expect("a write");
        theirs.shutdown(Shutdown::Write).expect("a FIN");
        let mut answer = String::new();
        theirs.read_to_string(&mut answer).expect("the answer");
        answer
    });
    let answers = async {
        let mut question = String::new();
        ours.read_to_string(&mut question)
            .await
            .expect("the question");
        assert_eq!(ours.info().state, State::CloseWait);
        let answer = question.to_uppercase();
        ours.write_all(answer.as_bytes()).await.expect("a write");
        drop(ours);
    };
    let (answer, ()) = tokio::join!(asks, answers);
    assert_eq!(answer, "QUESTION");
    until(|| world.stack.connections() == 0).await;
}

async fn we_reset() {
    let world = World::new(Line::PLAIN);
    let (ours, mut theirs) = world.connected(Family::V4, true).await;
    ours.abort();
    let error = kernel(move || theirs.read(&mut [0]).unwrap_err()).await;
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

async fn kernel_resets() {
    let world = World::new(Line::PLAIN);
    let (mut ours, theirs) = world.connected(Family::V6, false).await;
    SockRef::from(&theirs)
        .set_linger(Some(Duration::ZERO))
        .expect("SO_LINGER");
    drop(theirs);
    let error = ours.read(&mut [0]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    // The reset was reported once, as the kernel does (SO_ERROR); later writes get EPIPE.
    let error = ours.write(b"late").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
}

/// A close that lingers waits for the kernel's ACK of the FIN; in vain if the kernel does not read.
async fn we_linger() {
    for (reads, secs) in [(true, 20), (false, 1)] {
        let world = World::new(Line::PLAIN);
        let (mut ours, mut theirs) = world.connected(Family::V4, true).await;
        let len = if reads { 1_000_000 } else { 20_000_000 };
        SockRef::from(&theirs)
            .set_recv_buffer_size(10_000)
            .expect("SO_RCVBUF");
        ours.set_linger(Some(tinygram_engine::Duration::from_secs(secs)));
        let takes = kernel(move || {
            let mut all = Vec::new();
            if reads {
                theirs.read_to_end(&mut all).expect("all of it");
            }
            (all.len(), theirs)
        });
        let closes = async {
            let octets = vec![7; len];
            let writes = ours.write_all(&octets);
            let wrote = tokio::time::timeout(Duration::from_secs(secs), writes).await;
            assert_eq!(wrote.is_ok(), reads);
            ours.close().await
        };
        let (acknowledged, (taken, _theirs)) = tokio::join!(closes, takes);
        assert_eq!((acknowledged, taken), (reads, if reads { len } else { 0 }));
    }
}

async fn nobody_listens() {
    let world = World::new(Line::PLAIN);
    let remote = world.kernel(Family::V4, 9);
    let error = TcpStream::connect(&world.stack, remote).await.err();
    assert_eq!(error.map(|e| e.kind()), Some(ErrorKind::ConnectionRefused));
    let ours = world.stack(Family::V6, 9);
    let error = kernel(move || std::net::TcpStream::connect(ours).unwrap_err()).await;
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
}

/// The kernel's SYN is lost; ours reaches it while it waits (RFC 9293, figure 7).
async fn both_open() {
    let world = World::new(Line::PLAIN);
    let (kernels, our) = (
        world.kernel(Family::V4, 7001),
        world.stack(Family::V4, 7002),
    );
    world.set_deaf(true);
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.bind(&kernels.into()).expect("a port");
    let connects = tokio::spawn(kernel(move || {
        socket.connect(&our.into()).expect("a connection");
        std::net::TcpStream::from(socket)
    }));
    tokio::time::sleep(Duration::from_millis(100)).await;
    world.set_deaf(false);
    let options = SocketOptions::default();
    let mut ours = TcpStream::connect_with(&world.stack, kernels, Some(our), &options)
        .await
        .expect("a connection");
    let mut theirs = connects.await.expect("no panic");
    ours.write_all(b"both").await.expect("a write");
    let came = kernel(move || {
        let mut came = [0; 4];
        theirs.read_exact(&mut came).map(|()| came)
    });
    assert_eq!(&came.await.expect("a read"), b"both");
}

/// The kernel's FIN is lost; ours reaches it in FIN-WAIT-1 (RFC 9293, figure 13).
async fn both_close() {
    let world = World::new(Line::PLAIN);
    let (mut ours, theirs) = world.connected(Family::V4, true).await;
    world.set_deaf(true);
    let theirs = kernel(move || {
        theirs.shutdown(Shutdown::Write).expect("a FIN");
        theirs
    })
    .await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    ours.shutdown().await.expect("a FIN");
    world.set_deaf(false);
    assert_eq!(ours.read(&mut [0]).await.expect("the end"), 0);
    until(|| matches!(ours.info().state, State::TimeWait | State::Closed)).await;
    drop(theirs);
}

async fn we_drop_with_octets_unread() {
    let world = World::new(Line::PLAIN);
    let (ours, mut theirs) = world.connected(Family::V4, false).await;
    theirs.write_all(b"unread").expect("a write");
    until(|| ours.info().readable == 6).await;
    drop(ours);
    let error = kernel(move || theirs.read(&mut [0]).unwrap_err()).await;
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

/// The kernel's own ICMP socket, if this user may have one, sends an echo request and is answered.
async fn ping() {
    let world = World::new(Line::PLAIN);
    for (domain, protocol, request, reply) in [
        (Domain::IPV4, socket2::Protocol::ICMPV4, 8, 0),
        (Domain::IPV6, socket2::Protocol::ICMPV6, 128, 129),
    ] {
        let family = if domain == Domain::IPV4 {
            Family::V4
        } else {
            Family::V6
        };
        let to = world.stack(family, 0);
        let answer = kernel(move || {
            let socket = Socket::new(domain, Type::RAW, Some(protocol)).expect("a raw socket");
            socket
                .set_read_timeout(Some(Duration::from_secs(5)))
                .expect("a limit");
            let mut echo = [request, 0, 0, 0, 0x12, 0x34, 0, 1, b'h', b'i'];
            if domain == Domain::IPV4 {
                let sum = tinygram_wire::checksum::Sum::default()
                    .with(&echo)
                    .checksum();
                echo[2..4].copy_from_slice(&sum);
            }
            socket.send_to(&echo, &to.into()).expect("a request");
            loop {
                let mut socket = &socket;
                let mut packet = [0; 100];
                let len = socket.read(&mut packet).expect("a reply");
                let start = if domain == Domain::IPV4 { 20 } else { 0 };
                let message = &packet[start..len];
                // The kernel shows us neighbour discovery, too.
                if message[0] == reply {
                    return message[4..].to_vec();
                }
            }
        })
        .await;
        assert_eq!(answer, [0x12, 0x34, 0, 1, b'h', b'i']);
    }
}

async fn until(mut what: impl FnMut() -> bool) {
    let limit = tokio::time::timeout(Duration::from_secs(10), async {
        while !what() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    limit.await.expect("it comes to pass");
}
