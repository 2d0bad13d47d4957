//! What the tests share: a device that loses, repeats and reorders packets, and octets to send over
//! it.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::sync::Mutex;
use std::task::{Context, Poll};

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tinygram_stack::device::{Abilities, Device, Offload, Received};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// What happens to packets in each direction, in packets per thousand.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Troubles {
    pub(crate) lost_per_mille: u64,
    pub(crate) repeated_per_mille: u64,
    /// Overtaken by the next three.
    pub(crate) late_per_mille: u64,
    pub(crate) seed: u64,
}

impl Troubles {
    /// One packet in a hundred lost, one repeated and one late.
    #[allow(dead_code)] // not every test needs it
    pub(crate) const ONE_PERCENT: Self = Self {
        lost_per_mille: 10,
        repeated_per_mille: 10,
        late_per_mille: 10,
        seed: 1,
    };
}

/// A device whose packets have troubles in both directions.
pub(crate) struct Troubled<D> {
    device: D,
    outgoing: Mutex<Way>,
    incoming: Mutex<Way>,
    troubles: Troubles,
}

struct Way {
    dice: SplitMix64,
    /// A late packet, and how many more are to pass it.
    late: Option<(Vec<u8>, u32)>,
    /// Packets that are due before any new one.
    due: VecDeque<Vec<u8>>,
}

/// What happens to a packet.
enum Fate {
    Passes,
    Lost,
    Repeated,
    Late,
}

impl Way {
    fn new(seed: u64) -> Self {
        Self {
            dice: SplitMix64::seed_from_u64(seed),
            late: None,
            due: VecDeque::new(),
        }
    }

    fn fate(&mut self, troubles: &Troubles) -> Fate {
        let roll = self.dice.next_u64() % 1000;
        let lost = troubles.lost_per_mille;
        let repeated = lost + troubles.repeated_per_mille;
        let late = repeated + troubles.late_per_mille;
        match roll {
            _ if roll < lost => Fate::Lost,
            _ if roll < repeated => Fate::Repeated,
            _ if roll < late && self.late.is_none() => Fate::Late,
            _ => Fate::Passes,
        }
    }

    /// Counts a packet that passed the late one, if there is one; the third makes it due.
    fn passed(&mut self) {
        if let Some((_, left)) = &mut self.late {
            *left -= 1;
            if *left == 0 {
                self.due.extend(self.late.take().map(|(packet, _)| packet));
            }
        }
    }
}

impl<D: Device> Troubled<D> {
    pub(crate) fn new(device: D, troubles: Troubles) -> Self {
        assert!(
            !device.abilities().offload,
            "troubles befall packets of the wire"
        );
        Self {
            device,
            outgoing: Mutex::new(Way::new(troubles.seed)),
            incoming: Mutex::new(Way::new(troubles.seed ^ 0x5555)),
            troubles,
        }
    }
}

impl<D: Device> Device for Troubled<D> {
    fn abilities(&self) -> Abilities {
        self.device.abilities()
    }

    fn send(&self, octets: &mut [u8], offload: Option<Offload>) -> io::Result<()> {
        let mut way = self.outgoing.lock().unwrap();
        match way.fate(&self.troubles) {
            Fate::Lost => {}
            Fate::Late => way.late = Some((octets.to_vec(), 3)),
            fate => {
                if matches!(fate, Fate::Repeated) {
                    self.device.send(octets, offload)?;
                }
                self.device.send(octets, offload)?;
                way.passed();
            }
        }
        while let Some(mut packet) = way.due.pop_front() {
            self.device.send(&mut packet, None)?;
        }
        Ok(())
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<Received> {
        let mut way = self.incoming.lock().unwrap();
        loop {
            if let Some(packet) = way.due.pop_front() {
                buffer[..packet.len()].copy_from_slice(&packet);
                return Ok(Received {
                    start: 0,
                    end: packet.len(),
                    verified: false,
                });
            }
            let received = self.device.receive(buffer)?;
            let packet = &buffer[received.start..received.end];
            match way.fate(&self.troubles) {
                Fate::Lost => continue,
                Fate::Late => {
                    way.late = Some((packet.to_vec(), 3));
                    continue;
                }
                Fate::Repeated => way.due.push_back(packet.to_vec()),
                Fate::Passes => {}
            }
            way.passed();
            return Ok(received);
        }
    }

    fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.incoming.lock().unwrap().due.is_empty() {
            return Poll::Ready(Ok(()));
        }
        self.device.poll_readable(context)
    }
}

/// Octets that look random and are the same for the same seed.
pub(crate) struct Stream {
    state: u64,
    left: u64,
}

impl Stream {
    pub(crate) fn new(seed: u64, len: u64) -> Self {
        Self {
            state: seed | 1,
            left: len,
        }
    }

    /// Fills the beginning of `buffer`; returns the number of octets written, 0 at the end.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> usize {
        let some = self.left.min(buffer.len() as u64) as usize;
        for eight in buffer[..some].chunks_mut(8) {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            let octets = self.state.to_ne_bytes();
            eight.copy_from_slice(&octets[..eight.len()]);
        }
        self.left -= some as u64;
        some
    }

    /// Returns the length and the digest of the whole stream.
    pub(crate) fn digest(seed: u64, len: u64) -> (u64, u64) {
        let mut stream = Self::new(seed, len);
        let mut digest = Digest::default();
        let mut buffer = vec![0; PIECE];
        loop {
            match stream.fill(&mut buffer) {
                0 => return digest.finish(),
                some => digest.add(&buffer[..some]),
            }
        }
    }
}

/// A multiple of eight octets, so a stream is the same however it is requested.
pub(crate) const PIECE: usize = 64 * 1024;

/// The number of octets that arrived and a digest of them, independent of the pieces in which they
/// arrived.
#[derive(Default)]
pub(crate) struct Digest {
    hasher: DefaultHasher,
    len: u64,
    rest: Vec<u8>,
}

impl Digest {
    pub(crate) fn add(&mut self, octets: &[u8]) {
        self.len += octets.len() as u64;
        self.rest.extend_from_slice(octets);
        let whole = self.rest.len() / 1024 * 1024;
        for piece in self.rest[..whole].chunks_exact(1024) {
            self.hasher.write(piece);
        }
        self.rest.drain(..whole);
    }

    /// Returns the number of octets and their digest.
    pub(crate) fn finish(mut self) -> (u64, u64) {
        self.hasher.write(&self.rest);
        (self.len, self.hasher.finish())
    }
}

/// Writes the stream and ends it.
pub(crate) async fn send(mut to: impl AsyncWrite + Unpin, seed: u64, len: u64) -> io::Result<()> {
    let mut stream = Stream::new(seed, len);
    let mut buffer = vec![0; PIECE];
    loop {
        match stream.fill(&mut buffer) {
            0 => return to.shutdown().await,
            some => to.write_all(&buffer[..some]).await?,
        }
    }
}

/// Reads until the end.
pub(crate) async fn receive(mut from: impl AsyncRead + Unpin) -> io::Result<(u64, u64)> {
    let mut digest = Digest::default();
    let mut buffer = vec![0; PIECE];
    loop {
        match from.read(&mut buffer).await? {
            0 => return Ok(digest.finish()),
            some => digest.add(&buffer[..some]),
        }
    }
}
