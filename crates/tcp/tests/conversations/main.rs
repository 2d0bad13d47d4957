//! A byte stack is tested packet by packet against a peer whose packets the test writes.

mod counters;
mod marks;
mod options;
mod suites;
mod urgent;
mod urgent_sent;

use std::io::{ErrorKind, IoSlice};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::task::{Context, Poll, Waker};

use tinygram_engine::{Flags, Instant};
use tinygram_tcp::{Abilities, Batch, ConnectionKey, Core, ListenerKey, SocketOptions};
use tinygram_wire::checksum::Sum;
use tinygram_wire::encode::{Checksum, Path};
use tinygram_wire::options::Options;
use tinygram_wire::packet::{self, Header, Verify};

const OURS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 80);
const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 4000);
/// The peer's initial sequence number.
const IRS: u32 = 5_000;

/// A stack, its time, and the tested connection.
struct World {
    core: Core,
    now: Instant,
    /// The stack's end of the tested connection.
    ours: SocketAddr,
    /// The listener that accepts it, if one does.
    listener: Option<ListenerKey>,
    connection: Option<ConnectionKey>,
    iss: u32,
}

fn nobody() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

fn core() -> Core {
    let abilities = Abilities {
        mtu: 1500,
        offload: false,
        headroom: 0,
    };
    Core::with_keys(abilities, &[OURS.ip()], [[1; 16], [2; 16]])
}

fn header(seq: u32, ack: u32, flags: Flags) -> Header {
    Header {
        seq,
        ack,
        flags,
        window: 60_000,
        options: Options::default(),
    }
}

fn syn(mss: u16) -> Header {
    let mut syn = header(IRS, 0, Flags::SYN);
    syn.options.mss = Some(mss);
    syn.options.sack_permitted = true;
    syn
}

impl World {
    /// A connection that the peer opened, with `syn`.
    fn accepted(syn: Header) -> Self {
        Self::accepted_with(syn, &SocketOptions::default())
    }

    /// The same, with these options.
    fn accepted_with(syn: Header, options: &SocketOptions) -> Self {
        Self::accepted_by(core(), syn, options)
    }

    /// The same, at this stack.
    fn accepted_by(core: Core, syn: Header, options: &SocketOptions) -> Self {
        let mut world = Self::listening_at(core, options);
        let answer = world.exchange(syn, &[]);
        world.iss = answer[0].0.seq;
        world.ack(0, &[]);
        let Poll::Ready(Ok(key)) = world.core.poll_accept(world.listener(), 1, &nobody()) else {
            panic!("a connection waits");
        };
        world.connection = Some(key);
        world
    }

    /// A listener with these options.
    fn listening(options: &SocketOptions) -> Self {
        Self::listening_at(core(), options)
    }

    /// The same, at this stack.
    fn listening_at(mut core: Core, options: &SocketOptions) -> Self {
        let (listener, _) = core.listen(OURS, 5, options).unwrap();
        Self {
            core,
            now: Instant::from_nanos(1),
            ours: OURS,
            listener: Some(listener),
            connection: None,
            iss: 0,
        }
    }

    /// The listener's key.
    fn listener(&self) -> ListenerKey {
        self.listener.expect("a listener of the world's")
    }

    /// The tested connection's key.
    fn key(&self) -> ConnectionKey {
        self.connection.expect("a connection")
    }

    /// Completes a handshake from another port of the peer's.
    fn handshake_from(&mut self, port: u16) {
        let path = Path::new(SocketAddr::new(PEER.ip(), port), OURS).unwrap();
        let send = |world: &mut Self, header: Header| {
            let mut packet = vec![0; path.headers_len(&header.options)];
            path.write_headers(&header, Checksum::Full, &mut packet);
            world.arrives(&packet)
        };
        let answer = send(self, syn(1460))[0].0;
        let ack = answer.seq.wrapping_add(1);
        send(self, header(IRS + 1, ack, Flags::ACK));
    }

    /// Lets the time pass until the next alarm, and returns what leaves then.
    fn next_alarm(&mut self) -> Vec<(Header, Vec<u8>)> {
        self.now = self.now.max(self.core.next_alarm());
        self.core.on_time(self.now);
        self.sent()
    }

