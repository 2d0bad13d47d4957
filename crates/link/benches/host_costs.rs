//! Measures what a host's calls cost over a veth pair without offloads, with each end on a
//! processor of its own.
//!
//! `naglemark` simulates two such hosts beside the real ones (`--backend sim,kernel --hosts
//! linux-veth`), and takes their costs from here: `cargo bench -p tinygram-link --bench
//! host_costs`. No cost is adjusted to the result of that comparison.
//!
//! On a veth pair the sender's processor also does the peer's work on an arriving packet, up to
//! waking a thread. A segment's cost therefore includes the work of both ends, and the sender pays
//! all of it.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt::{set_tcp_congestion, set_tcp_quickack};
use tinygram_link::device::Addresses;
use tinygram_link::namespace::{self, Namespace};
use tinygram_link::{netlink, priority, processors, veth};

fn main() -> io::Result<()> {
    if let Err(why) = namespace::acquire_privilege() {
        println!("skipped: {why}");
        return Ok(());
    }
    let Some([own, peers]) = processors::two() else {
        println!("skipped: this machine has one processor");
        return Ok(());
    };
    priority::prefer();
    let (near, far) = pair()?;
    processors::keep_to(own);

    let one = sending(&near, &far, MSS)?;
    let many = sending(&near, &far, SEGMENTS * MSS)?;
    let read = reading(&near, &far, None)?;
    let [told, acknowledged] = [false, true].map(|quick| reading(&near, &far, Some(quick)));
    let (told, acknowledged) = (told?, acknowledged?);
    let woken = waking(near, far, peers)?;

    println!("Microseconds: the median of {ROUNDS} rounds, and where the middle 80 % of them lie.");
    for (what, taken) in [
        ("write of one segment", &one),
        ("write of six segments", &many),
        ("read of one segment", &read),
        ("the same, told TCP_QUICKACK = 0", &told),
        ("the same, told TCP_QUICKACK = 1", &acknowledged),
        ("from a write's end to the read it woke", &woken),
    ] {
        let [low, median, high] = [0.1, 0.5, 0.9].map(|share| taken.below(share));
        println!("    {what:40} {median:7.2} {low:7.2} to {high:.2}");
    }
    let segment = (many.median() - one.median()) / (SEGMENTS - 1) as f64;
    println!("And so, with what happens at the peer at once:");
    for (what, cost) in [
        ("a segment of an MSS sent", segment),
        ("a write besides its segments", one.median() - segment),
        (
            "an acknowledgment sent",
            acknowledged.median() - told.median(),
        ),
        ("a wake-up", woken.median() - read.median()),
    ] {
        println!("    {what:40} {cost:7.2}");
    }
    Ok(())
}

/// Returns the two ends of a connection with TCP_NODELAY at both.
fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let spaces = [Namespace::new()?, Namespace::new()?];
    let [near, far] = &spaces;
    for space in &spaces {
        space.within(netlink::loopback_up)??;
    }
    let addresses = [1, 2].map(|end| Addresses {
        v4: Ipv4Addr::new(10, 77, 0, end),
        v6: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, u16::from(end)),
    });
    veth::join([near, far], "costs0", addresses, veth::Offload::Off)?;
    let at: SocketAddr = (addresses[1].v4, 0).into();
    let listener = far.within(|| TcpListener::bind(at))??;
    let at = listener.local_addr()?;
    let near = near.within(|| TcpStream::connect(at))??;
    let (far, _) = listener.accept()?;
    for end in [&near, &far] {
        end.set_nodelay(true)?;
        set_tcp_congestion(end, "cubic").or_else(|_| set_tcp_congestion(end, "reno"))?;
    }
    Ok((near, far))
}

/// Measures a write of `octets` while the reader is neither asleep nor reading.
fn sending(mut near: &TcpStream, far: &TcpStream, octets: usize) -> io::Result<Taken> {
    let data = vec![0; octets];
    let taken = Taken::of(|| {
        drain(far)?;
        rest();
        timed(|| near.write_all(&data))
    });
    rest();
    drain(far)?;
    taken
}

