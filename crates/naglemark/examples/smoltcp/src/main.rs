//! Scores smoltcp's own TCP, whose interface talks to itself over a line in memory, in virtual time.
//! All that a stack must bring is [`Backend`]; two programs and the line are below it.

use std::collections::VecDeque;

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{Socket, SocketBuffer};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, Ipv4Packet, TcpPacket};
use tinygram_naglemark::{Backend, Conditions, Duration as Time, Error, Keep, MediumKind, Plan};
use tinygram_naglemark::{REQUEST, Sample, Taken, Trial, measure};

/// smoltcp at both ends; the client delays its ACKs by this long.
struct Smoltcp(Duration);

const LINE: MediumKind = MediumKind::EthernetFullDuplex;
const ASKED: usize = REQUEST as usize;

impl Backend for Smoltcp {
    fn conditions(&self) -> Conditions {
        Conditions {
            stack: format!("smoltcp 0.14, ACKs delayed by {} ms", self.0.total_millis()),
            congestion: "none".into(),
            ..Conditions::new("smoltcp", LINE)
        }
    }

    fn run(&mut self, trial: &Trial) -> Result<Taken, Error> {
        let no_delay = trial.policy.no_delay();
        let no_delay = no_delay.ok_or_else(|| Error::policy("smoltcp", &trial.policy))?;
        let mut line = Line::default();
        for lengths in trial.lengths.chunks(trial.requests_per_connection) {
            let mut host = Host::new(trial.socket_buffer as usize, line);
            host.socket(host.client).set_ack_delay(Some(self.0));
            host.socket(host.server).set_nagle_enabled(!no_delay);
            for length in lengths {
                host.transfer(*length as usize, trial.app_buffer as usize);
            }
            line = host.line;
            line.packets.clear();
        }
        Ok(line.taken)
    }
}

/// A host that talks to itself: its sockets are the client's and the server's.
struct Host {
    interface: Interface,
    sockets: SocketSet<'static>,
    client: SocketHandle,
    server: SocketHandle,
    line: Line,
}

impl Host {
    fn new(send_buffer: usize, mut line: Line) -> Self {
        let (address, now) = (IpAddress::v4(10, 0, 0, 1), Instant::from_micros(line.now));
        let mut interface = Interface::new(Config::new(HardwareAddress::Ip), &mut line, now);
        interface.update_ip_addrs(|all| all.push(IpCidr::new(address, 24)).expect("room"));
        let buffer = |octets| SocketBuffer::new(vec![0; octets]);
        let mut client = Socket::new(buffer(65_535), buffer(4096));
        let asked = client.connect(interface.context(), (address, 7), 49_152);
        asked.expect("a route");
        let mut server = Socket::new(buffer(4096), buffer(send_buffer));
        server.listen(7).expect("a port");
        let mut sockets = SocketSet::new(Vec::new());
        Self {
            interface,
            client: sockets.add(client),
            server: sockets.add(server),
            sockets,
            line,
        }
    }

    /// The client asks, the server writes `length` octets in pieces, the client reads them.
    fn transfer(&mut self, length: usize, piece: usize) {
        while !self.socket(self.client).may_send() || !self.socket(self.server).may_send() {
            self.go_on(true);
        }
        let (began, zeros) = (self.line.now, vec![0; piece.max(ASKED)]);
        let asking = self.socket(self.client);
        assert_eq!(asking.send_slice(&zeros[..ASKED]), Ok(ASKED));
        let (mut asked, mut written, mut received) = (0, 0, 0);
        while received < length {
            asked += self.read(self.server);
            let mut copied = 0;
            if asked == ASKED && written < length {
                // What a full buffer left of a write goes before the next write.
                let rest = (piece - written % piece).min(length - written);
                let answering = self.socket(self.server);
                copied = answering.send_slice(&zeros[..rest]).expect("open");
                written += copied;
            }
            self.go_on(copied == 0);
            received += self.read(self.client);
        }
        let elapsed = Time::from_micros((self.line.now - began) as u64);
        let length = length as u32;
        self.line.taken.samples.push(Sample { length, elapsed });
    }

    fn socket(&mut self, end: SocketHandle) -> &mut Socket<'static> {
        self.sockets.get_mut(end)
    }

    fn read(&mut self, end: SocketHandle) -> usize {
        let (socket, mut octets) = (self.socket(end), 0);
        while socket.can_recv() {
            octets += socket.recv(|some| (some.len(), some.len())).expect("data");
        }
        octets
    }

    /// Lets the stack do what is due; if both programs wait, time goes on to it.
    fn go_on(&mut self, both_wait: bool) {
        let now = Instant::from_micros(self.line.now);
        if both_wait {
            let arrival = self.line.packets.front().map(|(at, _)| *at);
            let timer = self.interface.poll_at(now, &self.sockets);
            let due = arrival.into_iter().chain(timer.map(|at| at.total_micros()));
            self.line.now = due.min().expect("a timer").max(self.line.now);
        }
        let now = Instant::from_micros(self.line.now);
        self.interface.poll(now, &mut self.line, &mut self.sockets);
    }
}

/// Carries one packet after the other, and counts those with data from port 7. Times in microseconds.
#[derive(Default)]
struct Line {
    now: i64,
    busy_until: i64,
    packets: VecDeque<(i64, Vec<u8>)>,
    taken: Taken,
}

struct Received(Vec<u8>);
struct Sending<'a>(&'a mut Line);

impl Device for Line {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, now: Instant) -> Option<(Received, Sending<'_>)> {
        let (_, packet) = self
            .packets
            .pop_front_if(|(at, _)| *at <= now.total_micros())?;
        Some((Received(packet), Sending(self)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sending<'_>> {
        Some(Sending(self))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        (capabilities.medium, capabilities.max_transmission_unit) = (Medium::Ip, 1500);
        capabilities
    }
}

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, write: F) -> R {
        let (mut packet, line) = (vec![0; len], self.0);
        let result = write(&mut packet);
        let ip = Ipv4Packet::new_checked(&packet).expect("smoltcp's own");
        let segment = TcpPacket::new_checked(ip.payload()).expect("smoltcp's own");
        let octets = segment.payload().len() as u32;
        if segment.src_port() == 7 && octets > 0 {
            let short = u64::from(octets < LINE.usual_mss().into());
            *line.taken.data_segments.get_or_insert(0) += 1;
            *line.taken.short_segments.get_or_insert_default() += short;
        }
        let takes = LINE.wire().occupies(octets).as_nanos().div_ceil(1000) as i64;
        line.busy_until = line.busy_until.max(line.now) + takes;
        line.packets.push_back((line.busy_until, packet));
        result
    }
}

fn main() -> Result<(), Error> {
    let mut stacks = [10, 40, 200].map(|ms| Smoltcp(Duration::from_millis(ms)));
    let mut backends = stacks.each_mut().map(|it| it as &mut dyn Backend);
    for outcome in measure(&Plan::default(), &mut backends, Keep::Scores, &|_| {})? {
        println!("{outcome}");
    }
    Ok(())
}