    /// A connection that we open, whose SYN has left.
    fn opening() -> Self {
        let mut core = core();
        let now = Instant::from_nanos(1);
        let local = Some(SocketAddr::new(OURS.ip(), 0));
        let key = core
            .connect(now, local, PEER, &SocketOptions::default())
            .unwrap();
        let ours = core.ends(key).0;
        let mut world = Self {
            core,
            now,
            ours,
            listener: None,
            connection: Some(key),
            iss: 0,
        };
        world.iss = world.sent()[0].0.seq;
        world
    }

    /// Sends the packet to the stack and returns its answers.
    fn exchange(&mut self, header: Header, payload: &[u8]) -> Vec<(Header, Vec<u8>)> {
        let path = Path::new(PEER, self.ours).unwrap();
        let mut packet = vec![0; path.headers_len(&header.options)];
        packet.extend_from_slice(payload);
        path.write_headers(&header, Checksum::Full, &mut packet);
        self.arrives(&packet)
    }

    fn arrives(&mut self, packet: &[u8]) -> Vec<(Header, Vec<u8>)> {
        self.core.on_packet(self.now, packet, Verify::Checksum);
        self.core.on_batch_end(self.now);
        self.sent()
    }

    /// A segment of the peer's, its numbers counted from the peer's SYN and from ours.
    fn segment(
        &mut self,
        seq: u32,
        ack: u32,
        flags: Flags,
        payload: &[u8],
    ) -> Vec<(Header, Vec<u8>)> {
        let header = header(IRS.wrapping_add(seq), self.iss.wrapping_add(ack), flags);
        self.exchange(header, payload)
    }

    fn ack(&mut self, ahead: u32, payload: &[u8]) -> Vec<(Header, Vec<u8>)> {
        let (seq, ack) = (IRS + 1, self.iss.wrapping_add(1 + ahead));
        let header = header(seq, ack, Flags::ACK);
        let path = Path::new(PEER, OURS).unwrap();
        let mut packet = vec![0; path.headers_len(&header.options)];
        packet.extend_from_slice(payload);
        path.write_headers(&header, Checksum::Full, &mut packet);
        self.arrives(&packet)
    }

    fn sent(&mut self) -> Vec<(Header, Vec<u8>)> {
        let (mut batch, mut all) = (Batch::default(), Vec::new());
        while self.core.has_packets() {
            self.core.fill(&mut batch);
            batch.drain(0, |octets, offload| {
                // A device that cuts packets completes their checksums.
                let verify = match offload {
                    Some(_) => Verify::Nothing,
                    None => Verify::Checksum,
                };
                let packet = packet::read(octets, verify).expect("a packet of ours");
                all.push((packet.header, packet.payload.to_vec()));
            });
        }
        all
    }

    fn write(&mut self, octets: &[u8]) -> Vec<(Header, Vec<u8>)> {
        let pieces = [IoSlice::new(octets)];
        let wrote = self
            .core
            .poll_write(self.now, self.key(), &pieces, false, &nobody());
        assert!(matches!(wrote, Poll::Ready(Ok(len)) if len == octets.len()));
        self.core.on_idle(self.now);
        self.sent()
    }

    /// An ICMP error of IPv4 that quotes a segment of ours with this number.
    fn icmp(&mut self, kind: u8, code: u8, mtu: u16, seq: u32) -> Vec<(Header, Vec<u8>)> {
        let path = Path::new(self.ours, PEER).unwrap();
        let quoted = header(seq, 0, Flags::SYN);
        let mut inner = vec![0; path.headers_len(&quoted.options)];
        path.write_headers(&quoted, Checksum::Full, &mut inner);
        let mut message = vec![kind, code, 0, 0, 0, 0];
        message.extend(mtu.to_be_bytes());
        message.extend(&inner[..28]);
        let sum = Sum::default().with(&message).checksum();
        message[2..4].copy_from_slice(&sum);
        let total = 20 + message.len() as u16;
        let [high, low] = total.to_be_bytes();
        let mut packet = vec![0x45, 0, high, low, 0, 0, 0, 0, 64, 1, 0, 0];
        packet.extend([10, 0, 0, 9]);
        packet.extend([10, 0, 0, 1]);
        let sum = Sum::default().with(&packet).checksum();
        packet[10..12].copy_from_slice(&sum);
        packet.extend(message);
        self.arrives(&packet)
    }

    fn error(&mut self) -> Option<ErrorKind> {
        self.core.take_error(self.key()).map(|error| error.kind())
    }
}
