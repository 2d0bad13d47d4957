//! Runs the engine over UDP: each datagram carries one segment with its octets. Two threads, each
//! with its own socket on the loopback interface, talk as two processes would: one sends a text,
//! the other returns it in capitals.
//!
//! ```console
//! $ cargo run -p tinygram-engine --example udp
//! ```

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::thread;

use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::{
    Connection, Duration, Flags, Instant, Offset, Options, Outbox, Segment, State,
};

const TEXT: &str = "a segment far smaller than it need be";
const SIZES: Sizes = Sizes {
    mss: 1200,
    send_buffer: 65_536,
    receive_buffer: 65_535,
};

fn main() -> io::Result<()> {
    let [client, server] = [
        UdpSocket::bind("127.0.0.1:0")?,
        UdpSocket::bind("127.0.0.1:0")?,
    ];
    let (client_is, server_is) = (client.local_addr()?, server.local_addr()?);
    let serving = thread::spawn(move || serve(server, client_is));
    let heard = ask(client, server_is)?;
    serving.join().expect("the server ran to its end")?;
    println!("said:  {TEXT}\nheard: {heard}");
    assert_eq!(heard, TEXT.to_uppercase());
    Ok(())
}

fn ask(socket: UdpSocket, server: SocketAddr) -> io::Result<String> {
    let mut end = End::new(socket, server)?;
    end.connection.connect(now(), &mut end.out);
    end.write(TEXT.as_bytes());
    let mut heard = Vec::new();
    while heard.len() < TEXT.len() {
        end.turn()?;
        end.read(&mut heard);
    }
    end.close()?;
    Ok(String::from_utf8_lossy(&heard).into_owned())
}

fn serve(socket: UdpSocket, client: SocketAddr) -> io::Result<()> {
    let mut end = End::new(socket, client)?;
    end.connection.listen();
    let mut heard = Vec::new();
    while heard.len() < TEXT.len() {
        end.turn()?;
        end.read(&mut heard);
    }
    end.write(&heard.to_ascii_uppercase());
    end.close()
}

/// A connection, with what the engine does not have: octets, a socket and a clock.
struct End {
    connection: Connection,
    out: Outbox,
    socket: UdpSocket,
    peer: SocketAddr,
    /// The octets that were written, and the offset of the first of them that is not acknowledged.
    written: VecDeque<u8>,
    written_from: Offset,
    /// The octets that arrived in order and were not read.
    arrived: VecDeque<u8>,
}

impl End {
    fn new(socket: UdpSocket, peer: SocketAddr) -> io::Result<Self> {
        let config = Profile::MODERN.builder(SIZES);
        let config = config.time_wait(Duration::from_millis(50)).build();
        Ok(Self {
            connection: Connection::new(&config.map_err(io::Error::other)?),
            out: Outbox::new(),
            socket,
            peer,
            written: VecDeque::new(),
            written_from: Offset::FIRST,
            arrived: VecDeque::new(),
        })
    }

    /// Writes as much as the engine has room for, and keeps those octets for it.
    fn write(&mut self, octets: &[u8]) {
        let taken = self
            .connection
            .write(now(), octets.len() as u64, false, &mut self.out);
        assert_eq!(
            taken,
            octets.len() as u64,
            "the send buffer is larger than all that is said"
        );
        self.written.extend(octets);
    }

    fn read(&mut self, heard: &mut Vec<u8>) {
        let taken = self.connection.read(now(), u64::MAX, &mut self.out);
        heard.extend(self.arrived.drain(..taken as usize));
    }

    fn close(&mut self) -> io::Result<()> {
        self.connection.close(now(), &mut self.out);
        while self.connection.state() != State::Closed {
            self.turn()?;
        }
        self.drain()
    }