/// Measures a read of one segment that has arrived. `TCP_QUICKACK` is set to `quick` just before,
/// if it is given: true sends the acknowledgment, false leaves it to the answer of the
/// conversation.
fn reading(mut near: &TcpStream, mut far: &TcpStream, quick: Option<bool>) -> io::Result<Taken> {
    let data = [0; MSS];
    let mut buffer = vec![0; 2 * MSS];
    Taken::of(|| {
        set_tcp_quickack(far, false)?;
        far.write_all(b"?")?;
        near.read_exact(&mut [0])?;
        near.write_all(&data)?;
        rest();
        timed(|| {
            if let Some(quick) = quick {
                set_tcp_quickack(far, quick)?;
            }
            far.read(&mut buffer)
        })
    })
}

/// Measures the time from the return of a write to the return of the read that it ended, on the
/// other processor.
fn waking(mut near: TcpStream, mut far: TcpStream, peers: usize) -> io::Result<Taken> {
    let began = now();
    let (read_at, ends) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let reader = {
        let (read_at, ends) = (read_at.clone(), ends.clone());
        thread::spawn(move || -> io::Result<()> {
            processors::keep_to(peers);
            while !ends.load(SeqCst) {
                far.read_exact(&mut [0; SMALL])?;
                read_at.store(began.elapsed().as_nanos() as u64, SeqCst);
            }
            Ok(())
        })
    };
    let mut send = || -> io::Result<f64> {
        rest();
        read_at.store(0, SeqCst);
        near.write_all(&[0; SMALL])?;
        let wrote_at = began.elapsed().as_nanos() as u64;
        while read_at.load(SeqCst) == 0 {
            std::hint::spin_loop();
        }
        Ok(read_at.load(SeqCst).saturating_sub(wrote_at) as f64 / 1e3)
    };
    let taken = Taken::of(&mut send)?;
    ends.store(true, SeqCst);
    send()?;
    reader.join().expect("does not panic")?;
    Ok(taken)
}

fn drain(end: &TcpStream) -> io::Result<()> {
    let mut end = end;
    let mut buffer = [0; 64 * 1024];
    end.set_nonblocking(true)?;
    while end.read(&mut buffer).is_ok() {}
    end.set_nonblocking(false)
}

/// Waits so long that the work of the last call is over and that a reader which slept is asleep
/// again.
fn rest() {
    let began = now();
    while began.elapsed() < Duration::from_micros(50) {
        std::hint::spin_loop();
    }
}

fn timed<T>(call: impl FnOnce() -> io::Result<T>) -> io::Result<f64> {
    let began = now();
    call()?;
    Ok(began.elapsed().as_nanos() as f64 / 1e3)
}

/// The times of the rounds, the shortest first.
struct Taken(Vec<f64>);

impl Taken {
    fn of(mut round: impl FnMut() -> io::Result<f64>) -> io::Result<Self> {
        let mut all = (0..ROUNDS)
            .map(|_| round())
            .collect::<io::Result<Vec<_>>>()?;
        all.sort_by(f64::total_cmp);
        Ok(Self(all))
    }

    /// Returns the time that this share of the rounds did not exceed.
    fn below(&self, share: f64) -> f64 {
        self.0[(share * self.0.len() as f64) as usize]
    }

    fn median(&self) -> f64 {
        self.below(0.5)
    }
}

#[allow(clippy::disallowed_methods)] // real time is what is measured
fn now() -> Instant {
    Instant::now()
}

const ROUNDS: usize = 1000;
/// The MSS with timestamps over Ethernet, in octets.
const MSS: usize = 1448;
/// How many segments a long write has.
const SEGMENTS: usize = 6;
/// The length of a request, in octets.
const SMALL: usize = 100;
