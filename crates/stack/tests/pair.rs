//! Two of our stacks, joined in memory.

mod common;

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use common::{Stream, Troubled, Troubles, receive, send};
use tinygram_engine::State;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_stack::device::{PacketSocket, memory_pair};
use tinygram_stack::{SocketOptions, Stack, TcpListener, TcpStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const CLIENT: [IpAddr; 2] = ends(1);
const SERVER: [IpAddr; 2] = ends(2);

const fn ends(last: u16) -> [IpAddr; 2] {
    [
        IpAddr::V4(Ipv4Addr::new(10, 1, 0, last as u8)),
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last)),
    ]
}

fn stacks(mtu: u16, troubles: Troubles) -> (Stack, Stack) {
    let (one, other) = memory_pair(mtu);
    let client = Stack::new(Troubled::new(one, troubles), &CLIENT).unwrap();
    (client, Stack::new(other, &SERVER).unwrap())
}

async fn connected(client: &Stack, server: &Stack) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(server, SocketAddr::new(SERVER[0], 0)).unwrap();
    let stream = TcpStream::connect(client, listener.local_addr())
        .await
        .unwrap();
    let (accepted, peer) = listener.accept().await.unwrap();
    assert_eq!(peer, stream.local_addr());
    assert_eq!(accepted.local_addr(), stream.peer_addr());
    (stream, accepted)
}

async fn both_ways(stream: TcpStream, accepted: TcpStream, len: u64) {
    let (from, to) = stream.into_split();
    let (other_from, other_to) = accepted.into_split();
    let (sent, sent_back, came, came_back) = tokio::join!(
        send(to, 1, len),
        send(other_to, 2, len),
        receive(other_from),
        receive(from),
    );
    sent.unwrap();
    sent_back.unwrap();
    assert_eq!(came.unwrap(), Stream::digest(1, len));
    assert_eq!(came_back.unwrap(), Stream::digest(2, len));
}

#[tokio::test]
async fn octets_arrive_whatever_befalls_the_packets() {
    for (seed, mtu) in [(1, 1500), (2, 600), (3, 9000)] {
        let troubles = Troubles {
            seed,
            lost_per_mille: 30,
            repeated_per_mille: 30,
            late_per_mille: 50,
        };
        let (client, server) = stacks(mtu, troubles);
        let (stream, accepted) = connected(&client, &server).await;
        both_ways(stream, accepted, 3_000_000).await;
    }
}

#[tokio::test]
async fn every_send_policy_carries_a_conversation() {
    let (client, server) = stacks(1500, Troubles::default());
    // All at once, for most of the time is spent waiting for timers.
    let mut conversations = tokio::task::JoinSet::new();
    for policy in SendPolicy::LIST {
        let (mut stream, mut accepted) = connected(&client, &server).await;
        stream.set_send_policy((policy.make)());
        conversations.spawn(async move {
            for question in 1..20_u32 {
                let octets = question.to_be_bytes();
                stream.write_all(&octets[..2]).await.unwrap();
                stream.write_all(&octets[2..]).await.unwrap();
                let mut came = [0; 4];
                accepted.read_exact(&mut came).await.unwrap();
                assert_eq!(came, octets, "{}", policy.name);
                accepted.write_all(&came).await.unwrap();
                stream.read_exact(&mut came).await.unwrap();
            }
        });
    }
    while let Some(ended) = conversations.join_next().await {
        ended.unwrap();
    }
}

#[tokio::test]
async fn a_policy_that_gathers_sends_two_writes_as_one() {
    let (client, server) = stacks(1500, Troubles::default());
    let (mut stream, mut accepted) = connected(&client, &server).await;
    let before = stream.info().sent.data_segments;
    stream.write_all(&[1; 100]).await.unwrap();
    stream.write_all(&[2; 200]).await.unwrap();
    let mut came = [0; 300];
    let waits = async { stream.read(&mut [0]).await };
    let answers = async {
        accepted.read_exact(&mut came).await.unwrap();
        accepted.write_all(b"!").await.unwrap();
    };
    let (answer, ()) = tokio::join!(waits, answers);
    assert_eq!(answer.unwrap(), 1);
    assert_eq!(stream.info().sent.data_segments - before, 1);
    // A task that yields without reading also flushes.
    stream.write_all(&[3; 10]).await.unwrap();
    accepted.read_exact(&mut came[..10]).await.unwrap();
}