    /// Runs the loop's body: drains the outbox, sleeps until a datagram arrives or the deadline
    /// comes, and tells the engine.
    fn turn(&mut self) -> io::Result<()> {
        self.drain()?;
        let wait = self
            .connection
            .next_wakeup()
            .map(|at| at.since(now()).as_nanos());
        // A timeout of zero would mean no timeout.
        let wait = wait.map(|nanos| std::time::Duration::from_nanos(nanos.max(1)));
        self.socket.set_read_timeout(wait)?;
        let mut datagram = [0; HEADER + SIZES.mss as usize];
        match self.socket.recv(&mut datagram) {
            Ok(len) => self.arrives(&datagram[..len]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
        let now = now();
        if self.connection.next_wakeup().is_some_and(|at| at <= now) {
            self.connection.on_wakeup(now, &mut self.out);
        }
        // Acknowledged octets will not be sent again.
        let acknowledged = self.connection.sender().vars().una.since(self.written_from);
        let acknowledged = (acknowledged as usize).min(self.written.len());
        self.written.drain(..acknowledged);
        self.written_from += acknowledged as u64;
        Ok(())
    }

    fn drain(&mut self) -> io::Result<()> {
        self.out.take_events();
        for segment in self.out.segments.drain(..) {
            let mut datagram = write_header(&segment).to_vec();
            if segment.len > 0 {
                let start = segment.data().start.since(self.written_from) as usize;
                datagram.extend(self.written.range(start..start + segment.len as usize));
            }
            self.socket.send_to(&datagram, self.peer)?;
        }
        Ok(())
    }

    /// Stores the octets of a datagram if the engine accepted their range and they are next in
    /// order. Loopback keeps the order; on another path, octets that come early would have to be
    /// stored by their offsets.
    fn arrives(&mut self, datagram: &[u8]) {
        let Some((segment, octets)) = read_header(datagram) else {
            return;
        };
        let before = self.connection.receiver().nxt();
        let is_accepted = self.connection.accepts(now(), &segment);
        self.connection.on_segment(now(), &segment, &mut self.out);
        if !is_accepted {
            return;
        }
        let after = self.connection.receiver().nxt();
        let new = before.max(segment.data().start).since(segment.data().start) as usize;
        let end = (after.since(segment.data().start) as usize).min(octets.len());
        if new < end {
            self.arrived.extend(&octets[new..end]);
        }
    }
}

/// The size of this example's own header: complete offsets and, of the options, only the MSS.
/// Options that are not sent cannot be agreed on, so none of the profile's other extensions is in
/// force here.
const HEADER: usize = 23;

fn write_header(segment: &Segment) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&segment.seq.get().to_be_bytes());
    header[8..16].copy_from_slice(&segment.ack.get().to_be_bytes());
    header[16..20].copy_from_slice(&segment.window.to_be_bytes());
    header[20..22].copy_from_slice(&segment.options.mss.unwrap_or(0).to_be_bytes());
    header[22] = segment.flags.bits();
    header
}

fn read_header(datagram: &[u8]) -> Option<(Segment, &[u8])> {
    let (header, octets) = datagram.split_first_chunk::<HEADER>()?;
    let number = |at: usize, len: usize| {
        let digits = header[at..at + len].iter();
        digits.fold(0, |number, octet| number << 8 | u64::from(*octet))
    };
    let segment = Segment {
        seq: Offset::new(number(0, 8)),
        ack: Offset::new(number(8, 8)),
        len: octets.len() as u32,
        window: number(16, 4) as u32,
        flags: Flags::from_bits(header[22]),
        options: Options {
            mss: Some(number(20, 2) as u16).filter(|mss| *mss > 0),
            ..Options::default()
        },
    };
    Some((segment, octets))
}

/// Returns the time as the engine needs it: since an epoch of our choice.
fn now() -> Instant {
    use std::sync::LazyLock;
    #[expect(clippy::disallowed_methods, reason = "the real world is met here")]
    static EPOCH: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);
    let nanos = EPOCH.elapsed().as_nanos();
    Instant::from_nanos(nanos.try_into().unwrap_or(u64::MAX))
}
