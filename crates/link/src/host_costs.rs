//! Measures what a host's calls cost over a veth pair without offloads, with each end on a processor of its own.
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

use crate::device::Addresses;
use crate::namespace::Namespace;
use crate::{netlink, priority, processors, veth};

/// What a host's calls cost, with what happens at the peer at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// A write, besides its segments.
    pub write: Cost,
    /// A segment of an MSS sent.
    pub segment: Cost,
    /// An acknowledgment sent.
    pub acknowledgment: Cost,
    /// A read of one segment that has arrived.
    pub read: Cost,
    /// A wake-up: from a write's end to the end of the read that it woke, without the read.
    pub wakeup: Cost,
}

/// What one of them costs, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// The median of the batches, each of which has the medians of its rounds.
    pub us: f64,
    /// The second least of the batches. With ten of them, the true median is between this and [`to`](Self::to) in 98 of
    /// 100 measurements.
    pub from: f64,
    /// The second largest of them.
    pub to: f64,
}

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub enum Measured {
    /// The costs.
    Costs(Costs),
    /// Nothing: this machine has one processor, and each end needs its own.
    OneProcessor,
}

/// Measures the costs on this machine, in `batches` batches of so many rounds. Nothing else should run meanwhile. It takes what
/// [`acquire_privilege`](crate::namespace::acquire_privilege) acquires, and keeps this thread to one processor.
///
/// # Errors
///
/// What making namespaces, devices and connections may fail with.
pub fn measure(batches: usize, rounds: usize) -> io::Result<Measured> {
    let Some([own, peers]) = processors::two() else {
        return Ok(Measured::OneProcessor);
    };
    priority::prefer();
    let (near, far) = pair()?;
    processors::keep_to(own);
    let batch = |_| Medians::of(&near, &far, peers, rounds);
    let all: Vec<Medians> = (0..batches).map(batch).collect::<io::Result<_>>()?;
    let cost = |of: fn(&Medians) -> f64| Cost::of(all.iter().map(of).collect());
    Ok(Measured::Costs(Costs {
        write: cost(|it| it.one - it.segment()),
        segment: cost(Medians::segment),
        acknowledgment: cost(|it| it.acknowledged - it.told),
        read: cost(|it| it.read),
        wakeup: cost(|it| it.woken - it.read),
    }))
}

impl Cost {
    /// Returns the median of these and the second from either end; of fewer than four, the ends.
    fn of(mut all: Vec<f64>) -> Self {
        all.sort_by(f64::total_cmp);
        let (last, middle) = (all.len() - 1, all.len() / 2);
        let second = usize::from(all.len() > 3);
        Self {
            us: match all.len().is_multiple_of(2) {
                true => (all[middle - 1] + all[middle]) / 2.0,
                false => all[middle],
            },
            from: all[second],
            to: all[last - second],
        }
    }
}

/// The medians of a batch, in microseconds.
struct Medians {
    /// A write of one segment.
    one: f64,
    /// A write of several.
    many: f64,
    /// A read.
    read: f64,
    /// The same with TCP_QUICKACK told to be off.
    told: f64,
    /// The same with it told to be on, so that an acknowledgment leaves.
    acknowledged: f64,
    /// From a write's end to the end of the read that it woke.
    woken: f64,
}

impl Medians {
    fn of(near: &TcpStream, far: &TcpStream, peers: usize, rounds: usize) -> io::Result<Self> {
        Ok(Self {
            one: sending(near, far, MSS, rounds)?,
            many: sending(near, far, SEGMENTS * MSS, rounds)?,
            read: reading(near, far, None, rounds)?,
            told: reading(near, far, Some(false), rounds)?,
            acknowledged: reading(near, far, Some(true), rounds)?,
            woken: waking(near, far, peers, rounds)?,
        })
    }

    fn segment(&self) -> f64 {
        (self.many - self.one) / (SEGMENTS - 1) as f64
    }
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
fn sending(mut near: &TcpStream, far: &TcpStream, octets: usize, rounds: usize) -> io::Result<f64> {
    let data = vec![0; octets];
    let taken = median(rounds, || {
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
fn reading(
    mut near: &TcpStream,
    mut far: &TcpStream,
    quick: Option<bool>,
    rounds: usize,
) -> io::Result<f64> {
    let data = [0; MSS];
    let mut buffer = vec![0; 2 * MSS];
    median(rounds, || {
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
fn waking(mut near: &TcpStream, far: &TcpStream, peers: usize, rounds: usize) -> io::Result<f64> {
    let mut far = far.try_clone()?;
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
    let taken = median(rounds, &mut send)?;
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

/// Returns the median of so many rounds.
fn median(rounds: usize, mut round: impl FnMut() -> io::Result<f64>) -> io::Result<f64> {
    let mut all = (0..rounds)
        .map(|_| round())
        .collect::<io::Result<Vec<_>>>()?;
    all.sort_by(f64::total_cmp);
    Ok(all[all.len() / 2])
}

#[allow(clippy::disallowed_methods)] // real time is what is measured
fn now() -> Instant {
    Instant::now()
}

/// The MSS with timestamps over Ethernet, in octets.
const MSS: usize = 1448;
/// How many segments a long write has.
const SEGMENTS: usize = 6;
/// The length of a request, in octets.
const SMALL: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_leaves_out_the_ends() {
        let of = |all: &[f64]| {
            let Cost { us, from, to } = Cost::of(all.to_vec());
            (us, from, to)
        };
        let ten = [9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 100.0];
        assert_eq!(of(&ten), (5.5, 2.0, 9.0));
        assert_eq!(of(&[3.0, 1.0, 2.0]), (2.0, 1.0, 3.0));
        assert_eq!(of(&[4.0]), (4.0, 4.0, 4.0));
    }
}