#[tokio::test]
async fn what_is_corked_or_announced_as_more_waits() {
    let (client, server) = stacks(1500, Troubles::default());
    let (mut stream, mut accepted) = connected(&client, &server).await;
    stream.set_send_policy(SendPolicy::named("linux").unwrap());
    stream.set_nodelay(true);
    stream.cork(true);
    stream.write_all(&[1; 10]).await.unwrap();
    stream.flush().await.unwrap();
    assert_eq!(stream.info().unsent, 10);
    stream.cork(false);
    assert_eq!(stream.info().unsent, 0);
    assert_eq!(stream.send_more(&[1; 10]).await.unwrap(), 10);
    assert_eq!(stream.info().unsent, 10);
    stream.write_all(&[1; 10]).await.unwrap();
    assert_eq!(stream.info().unsent, 0);
    accepted.read_exact(&mut [0; 30]).await.unwrap();
}

/// SO_RCVLOWAT: a read waits for so many octets, or for as many as it takes.
#[tokio::test]
async fn a_read_waits_for_as_many_octets_as_were_asked_for() {
    let (client, server) = stacks(1500, Troubles::default());
    let (mut stream, mut accepted) = connected(&client, &server).await;
    stream.set_nodelay(true);
    accepted.set_receive_low_water(10);
    let mut came = [0; 100];
    stream.write_all(&[1; 9]).await.unwrap();
    let wait = Duration::from_millis(100);
    let early = tokio::time::timeout(wait, accepted.read(&mut came)).await;
    assert!(early.is_err(), "nine are not enough");
    assert_eq!(accepted.info().readable, 9);
    assert_eq!(accepted.read(&mut came[..9]).await.unwrap(), 9);
    stream.write_all(&[1; 10]).await.unwrap();
    assert_eq!(accepted.read(&mut came).await.unwrap(), 10);
}

/// Urgent data between two of our stacks, and the end of the wait for it.
#[tokio::test]
async fn the_urgent_octet_is_waited_for() {
    let (client, server) = stacks(1500, Troubles::default());
    let (mut stream, accepted) = connected(&client, &server).await;
    let error = accepted.read_urgent().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "it is read in line");
    accepted.set_urgent_inline(false);
    let sends = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        stream.write_urgent(b"stop!").await.unwrap()
    };
    let (urgent, sent) = tokio::join!(accepted.read_urgent(), sends);
    assert_eq!((urgent.unwrap(), sent), (b'!', 5));
    let ends = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        stream.shutdown().await.unwrap();
    };
    let (urgent, ()) = tokio::join!(accepted.read_urgent(), ends);
    assert_eq!(urgent.unwrap_err().kind(), ErrorKind::UnexpectedEof);
}

/// MORE keeps runts out of a write. If a write is cut where the buffer is full, the policy sees
/// ends that the application did not mean.
#[tokio::test]
async fn a_whole_write_is_one_to_the_policy() {
    let (client, server) = stacks(1500, Troubles::default());
    let options = SocketOptions {
        send_buffer: 10_000,
        send_policy: SendPolicy::named("min+more"),
        ..SocketOptions::default()
    };
    let mut short = Vec::new();
    for whole in [true, false] {
        let listener = TcpListener::bind(&server, SocketAddr::new(SERVER[0], 0)).unwrap();
        let stream = TcpStream::connect_with(&client, listener.local_addr(), None, &options).await;
        let mut stream = stream.unwrap();
        let (mut accepted, _) = listener.accept().await.unwrap();
        let octets: Vec<u8> = (0..100_000_u32).map(|at| (at / 7) as u8).collect();
        let mut came = vec![0; octets.len()];
        let (sent, read) = tokio::join!(
            async {
                match whole {
                    true => stream.write_whole(&octets, false).await,
                    false => stream.write_all(&octets).await,
                }
            },
            accepted.read_exact(&mut came)
        );
        sent.unwrap();
        read.unwrap();
        assert!(came == octets);
        short.push(stream.info().sent.short_segments);
    }
    assert!(short[0] < short[1], "{short:?}");
}

