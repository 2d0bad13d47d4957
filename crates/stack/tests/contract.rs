//! What programs written for tokio's sockets expect of ours: which tasks are woken, and which
//! futures may be dropped.

use std::future::{Future, poll_fn};
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tinygram_engine::State;
use tinygram_stack::device::memory_pair;
use tinygram_stack::{Stack, TcpListener, TcpStream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 1, 0, 1));
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 1, 0, 2)), 80);

fn stacks() -> (Stack, Stack) {
    let (one, other) = memory_pair(1500);
    let client = Stack::new(one, &[CLIENT]).unwrap();
    (client, Stack::new(other, &[SERVER.ip()]).unwrap())
}

async fn connected(client: &Stack, server: &Stack) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(server, SERVER).unwrap();
    let stream = TcpStream::connect(client, SERVER).await.unwrap();
    (stream, listener.accept().await.unwrap().0)
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    let limit = tokio::time::timeout(Duration::from_secs(10), what).await;
    limit.expect("it comes to pass")
}

/// Waits until everything under way in memory has taken effect.
async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// A waker that counts.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Bell {
    fn rung(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn every_task_that_waits_for_a_connection_gets_one() {
    let (client, server) = stacks();
    let listener = Arc::new(TcpListener::bind(&server, SERVER).unwrap());
    let acceptors: Vec<_> = (0..100)
        .map(|_| {
            let listener = Arc::clone(&listener);
            tokio::spawn(async move { listener.accept().await.unwrap() })
        })
        .collect();
    settle().await;
    let mut open = Vec::new();
    for _ in 0..acceptors.len() {
        open.push(TcpStream::connect(&client, SERVER).await.unwrap());
    }
    for acceptor in acceptors {
        soon(acceptor).await.unwrap();
    }
}

#[tokio::test]
async fn who_stops_waiting_for_a_connection_takes_none_with_him() {
    let (client, server) = stacks();
    let listener = TcpListener::bind(&server, SERVER).unwrap();
    let (stays, leaves) = (Arc::new(Bell::default()), Arc::new(Bell::default()));
    let [stays_waker, leaves_waker] = [&stays, &leaves].map(|bell| Waker::from(Arc::clone(bell)));
    let mut first = pin!(listener.accept());
    let mut context = Context::from_waker(&stays_waker);
    assert!(first.as_mut().poll(&mut context).is_pending());
    {
        let second = pin!(listener.accept());
        let mut context = Context::from_waker(&leaves_waker);
        assert!(second.poll(&mut context).is_pending());
    }
    let _stream = TcpStream::connect(&client, SERVER).await.unwrap();
    settle().await;
    assert_eq!(stays.rung(), 1);
    assert!(first.as_mut().poll(&mut context).is_ready());
    // Leaving and re-entering a select many times must not accumulate wakers.
    for _ in 0..100_000 {
        let waker = Waker::from(Arc::clone(&leaves));
        let waits = pin!(listener.accept());
        assert!(waits.poll(&mut Context::from_waker(&waker)).is_pending());
    }
    assert_eq!(Arc::strong_count(&leaves), 2, "this one's and its waker's");
}

#[tokio::test]
async fn many_who_wait_for_a_connection_leave_each_other_asleep() {
    let (_client, server) = stacks();
    let listener = TcpListener::bind(&server, SERVER).unwrap();
    let bells: Vec<_> = (0..1000).map(|_| Arc::new(Bell::default())).collect();
    let mut waits: Vec<_> = bells.iter().map(|_| Box::pin(listener.accept())).collect();
    for (wait, bell) in waits.iter_mut().zip(&bells) {
        let waker = Waker::from(Arc::clone(bell));
        let mut context = Context::from_waker(&waker);
        assert!(wait.as_mut().poll(&mut context).is_pending());
    }
    assert_eq!(bells.iter().map(|bell| bell.rung()).sum::<usize>(), 0);
}

#[tokio::test]
async fn a_connection_that_is_given_up_while_it_opens_leaves_nothing() {
    let (client, server) = stacks();
    // Nothing answers: the stack at the other end is gone, its device is not.
    let nobody = SocketAddr::new(Ipv4Addr::new(10, 1, 0, 9).into(), 80);
    let waits = TcpStream::connect(&client, nobody);
    let limited = tokio::time::timeout(Duration::from_millis(20), waits).await;
    assert!(limited.is_err());
    assert_eq!(client.connections(), 0);
    assert_eq!(client.allocated(), 0);
    drop(server);
}

#[tokio::test]
async fn the_task_that_asked_last_is_woken() {
    let (client, server) = stacks();
    let (mut stream, mut accepted) = connected(&client, &server).await;
    let bells = [(); 2].map(|()| Arc::new(Bell::default()));
    for bell in &bells {
        let waker = Waker::from(Arc::clone(bell));
        let mut octets = [0; 10];
        let mut buffer = ReadBuf::new(&mut octets);
        let mut context = Context::from_waker(&waker);
        assert!(
            Pin::new(&mut stream)
                .poll_read(&mut context, &mut buffer)
                .is_pending()
        );
    }
    accepted.write_all(b"now").await.unwrap();
    accepted.flush().await.unwrap();
    settle().await;
    assert_eq!(bells.each_ref().map(|bell| bell.rung()), [0, 1]);
    // A read dropped while it waited has consumed nothing.
    let mut octets = [0; 3];
    soon(stream.read_exact(&mut octets)).await.unwrap();
    assert_eq!(&octets, b"now");
}

#[tokio::test]
async fn a_reader_and_a_writer_wait_side_by_side() {
    let (client, server) = stacks();
    let (stream, accepted) = connected(&client, &server).await;
    let (mut from, mut to) = stream.into_split();
    let (mut other_from, mut other_to) = accepted.into_split();
    let reads = tokio::spawn(async move {
        let mut answer = String::new();
        from.read_to_string(&mut answer).await.map(|_| answer)
    });
    // More than all buffers hold, so the writer has to wait, too.
    let writes = tokio::spawn(async move { to.write_all(&vec![1; 8 << 20]).await });
    settle().await;
    other_to.write_all(b"answer").await.unwrap();
    // Dropping the writing half is its FIN.
    drop(other_to);
    assert_eq!(soon(reads).await.unwrap().unwrap(), "answer");
    let mut all = Vec::new();
    soon(other_from.read_to_end(&mut all)).await.unwrap();
    assert_eq!(all.len(), 8 << 20);
    soon(writes).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_reading_half_that_is_dropped_closes_nothing() {
    let (client, server) = stacks();
    let (stream, mut accepted) = connected(&client, &server).await;
    let (from, mut to) = stream.into_split();
    drop(from);
    to.write_all(b"still here").await.unwrap();
    let mut octets = [0; 10];
    soon(accepted.read_exact(&mut octets)).await.unwrap();
    assert_eq!(accepted.info().state, State::Established);
    drop(to);
    assert_eq!(soon(accepted.read(&mut octets)).await.unwrap(), 0);
}

#[tokio::test]
async fn shutting_down_is_for_the_own_direction_and_may_be_done_twice() {
    let (client, server) = stacks();
    let (mut stream, mut accepted) = connected(&client, &server).await;
    stream.write_all(b"last words").await.unwrap();
    stream.shutdown().await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(
        stream.write(b"more").await.unwrap_err().kind(),
        ErrorKind::BrokenPipe
    );
    let mut all = String::new();
    soon(accepted.read_to_string(&mut all)).await.unwrap();
    assert_eq!(all, "last words");
    accepted.write_all(b"answer").await.unwrap();
    drop(accepted);
    let mut answer = String::new();
    soon(stream.read_to_string(&mut answer)).await.unwrap();
    assert_eq!(answer, "answer");
}

#[tokio::test]
async fn a_stream_that_is_dropped_sends_what_was_written_first() {
    let (client, server) = stacks();
    let (mut stream, mut accepted) = connected(&client, &server).await;
    let octets = vec![7; 500_000];
    stream.write_all(&octets).await.unwrap();
    drop(stream);
    let mut all = Vec::new();
    soon(accepted.read_to_end(&mut all)).await.unwrap();
    assert!(all == octets);
    drop(accepted);
    settle().await;
    // TIME-WAIT is at the end that closed first.
    assert_eq!((client.connections(), server.connections()), (1, 0));
    assert_eq!(client.allocated() + server.allocated(), 0);
}

#[tokio::test]
async fn reading_nothing_into_nothing_is_ready_at_once() {
    let (client, server) = stacks();
    let (mut stream, _accepted) = connected(&client, &server).await;
    let read = poll_fn(|context| {
        let mut buffer = ReadBuf::new(&mut []);
        Pin::new(&mut stream).poll_read(context, &mut buffer)
    });
    let ready = tokio::time::timeout(Duration::from_secs(1), read).await;
    ready.unwrap().unwrap();
    assert!(matches!(
        pin!(stream.write(b"")).poll(&mut Context::from_waker(Waker::noop())),
        Poll::Ready(Ok(0))
    ));
}

/// RFC 9293, MUST-46, and what a stack's own addresses may be.
#[tokio::test]
async fn addresses_that_no_host_has_are_refused_by_every_verb() {
    let (client, _server) = stacks();
    for remote in [
        "224.0.0.1:80",
        "255.255.255.255:80",
        "0.0.0.0:80",
        "10.1.0.2:0",
    ] {
        let refused = TcpStream::connect(&client, remote.parse().unwrap()).await;
        let kind = refused.map(|_| ()).map_err(|error| error.kind());
        assert_eq!(kind, Err(ErrorKind::InvalidInput), "{remote}");
    }
    for local in ["224.0.0.1:80", "[ff02::1]:80", "127.0.0.1:80"] {
        let refused = TcpListener::bind(&client, local.parse().unwrap());
        let kind = refused.map(|_| ()).map_err(|error| error.kind());
        assert_eq!(kind, Err(ErrorKind::AddrNotAvailable), "{local}");
    }
    for own in [
        "0.0.0.0",
        "127.0.0.1",
        "224.0.0.1",
        "::",
        "::1",
        "::ffff:10.0.0.1",
    ] {
        let (device, _other) = memory_pair(1500);
        let refused = Stack::new(device, &[own.parse().unwrap()]);
        let kind = refused.map(|_| ()).map_err(|error| error.kind());
        assert_eq!(kind, Err(ErrorKind::InvalidInput), "{own}");
    }
}

#[tokio::test]
async fn a_time_to_live_and_a_dscp_are_set_and_asked_for_at_streams_and_listeners() {
    let (client, server) = stacks();
    let listener = TcpListener::bind(&server, SERVER).unwrap();
    assert_eq!((listener.ttl(), listener.dscp()), (64, 0));
    listener.set_ttl(7).unwrap();
    listener.set_dscp(46).unwrap();
    let stream = TcpStream::connect(&client, SERVER).await.unwrap();
    let accepted = listener.accept().await.unwrap().0;
    assert_eq!((accepted.ttl(), accepted.dscp()), (7, 46));
    assert_eq!((stream.ttl(), stream.dscp()), (64, 0));
    assert_eq!(stream.info().peer_ttl, Some(7));
    assert_eq!(accepted.info().peer_ttl, Some(64));
    stream.set_ttl(1).unwrap();
    stream.set_dscp(63).unwrap();
    assert_eq!((stream.ttl(), stream.dscp()), (1, 63));
    for refused in [
        stream.set_ttl(0),
        stream.set_dscp(64),
        listener.set_ttl(0),
        listener.set_dscp(64),
    ] {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    assert_eq!((stream.ttl(), stream.dscp()), (1, 63));
    assert_eq!((listener.ttl(), listener.dscp()), (7, 46));
}
