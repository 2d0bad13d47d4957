//! Our stack's end: `ours NAME offload|wire|napi usual|best`, where NAME is the TUN device's.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_stack::{SocketOptions, Stack, TcpListener, TcpStream, Tun, TunSettings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);
const STACK: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 99, 0, 2));

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let tun = Tun::open(&TunSettings {
        name: Some(words[0].clone()),
        ipv4: Some((KERNEL, 24)),
        offload: words[1] == "offload",
        threaded_napi: words[1] == "napi",
        ..TunSettings::default()
    })?;
    let stack = Stack::new(tun, &[STACK])?;
    let mut options = SocketOptions::default();
    if words[2] == "best" {
        // Every answer is one write: nothing is to be gathered.
        options.send_policy = SendPolicy::named("off");
    }
    let listen = |port| TcpListener::bind_with(&stack, SocketAddr::new(STACK, port), 16, &options);
    let (sinks, sources, answers) = (listen(5001)?, listen(5002)?, listen(5003)?);
    eprintln!("ready");
    loop {
        tokio::select! {
            stream = sinks.accept() => drop(tokio::spawn(sink(stream?.0))),
            stream = sources.accept() => drop(tokio::spawn(source(stream?.0))),
            stream = answers.accept() => drop(tokio::spawn(answer(stream?.0))),
        }
    }
}

async fn sink(mut stream: TcpStream) -> std::io::Result<()> {
    let mut buffer = vec![0; 256 * 1024];
    while stream.read(&mut buffer).await? > 0 {}
    Ok(())
}

async fn source(mut stream: TcpStream) -> std::io::Result<()> {
    let buffer = vec![0; 256 * 1024];
    loop {
        stream.write_all(&buffer).await?;
    }
}

async fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let octets = stream.read_u32().await?;
    let mut buffer = vec![0; octets as usize];
    loop {
        stream.read_exact(&mut buffer).await?;
        stream.write_all(&buffer).await?;
    }
}