#[tokio::test]
async fn a_whole_write_that_is_dropped_is_over() {
    let (client, server) = stacks(1500, Troubles::default());
    let (mut stream, mut accepted) = connected(&client, &server).await;
    let octets = vec![7; 10 << 20];
    let wait = Duration::from_millis(50);
    let ended = tokio::time::timeout(wait, stream.write_whole(&octets, false)).await;
    assert!(ended.is_err(), "nobody reads");
    let before = stream.info();
    let copied = before.sent.data_octets + before.unsent;
    let last = async {
        stream.write_all(b"the end").await.unwrap();
        stream.shutdown().await.unwrap();
    };
    let mut came = Vec::new();
    let ((), read) = tokio::join!(last, accepted.read_to_end(&mut came));
    read.unwrap();
    assert!(came.ends_with(b"\x07the end"));
    assert!(came.len() as u64 >= copied && came.len() < octets.len());
    // A vanished peer causes an error, not a panic.
    accepted.abort();
    drop(accepted);
    let refused = stream.write_whole(b"x", false).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn a_socket_carries_packets() {
    let (one, other) =
        socket2::Socket::pair(socket2::Domain::UNIX, socket2::Type::SEQPACKET, None).unwrap();
    let device = |socket: socket2::Socket| PacketSocket::new(socket.into(), 1500).unwrap();
    let client = Stack::new(device(one), &CLIENT).unwrap();
    let server = Stack::new(device(other), &SERVER).unwrap();
    let (stream, accepted) = connected(&client, &server).await;
    both_ways(stream, accepted, 1_000_000).await;
    // When the other stack goes, so does its device, and with it every open connection.
    let (mut stream, accepted) = connected(&client, &server).await;
    drop((accepted, server));
    let gone = stream.read(&mut [0; 10]).await;
    assert!(matches!(gone, Ok(0) | Err(_)), "{gone:?}");
}

#[tokio::test]
async fn each_side_closes_when_it_likes() {
    let (client, server) = stacks(1500, Troubles::default());
    let (mut stream, mut accepted) = connected(&client, &server).await;
    stream.write_all(b"question").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut question = String::new();
    accepted.read_to_string(&mut question).await.unwrap();
    assert_eq!(question, "question");
    assert_eq!(accepted.info().state, State::CloseWait);
    let error = stream.write(b"more").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    // The other direction is still open.
    let answer = tokio::spawn(async move { send(accepted, 3, 500_000).await });
    assert_eq!(
        receive(&mut stream).await.unwrap(),
        Stream::digest(3, 500_000)
    );
    answer.await.unwrap().unwrap();
    assert_eq!(stream.info().state, State::TimeWait);
    drop(stream);
    assert_eq!((client.connections(), server.connections()), (1, 0));
}

#[tokio::test]
async fn resets_are_told() {
    let (client, server) = stacks(1500, Troubles::default());
    let (mut stream, mut accepted) = connected(&client, &server).await;
    accepted.abort();
    let error = stream.read(&mut [0]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let error = accepted.read(&mut [0]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionAborted);
    // Data was unread when the stream was dropped.
    let (mut stream, accepted) = connected(&client, &server).await;
    stream.write_all(b"unread").await.unwrap();
    while accepted.info().readable == 0 {
        tokio::task::yield_now().await;
    }
    drop(accepted);
    let error = stream.read(&mut [0]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    // No listener.
    let nobody = SocketAddr::new(SERVER[1], 9);
    let error = TcpStream::connect(&client, nobody).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    let listener = TcpListener::bind(&server, SocketAddr::new(SERVER[0], 80)).unwrap();
    let mut stream = TcpStream::connect(&client, listener.local_addr())
        .await
        .unwrap();
    drop(listener);
    let error = stream.read(&mut [0]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn both_open_at_once() {
    let (client, server) = stacks(1500, Troubles::default());
    let ends = [SocketAddr::new(CLIENT[0], 7), SocketAddr::new(SERVER[0], 8)];
    let options = SocketOptions::default();
    // On one thread both SYNs are sent before any arrives.
    let (one, other) = tokio::join!(
        TcpStream::connect_with(&client, ends[1], Some(ends[0]), &options),
        TcpStream::connect_with(&server, ends[0], Some(ends[1]), &options),
    );
    both_ways(one.unwrap(), other.unwrap(), 100_000).await;
}

#[tokio::test]
async fn both_close_at_once() {
    let (client, server) = stacks(1500, Troubles::default());
    let (mut stream, mut accepted) = connected(&client, &server).await;
    stream.shutdown().await.unwrap();
    accepted.shutdown().await.unwrap();
    assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
    assert_eq!(accepted.read(&mut [0]).await.unwrap(), 0);
    while stream.info().state != State::TimeWait || accepted.info().state != State::TimeWait {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn memory_is_what_the_socket_may_take_and_no_more() {
    let (client, server) = stacks(1500, Troubles::default());
    let small = SocketOptions {
        send_buffer: 10_000,
        receive_buffer: 20_000,
        ..SocketOptions::default()
    };
    let listener =
        TcpListener::bind_with(&server, SocketAddr::new(SERVER[0], 80), 4, &small).unwrap();
    let mut stream = TcpStream::connect_with(&client, listener.local_addr(), None, &small)
        .await
        .unwrap();
    let (accepted, _) = listener.accept().await.unwrap();
    assert_eq!(client.allocated() + server.allocated(), 0);
    let all = vec![5; 1_000_000];
    let stuck = tokio::time::timeout(Duration::from_millis(200), stream.write_all(&all)).await;
    assert!(stuck.is_err(), "the peer does not read");
    let info = stream.info();
    // The rest of the window is less than a segment.
    let readable = accepted.info().readable;
    assert!((18_000..=20_000).contains(&readable), "{readable}");
    assert_eq!(info.outstanding + info.unsent, 10_000);
    // A ring may begin and end within pieces of 2 KiB.
    assert!(client.allocated() <= 16_384 && server.allocated() <= 32_768);
}

#[tokio::test]
async fn a_thousand_connections_at_once_and_a_thousand_in_turn() {
    let (client, server) = stacks(1500, Troubles::default());
    let listener = TcpListener::bind(&server, SocketAddr::new(SERVER[1], 80)).unwrap();
    let address = listener.local_addr();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let (mut from, mut to) = tokio::io::split(stream);
                let _ = tokio::io::copy(&mut from, &mut to).await;
                let _ = to.shutdown().await;
            });
        }
    });
    let talk = move |client: Stack, number: u64| async move {
        let stream = TcpStream::connect(&client, address).await.unwrap();
        let (from, to) = stream.into_split();
        let (sent, came) = tokio::join!(send(to, number, 5000), receive(from));
        sent.unwrap();
        assert_eq!(came.unwrap(), Stream::digest(number, 5000));
    };
    for number in 0..1000 {
        talk(client.clone(), number).await;
    }
    let all: Vec<_> = (0..1000)
        .map(|number| tokio::spawn(talk(client.clone(), number)))
        .collect();
    for one in all {
        one.await.unwrap();
    }
    assert_eq!(client.allocated(), 0, "TIME-WAIT needs no buffers");
}

#[tokio::test]
async fn the_other_stack_is_gone() {
    let (client, server) = stacks(1500, Troubles::default());
    let (mut stream, accepted) = connected(&client, &server).await;
    drop((accepted, server));
    let error = stream.read(&mut [0]).await.unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset
    ));
}
