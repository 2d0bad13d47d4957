//! A TCP proxy: our stack accepts connections, and the kernel's sockets continue them to their
//! destinations.
//!
//!     cargo run --release -p tinygram-stack --example proxy -- 22=127.0.0.1:22 8080=127.0.0.1:80
//!
//! Then `ssh 10.78.0.2` reaches the machine's own sshd through our TCP. In the other direction,
//! `kernel:PORT=ADDRESS` lets the kernel accept and our stack continue:
//!
//!     ... --example proxy -- kernel:2222=10.78.0.1:22

mod common;

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use tinygram_stack::{Stack, TcpListener, TcpStream};
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net;

/// The source and the destination.
struct Rule {
    kernel_accepts: bool,
    port: u16,
    to: SocketAddr,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let common::Example { stack, rest, .. } = common::stack()?;
    let rules: Option<Vec<Rule>> = rest.iter().map(|word| rule(word)).collect();
    let rules = rules.filter(|rules| !rules.is_empty()).ok_or_else(|| {
        let usage = "proxy wants PORT=ADDRESS:PORT or kernel:PORT=ADDRESS:PORT, one or more";
        io::Error::new(io::ErrorKind::InvalidInput, usage)
    })?;
    let mut ways = Vec::new();
    for rule in rules {
        ways.push(tokio::spawn(serve(stack.clone(), rule)));
    }
    for way in ways {
        way.await??;
    }
    Ok(())
}

fn rule(word: &str) -> Option<Rule> {
    let (from, to) = word.split_once('=')?;
    let kernels = from.strip_prefix("kernel:");
    Some(Rule {
        kernel_accepts: kernels.is_some(),
        port: kernels.unwrap_or(from).parse().ok()?,
        to: to.parse().ok()?,
    })
}

async fn serve(stack: Stack, rule: Rule) -> io::Result<()> {
    let any = SocketAddr::new(IpAddr::from(Ipv6Addr::UNSPECIFIED), rule.port);
    if rule.kernel_accepts {
        let listener = net::TcpListener::bind(any).await?;
        loop {
            let (one, _) = listener.accept().await?;
            one.set_nodelay(true)?;
            let stack = stack.clone();
            tokio::spawn(async move { join(one, TcpStream::connect(&stack, rule.to).await).await });
        }
    }
    let listener = TcpListener::bind(&stack, any)?;
    loop {
        let (one, _) = listener.accept().await?;
        tokio::spawn(async move { join(one, net::TcpStream::connect(rule.to).await).await });
    }
}

/// Carries octets in both directions until both have ended.
async fn join<A, B>(mut one: A, other: io::Result<B>)
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    let carried = match other {
        Ok(mut other) => copy_bidirectional(&mut one, &mut other).await,
        Err(error) => Err(error),
    };
    match carried {
        Ok((there, back)) => eprintln!("{there} octets there, {back} back"),
        Err(error) => eprintln!("{error}"),
    }
}
