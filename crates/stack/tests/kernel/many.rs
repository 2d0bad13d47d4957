//! Many connections, one after the other and all at once.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

use libtest_mimic::Trial;
use tokio::io::AsyncWriteExt;

use crate::common::{Stream, receive, send};
use crate::world::{Family, Line, World, kernel, kernel_receives, kernel_sends};
use crate::{long_or, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("many/the-kernel-opens-in-turn", || async {
            let world = World::new(Line::PLAIN);
            let address = echo(&world, Family::V4);
            kernel(move || (0..in_turn()).for_each(|number| one(address, number))).await;
            assert!(world.stack.connections() as u64 <= in_turn());
        }),
        trial("many/the-kernel-opens-at-once", || async {
            let world = World::new(Line::PLAIN);
            let address = echo(&world, Family::V6);
            kernel(move || at_once(address)).await;
        }),
        trial("many/we-open-in-turn", || async {
            let world = World::new(Line::OFFLOAD);
            let address = kernels_echo(&world, Family::V6);
            for number in 0..in_turn() {
                ours(&world, address, number).await;
            }
        }),
        trial("many/we-open-at-once", || async {
            let world = World::new(Line::PLAIN);
            let address = kernels_echo(&world, Family::V4);
            let all: Vec<_> = (0..AT_ONCE).collect();
            let mut connections = Vec::new();
            for number in all {
                let stream = tinygram_stack::TcpStream::connect(&world.stack, address).await;
                connections.push((number, stream.expect("a connection")));
            }
            assert_eq!(world.stack.connections() as u64, AT_ONCE);
            let talks = connections.into_iter().map(|(number, stream)| {
                let (from, to) = stream.into_split();
                tokio::spawn(async move {
                    let (sent, came) = tokio::join!(send(to, number, LEN), receive(from));
                    sent.expect("a write");
                    assert_eq!(came.expect("a read"), Stream::digest(number, LEN));
                })
            });
            for talk in talks.collect::<Vec<_>>() {
                talk.await.expect("no panic");
            }
        }),
    ]
}

/// Octets that each connection carries each way.
const LEN: u64 = 3000;
const AT_ONCE: u64 = 1000;

fn in_turn() -> u64 {
    long_or(10_000, 500)
}

/// Our server, which echoes what it reads.
fn echo(world: &World, family: Family) -> SocketAddr {
    let listener = tinygram_stack::TcpListener::bind(&world.stack, world.stack(family, 7));
    let listener = listener.expect("a listener");
    let address = listener.local_addr();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            let (mut from, mut to) = stream.into_split();
            tokio::spawn(async move {
                let _ = tokio::io::copy(&mut from, &mut to).await;
                let _ = to.shutdown().await;
            });
        }
    });
    address
}

/// The kernel's echo server: a thread for each connection.
fn kernels_echo(world: &World, family: Family) -> SocketAddr {
    let listener = TcpListener::bind(world.kernel(family, 0)).expect("a listener");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            std::thread::spawn(move || {
                let mut octets = [0; LEN as usize];
                stream.read_exact(&mut octets).expect("a read");
                stream.write_all(&octets).expect("a write");
                stream.shutdown(Shutdown::Write).expect("a FIN");
                let _ = stream.read(&mut octets);
            });
        }
    });
    address
}

async fn ours(world: &World, address: SocketAddr, number: u64) {
    let stream = tinygram_stack::TcpStream::connect(&world.stack, address).await;
    let (from, to) = stream.expect("a connection").into_split();
    let (sent, came) = tokio::join!(send(to, number, LEN), receive(from));
    sent.expect("a write");
    assert_eq!(came.expect("a read"), Stream::digest(number, LEN));
}

fn one(address: SocketAddr, number: u64) {
    let stream = TcpStream::connect(address).expect("a connection");
    kernel_sends(&stream, number, LEN).expect("a write");
    let came = kernel_receives(&stream).expect("a read");
    assert_eq!(came, Stream::digest(number, LEN));
}

fn at_once(address: SocketAddr) {
    let all: Vec<_> = (0..AT_ONCE)
        .map(|_| TcpStream::connect(address).expect("a connection"))
        .collect();
    for (number, stream) in (0..).zip(&all) {
        kernel_sends(stream, number, LEN).expect("a write");
    }
    for (number, stream) in (0..).zip(&all) {
        let came = kernel_receives(stream).expect("a read");
        assert_eq!(came, Stream::digest(number, LEN));
    }
}
