//! Hostile peers, packet by packet against the core: memory stays bounded, nothing panics, and
//! honest connections continue.

use std::io::{ErrorKind, IoSlice};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::task::{Context, Poll, Waker};

use tinygram_engine::extensions::{Extensions, Keepalive};
use tinygram_engine::{Duration, Flags, Instant, State, Timestamps};
use tinygram_tcp::Abilities;
use tinygram_tcp::SocketOptions;
use tinygram_tcp::{Batch, Core};
use tinygram_wire::checksum::Sum;
use tinygram_wire::encode::{Checksum, Path};
use tinygram_wire::options::Options;
use tinygram_wire::packet::{self, Header, Verify};

const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 80);

/// The core under attack, and its clock.
struct Victim {
    core: Core,
    now: Instant,
    listener: usize,
    batch: Batch,
    /// The most that a connection's buffers may take, in octets.
    most: usize,
}

impl Victim {
    fn new(backlog: usize, options: &SocketOptions) -> Self {
        let abilities = Abilities {
            mtu: 1500,
            offload: false,
            headroom: 0,
        };
        let mut core = Core::with_keys(abilities, &[SERVER.ip()], [[1; 16], [2; 16]]);
        let (listener, _) = core.listen(SERVER, backlog, options).unwrap();
        Self {
            core,
            now: Instant::from_nanos(1),
            listener,
            batch: Batch::default(),
            // Rings are powers of two.
            most: [options.send_buffer, options.receive_buffer]
                .map(|octets| (octets as usize).next_power_of_two())
                .iter()
                .sum(),
        }
    }

    fn arrives(&mut self, packet: &[u8]) {
        self.core.on_packet(self.now, packet, Verify::Checksum);
        self.core.on_batch_end(self.now);
        let (connections, memory) = (self.core.connections(), self.core.allocated());
        assert!(
            memory <= connections * self.most,
            "{memory} octets for {connections}"
        );
        assert!(self.core.alarms() <= 8 * connections + 8);
    }

    /// Returns what the core sends now.
    fn answers(&mut self) -> Vec<Answer> {
        let mut all = Vec::new();
        while self.core.has_packets() {
            self.core.fill(&mut self.batch);
            self.batch.drain(0, |octets, _| {
                let packet = packet::read(octets, Verify::Checksum).expect("a packet of ours");
                all.push(Answer {
                    to: packet.destination.into(),
                    header: packet.header,
                    payload: packet.payload.to_vec(),
                });
            });
        }
        all
    }

    /// Advances the time, running every timer that expires.
    fn wait(&mut self, length: Duration) {
        let end = self.now + length;
        while self.core.next_alarm() <= end {
            self.now = self.now.max(self.core.next_alarm());
            self.core.on_time(self.now);
        }
        self.now = end;
    }

    fn accept(&mut self) -> Option<usize> {
        match self.core.poll_accept(self.listener, 0, &waits()) {
            Poll::Ready(key) => Some(key.expect("the device is there")),
            Poll::Pending => None,
        }
    }

    /// Reads all that is available.
    fn read(&mut self, key: usize) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let take = |first: &[u8], second: &[u8]| {
                all.extend_from_slice(first);
                all.extend_from_slice(second);
            };
            let read = self.core.poll_read(self.now, key, 1 << 20, &waits(), take);
            match read {
                Poll::Ready(Ok(some)) if some > 0 => {}
                _ => return all,
            }
        }
    }

    fn write(&mut self, key: usize, octets: &[u8]) -> usize {
        let pieces = [IoSlice::new(octets)];
        match self
            .core
            .poll_write(self.now, key, &pieces, false, &waits())
        {
            Poll::Ready(written) => written.unwrap(),
            Poll::Pending => 0,
        }
    }
}

struct Answer {
    to: SocketAddr,
    header: Header,
    payload: Vec<u8>,
}

/// `modern` with changed extensions.
fn with_extensions(change: impl FnOnce(&mut Extensions)) -> SocketOptions {
    let mut extensions = Extensions::MODERN;
    change(&mut extensions);
    SocketOptions {
        extensions: Some(extensions),
        ..SocketOptions::default()
    }
}

fn waits() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// A peer that may send anything.
#[derive(Clone, Copy)]
struct Peer {
    address: SocketAddr,
    seq: u32,
    ack: u32,
    window: u16,
}

impl Peer {
    fn at(number: u32) -> Self {
        let [_, a, b, c] = number.to_be_bytes();
        Self {
            address: SocketAddr::new(Ipv4Addr::new(10, a, b, c).into(), 4000 + c as u16),
            seq: number.wrapping_mul(7919),
            ack: 0,
            window: 60_000,
        }
    }

    fn packet(&self, seq: u32, flags: Flags, payload: &[u8]) -> Vec<u8> {
        self.packet_with(seq, flags, payload, Options::default())
    }

    fn packet_with(&self, seq: u32, flags: Flags, payload: &[u8], options: Options) -> Vec<u8> {
        let header = Header {
            seq,
            ack: self.ack,
            flags,
            window: self.window,
            options,
        };
        let path = Path::new(self.address, SERVER).unwrap();
        let mut packet = vec![0; path.headers_len(&options)];
        packet.extend_from_slice(payload);
        path.write_headers(&header, Checksum::Full, &mut packet);
        packet
    }

    fn syn(&self) -> Vec<u8> {
        let options = Options {
            mss: Some(1460),
            ..Options::default()
        };
        Self { ack: 0, ..*self }.packet_with(self.seq, Flags::SYN, b"", options)
    }

    /// Completes the handshake; returns the socket at the other end.
    fn connect(&mut self, victim: &mut Victim) -> usize {
        victim.arrives(&self.syn());
        self.complete(victim);
        victim.accept().expect("a connection")
    }

    /// The rest of the handshake, once the SYN has been sent.
    fn complete(&mut self, victim: &mut Victim) {
        let answers = victim.answers();
        let ours = answers.iter().find(|answer| answer.to == self.address);
        let synack = ours.expect("a SYN-ACK").header;
        assert!(synack.flags.has(Flags::SYN.with(Flags::ACK)));
        self.seq = self.seq.wrapping_add(1);
        self.ack = synack.seq.wrapping_add(1);
        victim.arrives(&self.packet(self.seq, Flags::ACK, b""));
    }

    /// Sends octets in order and checks that they are acknowledged.
    fn talks(&mut self, victim: &mut Victim, key: usize, octets: &[u8]) {
        victim.arrives(&self.packet(self.seq, Flags::ACK.with(Flags::PSH), octets));
        self.seq = self.seq.wrapping_add(octets.len() as u32);
        assert_eq!(victim.read(key), octets);
        victim.wait(Duration::from_millis(50));
        let answers = victim.answers();
        let last = answers.iter().rfind(|answer| answer.to == self.address);
        assert_eq!(last.expect("an ACK").header.ack, self.seq);
    }
}

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
}

#[test]
fn a_flood_of_syns_takes_no_more_than_the_backlog() {
    let options = with_extensions(|extensions| extensions.syn_cookies = false);
    let mut victim = Victim::new(64, &options);
    let mut early = Peer::at(0xff_ffff);
    let key = early.connect(&mut victim);
    let mut honest = Peer::at(0xff_fffe);
    for number in 0..100_000 {
        if number == 50_010 {
            victim.arrives(&honest.syn());
        }
        if number == 50_050 {
            // Forty forged SYNs later, as many as arrive in a round trip.
            honest.complete(&mut victim);
        }
        victim.arrives(&Peer::at(number).syn());
        victim.now += Duration::from_micros(10);
        if number % 100 == 0 {
            victim.answers();
        }
        // The backlog, connections whose SYN-ACK has yet to be sent, and the two honest ones.
        assert!(victim.core.connections() <= 64 + 100 + 2);
    }
    assert_eq!(victim.core.allocated(), 0, "nobody has sent anything yet");
    early.talks(&mut victim, key, b"still here");
    let key = victim.accept().expect("the honest one came through");
    honest.talks(&mut victim, key, b"here too");
    // Nobody answers the SYN-ACKs: in the end all half-open connections go.
    victim.wait(Duration::from_secs(3600));
    victim.answers();
    assert_eq!(victim.core.connections(), 2);
}

/// RFC 4987, section 3.6: a listener that is flooded stores nothing of further SYNs, and lets in
/// whoever returns its cookie, however long that takes within two minutes.
#[test]
fn a_flood_of_syns_locks_nobody_out() {
    let mut victim = Victim::new(64, &SocketOptions::default());
    let mut honest = Peer::at(0xff_fffe);
    let synack = |victim: &mut Victim, peer: &Peer| {
        let answers = victim.answers();
        let ours = answers.iter().find(|answer| answer.to == peer.address);
        ours.expect("a SYN-ACK").header
    };
    for number in 0..10_000 {
        victim.arrives(&Peer::at(number).syn());
        victim.now += Duration::from_micros(10);
        if number % 100 == 0 {
            victim.answers();
        }
        assert!(victim.core.connections() <= 64);
    }
    victim.answers();
    // A client far away, with all options.
    let mut options = Options {
        mss: Some(1400),
        window_scale: Some(9),
        sack_permitted: true,
        ..Options::default()
    };
    options.timestamps = Some(Timestamps { value: 7, echo: 0 });
    victim.arrives(&honest.packet_with(honest.seq, Flags::SYN, b"", options));
    let answer = synack(&mut victim, &honest);
    assert!(answer.options.sack_permitted && answer.options.window_scale.is_some());
    let ours = answer.options.timestamps.expect("both have them");
    for number in 10_000..20_000 {
        victim.arrives(&Peer::at(number).syn());
        victim.now += Duration::from_micros(3000);
        if number % 100 == 0 {
            victim.answers();
        }
    }
    let before = victim.core.connections();
    honest.seq = honest.seq.wrapping_add(1);
    honest.ack = answer.seq.wrapping_add(1);
    let options = Options {
        timestamps: Some(Timestamps {
            value: 8,
            echo: ours.value,
        }),
        ..Options::default()
    };
    victim.arrives(&honest.packet_with(honest.seq, Flags::ACK, b"", options));
    assert_eq!(victim.core.connections(), before + 1);
    let key = victim.accept().expect("the honest one came through");
    let info = victim.core.info(victim.now, key);
    assert!(info.agreement.window_scaling && info.agreement.timestamps && info.agreement.sack);
    assert_eq!((info.window_shifts.0, info.mss), (9, 1300 - 12));
    assert_eq!(info.peer_window, 60_000 << 9);
    assert_eq!(info.srtt, None, "the timestamp held options");
    victim.answers();
    let text = honest.packet_with(honest.seq, Flags::ACK.with(Flags::PSH), b"hello", options);
    victim.arrives(&text);
    assert_eq!(victim.read(key), b"hello");
    assert!(victim.core.counters().cookies_sent > 15_000);
}

/// A peer without timestamps gets a connection without the options that have no room in a cookie;
/// its first data may come with the cookie.
#[test]
fn a_cookie_without_timestamps_has_an_mss_only() {
    let mut victim = Victim::new(1, &SocketOptions::default());
    victim.arrives(&Peer::at(1).syn());
    victim.answers();
    let mut peer = Peer::at(2);
    let options = Options {
        mss: Some(1460),
        window_scale: Some(9),
        sack_permitted: true,
        ..Options::default()
    };
    victim.arrives(&peer.packet_with(peer.seq, Flags::SYN, b"", options));
    let answer = victim.answers()[0].header;
    assert_eq!(
        (answer.options.window_scale, answer.options.sack_permitted),
        (None, false)
    );
    peer.seq = peer.seq.wrapping_add(1);
    peer.ack = answer.seq.wrapping_add(1);
    victim.arrives(&peer.packet(peer.seq, Flags::ACK.with(Flags::PSH), b"GET"));
    let key = victim.accept().expect("it came through");
    assert_eq!(victim.read(key), b"GET");
    let info = victim.core.info(victim.now, key);
    assert_eq!(
        (info.mss, info.peer_window, info.agreement.sack),
        (1460, 60_000, false)
    );
}

/// A listener without timestamps takes no options from an echo that it never sent.
#[test]
fn a_cookie_of_a_listener_without_timestamps_believes_no_echo() {
    let options = with_extensions(|extensions| extensions.timestamps = false);
    let mut victim = Victim::new(1, &options);
    victim.arrives(&Peer::at(1).syn());
    victim.answers();
    let mut peer = Peer::at(2);
    victim.arrives(&peer.syn());
    let answer = victim.answers()[0].header;
    peer.seq = peer.seq.wrapping_add(1);
    peer.ack = answer.seq.wrapping_add(1);
    let echoes = Options {
        timestamps: Some(Timestamps { value: 8, echo: 0 }),
        ..Options::default()
    };
    victim.arrives(&peer.packet_with(peer.seq, Flags::ACK, b"", echoes));
    let key = victim.accept().expect("it came through");
    let info = victim.core.info(victim.now, key);
    let agreed = info.agreement;
    assert!(!agreed.window_scaling && !agreed.timestamps && !agreed.sack);
    assert_eq!(info.peer_window, 60_000);
}

/// Forged ACKs, old cookies and cookies of other connections open nothing; they draw a RST.
#[test]
fn forged_and_old_cookies_are_refused() {
    let mut victim = Victim::new(1, &SocketOptions::default());
    victim.arrives(&Peer::at(1).syn());
    victim.answers();
    let mut peer = Peer::at(2);
    victim.arrives(&peer.syn());
    let answer = victim.answers()[0].header;
    let connections = victim.core.connections();
    let mut dice = Dice(4);
    for _ in 0..50_000 {
        let mut forged = Peer::at((dice.roll() % 1000) as u32 + 10);
        (forged.seq, forged.ack) = (dice.roll() as u32, dice.roll() as u32);
        victim.arrives(&forged.packet(forged.seq, Flags::ACK, b""));
        victim.answers();
    }
    assert_eq!(victim.core.connections(), connections);
    assert_eq!(victim.core.counters().cookies_refused, 50_000);
    peer.seq = peer.seq.wrapping_add(1);
    peer.ack = answer.seq.wrapping_add(1);
    let mut thief = Peer::at(3);
    (thief.seq, thief.ack) = (peer.seq, peer.ack);
    victim.arrives(&thief.packet(thief.seq, Flags::ACK, b""));
    assert!(victim.answers()[0].header.flags.has(Flags::RST));
    // Others keep the listener sending cookies until this one is too old.
    for _ in 0..3 {
        victim.now += Duration::from_secs(60);
        victim.arrives(&Peer::at(9).syn());
        victim.answers();
    }
    victim.arrives(&peer.packet(peer.seq, Flags::ACK, b""));
    assert!(victim.answers()[0].header.flags.has(Flags::RST));
    // The cookie names its period in eight bits, which come again after 256 periods.
    victim.now += Duration::from_secs(64 * 256 - 3 * 60);
    for client in [8, 9] {
        victim.arrives(&Peer::at(client).syn());
    }
    victim.answers();
    victim.arrives(&peer.packet(peer.seq, Flags::ACK, b""));
    assert!(victim.answers()[0].header.flags.has(Flags::RST));
    assert!(victim.accept().is_none());
}

#[test]
fn whoever_does_not_accept_gets_no_more_than_the_backlog() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    for number in 1..100 {
        let mut peer = Peer::at(number);
        victim.arrives(&peer.syn());
        if victim.core.has_packets() {
            peer.complete(&mut victim);
        }
    }
    assert_eq!(victim.core.connections(), 8);
    assert_eq!(victim.core.counters().no_room, 91);
    assert_eq!((0..99).filter(|_| victim.accept().is_some()).count(), 8);
}

#[test]
fn data_and_resets_outside_the_window_do_nothing() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    let mut honest = Peer::at(1);
    let key = honest.connect(&mut victim);
    let mut dice = Dice(1);
    let (mut answers, mut data) = (0, 0);
    for _ in 0..50_000 {
        // Any sequence number but the right one, which a blind attacker does not know.
        let beyond = 1 + dice.roll() as u32 % (u32::MAX - 1);
        let seq = honest.seq.wrapping_add(beyond);
        let flags = [
            Flags::RST,
            Flags::SYN,
            Flags::ACK,
            Flags::RST.with(Flags::ACK),
        ];
        let flags = flags[dice.roll() as usize % flags.len()];
        // Data that falls into the window by chance cannot be told from the peer's, so none is sent
        // there.
        let most = if beyond > 100_000 { 4 } else { 1 };
        let payload = &[9; 3][..dice.roll() as usize % most];
        if flags == Flags::ACK && !payload.is_empty() {
            data += 1;
        }
        victim.arrives(&honest.packet(seq, flags, payload));
        victim.now += Duration::from_micros(10);
        answers += victim.answers().len();
    }
    assert_eq!(victim.core.state(key), State::Established);
    // Data is acknowledged wherever it lies (RFC 9293, section 3.10.7.4, first check). Of the rest,
    // ten are challenged (RFC 5961, section 7), and a bare ACK is answered twice a second.
    assert!(
        answers <= data + 12,
        "{answers} answers, {data} segments with data"
    );
    // None of it is kept in memory, and the connection goes on.
    assert_eq!(victim.core.allocated(), 0);
    honest.talks(&mut victim, key, b"untouched");
    let mut fresh = Peer::at(2);
    let key = fresh.connect(&mut victim);
    fresh.talks(&mut victim, key, b"honest");
}

#[test]
fn a_storm_of_acks_is_not_answered_in_kind() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    let mut peer = Peer::at(1);
    let key = peer.connect(&mut victim);
    victim.write(key, &[1; 30_000]);
    victim.core.flush(victim.now, key);
    let sent = victim.answers().len();
    let mut dice = Dice(2);
    let mut answers = 0;
    for _ in 0..100_000 {
        let storm = Peer {
            // Old ACKs, repeated ones, and ACKs of octets never sent.
            ack: peer
                .ack
                .wrapping_add(dice.roll() as u32 % 100_000)
                .wrapping_sub(50_000),
            window: dice.roll() as u16,
            ..Peer::at(1)
        };
        let beside = dice.roll() as u32 % 3;
        victim.arrives(&storm.packet(peer.seq.wrapping_sub(beside), Flags::ACK, b""));
        victim.now += Duration::from_micros(1);
        answers += victim.answers().len();
    }
    // All that was written may have left, some of it twice, in pieces cut by the windows.
    assert!(answers < 100 + sent, "{answers} answers to 100000 ACKs");
    assert_eq!(victim.core.state(key), State::Established);
    peer.talks(&mut victim, key, b"after the storm");
}

#[test]
fn segments_that_overlap_change_nothing_that_is_there() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    let mut dice = Dice(3);
    for number in 1..200 {
        let mut peer = Peer::at(number);
        let key = peer.connect(&mut victim);
        let honest: Vec<u8> = (0..5000).map(|at| at as u8).collect();
        let mut there = vec![false; honest.len()];
        // Pieces arrive in any order; octets that come again have changed.
        while there.contains(&false) {
            let start = dice.roll() as usize % honest.len();
            let len = (1 + dice.roll() as usize % 900).min(honest.len() - start);
            let piece = start..start + len;
            let changed: Vec<u8> = piece
                .clone()
                .map(|at| if there[at] { !honest[at] } else { honest[at] })
                .collect();
            let seq = peer.seq.wrapping_add(start as u32);
            let before = victim.core.connections();
            victim.arrives(&peer.packet(seq, Flags::ACK, &changed));
            assert_eq!(victim.core.connections(), before);
            there[piece].fill(true);
            victim.answers();
        }
        assert_eq!(victim.read(key), honest);
        victim.core.abort(key);
        victim.core.release(victim.now, key);
        victim.answers();
    }
    assert_eq!(victim.core.connections(), 0);
}

#[test]
fn a_refused_segment_changes_nothing_that_is_there() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    let mut peer = Peer::at(1);
    let key = peer.connect(&mut victim);
    let ahead = peer.seq.wrapping_add(3);
    victim.arrives(&peer.packet(ahead, Flags::ACK, b"def"));
    // The ACK number covers octets that were never sent.
    let forged = Peer {
        ack: peer.ack.wrapping_add(1_000_000),
        ..Peer::at(1)
    };
    victim.arrives(&forged.packet(ahead, Flags::ACK, b"XYZ"));
    victim.arrives(&forged.packet(peer.seq, Flags::ACK, b"XYZ"));
    victim.arrives(&peer.packet(peer.seq, Flags::ACK, b"abc"));
    assert_eq!(victim.read(key), b"abcdef");
}

#[test]
fn a_hole_in_every_other_octet_keeps_memory_bounded() {
    let options = SocketOptions {
        receive_buffer: 16 * 1024,
        ..SocketOptions::default()
    };
    let mut victim = Victim::new(8, &options);
    let mut peer = Peer::at(1);
    let key = peer.connect(&mut victim);
    for at in (2..60_000_u32).step_by(2) {
        victim.arrives(&peer.packet(peer.seq.wrapping_add(at), Flags::ACK, b"x"));
        victim.answers();
    }
    assert!(victim.core.allocated() <= 16 * 1024);
    // The third octet had already arrived.
    peer.talks(&mut victim, key, b"abx");
}

#[test]
fn options_of_any_kind_do_no_harm() {
    let mut victim = Victim::new(64, &SocketOptions::default());
    let mut dice = Dice(4);
    let mut honest = Peer::at(0xff_0000);
    let key = honest.connect(&mut victim);
    for number in 0..50_000 {
        let peer = Peer::at(number);
        // Options with room for forty octets, filled at random below.
        let four = Options {
            mss: Some(1),
            ..Options::default()
        };
        let mut packet = match number % 3 {
            0 => peer.packet_with(peer.seq, Flags::SYN, b"", four),
            _ => honest.packet_with(honest.seq, Flags::ACK, b"", four),
        };
        let words = 1 + dice.roll() as usize % 10;
        packet.truncate(40);
        for _ in 0..words {
            packet.extend_from_slice(&(dice.roll() as u32).to_be_bytes());
        }
        // Half of them begin with a known kind.
        if dice.roll().is_multiple_of(2) {
            packet[40] = [2, 3, 4, 5, 8][dice.roll() as usize % 5];
        }
        packet[32] = ((5 + words as u8) << 4) | (packet[32] & 0x0f);
        repair(&mut packet);
        victim.arrives(&packet);
        victim.now += Duration::from_micros(100);
        victim.answers();
        assert!(victim.core.connections() <= 66);
    }
    assert_eq!(victim.core.state(key), State::Established);
    honest.talks(&mut victim, key, b"nothing happened");
}

/// Sets correct lengths and checksums.
fn repair(packet: &mut [u8]) {
    let len = packet.len() as u16;
    packet[2..4].copy_from_slice(&len.to_be_bytes());
    packet[10..12].fill(0);
    let sum = Sum::default().with(&packet[..20]).checksum();
    packet[10..12].copy_from_slice(&sum);
    packet[36..38].fill(0);
    let sum = Sum::default()
        .with(&packet[12..20])
        .with_u16(6)
        .with_u16(len - 20)
        .with(&packet[20..])
        .checksum();
    packet[36..38].copy_from_slice(&sum);
}

#[test]
fn a_window_that_shrinks_and_one_of_one_octet() {
    let options = SocketOptions {
        send_buffer: 20_000,
        ..SocketOptions::default()
    };
    let mut victim = Victim::new(8, &options);
    let mut peer = Peer::at(1);
    let key = peer.connect(&mut victim);
    let octets: Vec<u8> = (0..100_000_u32).map(|at| (at / 7) as u8).collect();
    let (mut written, mut came) = (0, Vec::new());
    let mut dice = Dice(5);
    let mut steps = 0;
    while came.len() < octets.len() {
        written += victim.write(key, &octets[written..]);
        assert!(victim.core.allocated() <= 32_768);
        for answer in victim.answers() {
            // The peer takes segments in order only; others are lost.
            if answer.header.seq == peer.ack && !answer.payload.is_empty() {
                peer.ack = peer.ack.wrapping_add(answer.payload.len() as u32);
                came.extend_from_slice(&answer.payload);
            }
        }
        // Less than was promised, or hardly anything.
        peer.window = match dice.roll() % 4 {
            0 => 0,
            1 => 1,
            2 => dice.roll() as u16 % 600,
            _ => 5000,
        };
        victim.arrives(&peer.packet(peer.seq, Flags::ACK, b""));
        victim.wait(Duration::from_millis(300));
        steps += 1;
        assert!(steps < 20_000, "{} of {} came", came.len(), octets.len());
    }
    assert_eq!(came, octets);
    peer.window = 60_000;
    peer.talks(&mut victim, key, b"as before");
}

/// A peer that requests much data, closes its window and answers every probe, forever.
#[test]
fn a_closed_window_does_not_keep_what_nobody_owns() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    let mut peer = Peer::at(1);
    let key = peer.connect(&mut victim);
    victim.write(key, &[1; 100_000]);
    victim.core.flush(victim.now, key);
    victim.core.release(victim.now, key);
    let sent = victim
        .answers()
        .iter()
        .map(|a| a.payload.len())
        .sum::<usize>();
    peer.ack = peer.ack.wrapping_add(sent as u32);
    peer.window = 0;
    for _ in 0..3600 {
        victim.arrives(&peer.packet(peer.seq, Flags::ACK, b""));
        victim.wait(Duration::from_secs(1));
        victim.answers();
    }
    assert_eq!((victim.core.connections(), victim.core.allocated()), (0, 0));
}

#[test]
fn strangers_get_a_reset_and_nothing_more() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    let mut dice = Dice(6);
    for number in 0..20_000 {
        let mut peer = Peer::at(number);
        peer.ack = dice.roll() as u32;
        let flags = Flags::from_bits(dice.roll() as u8).without(Flags::SYN);
        victim.arrives(&peer.packet(dice.roll() as u32, flags, b"?"));
        let answers = victim.answers();
        // At a listener only an ACK is answered (RFC 9293, section 3.10.7.2).
        let due = flags.has(Flags::ACK) && !flags.has(Flags::RST);
        assert_eq!(answers.len(), usize::from(due));
        assert!(
            answers
                .iter()
                .all(|answer| answer.header.flags.has(Flags::RST))
        );
    }
    // While nobody sends them, the queued answers take bounded space.
    for number in 0..20_000 {
        victim.arrives(&Peer::at(number).packet(1, Flags::ACK, b""));
    }
    assert!(victim.answers().len() <= 4096);
    assert_eq!(victim.core.connections(), 0);
}

/// Every delayed ACK moves the alarm forward, and the keepalive's, hours later, moves it back.
#[test]
fn alarms_that_mean_nothing_any_more_are_forgotten() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    let mut peer = Peer::at(1);
    let key = peer.connect(&mut victim);
    victim
        .core
        .set_keepalive(victim.now, key, Some(Keepalive::LINUX));
    for _ in 0..20_000 {
        peer.talks(&mut victim, key, b"x");
        assert!(victim.core.alarms() <= 100, "{}", victim.core.alarms());
    }
    // The keepalive is still set, and gives up a silent peer.
    victim.wait(Duration::from_secs(7200 + 10 * 75));
    assert_eq!(victim.core.state(key), State::Closed);
}

/// A client that soon reuses a port is recognised by its timestamp if its sequence number does not
/// tell (RFC 6191, section 2).
#[test]
fn a_port_used_again_is_known_by_its_clock() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    let mut peer = Peer::at(1);
    let first = peer.seq;
    let at = |value| Options {
        mss: Some(1460),
        timestamps: Some(Timestamps { value, echo: 0 }),
        ..Options::default()
    };
    let plain = |value| Options {
        mss: None,
        ..at(value)
    };
    let opens = Peer { ack: 0, ..peer };
    victim.arrives(&opens.packet_with(first, Flags::SYN, b"", at(1000)));
    let synack = victim.answers()[0].header;
    peer.seq = first.wrapping_add(1);
    peer.ack = synack.seq.wrapping_add(1);
    victim.arrives(&peer.packet_with(peer.seq, Flags::ACK, b"", plain(1001)));
    let key = victim.accept().expect("a connection");
    victim.arrives(&peer.packet_with(peer.seq, Flags::ACK, &[1; 1000], plain(1002)));
    assert_eq!(victim.read(key), [1; 1000]);
    peer.seq = peer.seq.wrapping_add(1000);
    victim.core.release(victim.now, key);
    victim.answers();
    peer.ack = peer.ack.wrapping_add(1);
    let fin = Flags::FIN.with(Flags::ACK);
    victim.arrives(&peer.packet_with(peer.seq, fin, b"", plain(1003)));
    victim.answers();
    assert_eq!(victim.core.connections(), 1, "TIME-WAIT");
    // The number lies within what was sent before: with an older timestamp, then with a newer one.
    for (value, opened) in [(900, false), (1100, true)] {
        let seq = first.wrapping_add(500);
        let opens = Peer { ack: 0, ..peer };
        victim.arrives(&opens.packet_with(seq, Flags::SYN, b"", at(value)));
        let answers = victim.answers();
        let flags = answers.last().expect("an answer").header.flags;
        assert_eq!(flags.has(Flags::SYN), opened, "{value}");
    }
}

#[test]
fn segments_of_any_kind_at_a_connection() {
    let options = SocketOptions {
        send_buffer: 8192,
        receive_buffer: 8192,
        ..SocketOptions::default()
    };
    let mut victim = Victim::new(8, &options);
    let mut dice = Dice(7);
    for number in 0..2000 {
        let mut peer = Peer::at(number);
        let key = peer.connect(&mut victim);
        for _ in 0..30 {
            let near = |dice: &mut Dice| (dice.roll() as u32 % 20_000).wrapping_sub(4000);
            let seq = peer.seq.wrapping_add(near(&mut dice));
            let any = Peer {
                ack: peer.ack.wrapping_add(near(&mut dice)),
                window: dice.roll() as u16,
                ..Peer::at(number)
            };
            let flags = Flags::from_bits(dice.roll() as u8)
                .with_if(!dice.roll().is_multiple_of(8), Flags::ACK);
            let payload = vec![1; dice.roll() as usize % 1460];
            victim.arrives(&any.packet(seq, flags, &payload));
            match dice.roll() % 6 {
                0 => drop(victim.read(key)),
                1 => {
                    let piece = [IoSlice::new(&payload)];
                    let now = victim.now;
                    let written = victim.core.poll_write(now, key, &piece, false, &waits());
                    if let Poll::Ready(Err(error)) = written {
                        let kinds = [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset];
                        assert!(kinds.contains(&error.kind()), "{error}");
                    }
                }
                2 => victim.wait(Duration::from_millis(dice.roll() % 2000)),
                3 if dice.roll().is_multiple_of(5) => victim.core.shutdown(victim.now, key),
                _ => {}
            }
            victim.answers();
            assert!(victim.core.allocated() <= 2 * 8192);
        }
        victim.core.abort(key);
        victim.core.release(victim.now, key);
        victim.answers();
        assert_eq!(victim.core.connections(), 0);
    }
}

/// Cuts an IPv4 packet in two behind `len` octets of its payload.
fn in_two(packet: &[u8], id: u16, len: usize) -> [Vec<u8>; 2] {
    [(0, len, true), (len, packet.len() - 20, false)].map(|(start, end, more)| {
        let mut fragment = packet[..20].to_vec();
        fragment.extend_from_slice(&packet[20 + start..20 + end]);
        let total = (20 + end - start) as u16;
        let place = (start / 8) as u16 | u16::from(more) << 13;
        fragment[2..4].copy_from_slice(&total.to_be_bytes());
        fragment[4..6].copy_from_slice(&id.to_be_bytes());
        fragment[6..8].copy_from_slice(&place.to_be_bytes());
        fragment[10..12].fill(0);
        let sum = Sum::default().with(&fragment[..20]).checksum();
        fragment[10..12].copy_from_slice(&sum);
        fragment
    })
}

/// Fragments that never become packets take bounded memory for bounded time, and packets that are
/// cut on their way still arrive, in any order.
#[test]
fn fragments_that_lack_others_do_no_harm() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    let mut peer = Peer::at(0xff_fffe);
    let key = peer.connect(&mut victim);
    let payload = [7; 1400];
    for number in 0..20_000 {
        let stranger = Peer::at(number);
        let packet = stranger.packet(1, Flags::ACK, &payload);
        let [first, second] = in_two(&packet, number as u16, 800);
        victim.arrives(if number % 2 == 0 { &first } else { &second });
        assert!(victim.core.held_in_fragments() <= 4 << 20);
        if number % 1000 == 0 {
            let data = [number.to_be_bytes(); 300].concat();
            let flags = Flags::ACK.with(Flags::PSH);
            let [first, second] = in_two(&peer.packet(peer.seq, flags, &data), 9, 640);
            let order = if number % 2000 == 0 {
                [&first, &second]
            } else {
                [&second, &first]
            };
            order.into_iter().for_each(|one| victim.arrives(one));
            peer.seq = peer.seq.wrapping_add(data.len() as u32);
            assert_eq!(victim.read(key), data);
        }
    }
    assert_eq!(victim.core.counters().reassembled, 20);
    victim.wait(Duration::from_secs(31));
    // One more fragment, and the late ones are forgotten.
    victim.arrives(&in_two(&peer.packet(1, Flags::ACK, &payload), 1, 800)[0]);
    assert!(victim.core.held_in_fragments() < 2000);
    victim.core.set_reassembly(false);
    assert_eq!(victim.core.held_in_fragments(), 0);
    let refused = victim.core.counters().refused;
    victim.arrives(&in_two(&peer.packet(1, Flags::ACK, &payload), 1, 800)[0]);
    assert_eq!(victim.core.counters().refused, refused + 1);
}

/// Returns the packets that leave, whatever they are.
fn packets(victim: &mut Victim) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    while victim.core.has_packets() {
        victim.core.fill(&mut victim.batch);
        victim.batch.drain(0, |octets, _| all.push(octets.to_vec()));
    }
    all
}

/// The sender of a packet whose first fragment has come is told when the time for the rest is over
/// (RFC 1122, section 3.3.2).
#[test]
fn senders_learn_that_the_rest_did_not_come_in_time() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    let [first, _] = in_two(&echo_request(1000), 1, 800);
    let fragments = |id| in_two(&echo_request(1000), id, 800);
    let told_after = |victim: &mut Victim, secs| {
        victim.wait(Duration::from_secs(secs));
        packets(victim)
    };
    victim.arrives(&first);
    assert_eq!(told_after(&mut victim, 29), [] as [Vec<u8>; 0]);
    let told = told_after(&mut victim, 1);
    assert_eq!(told.len(), 1);
    let (header, message) = told[0].split_at(20);
    assert_eq!(
        (header[9], &header[12..]),
        (1, &[10, 0, 0, 1, 10, 0, 0, 2][..])
    );
    assert_eq!(message[..2], [11, 1], "time exceeded in reassembly");
    assert!(Sum::default().with(header).is_right() && Sum::default().with(message).is_right());
    assert_eq!(message[8..], first[..548], "576 octets in all");
    // Not if the first fragment is missing or all came.
    victim.arrives(&fragments(2)[1]);
    fragments(3).iter().for_each(|one| victim.arrives(one));
    assert_eq!(packets(&mut victim).len(), 1, "the reply");
    assert_eq!(told_after(&mut victim, 31).len(), 0);
    // Nor if the packet is an error itself, or of nobody.
    for (at, octet) in [(20, 3), (12, 224), (12, 0)] {
        let [mut first, _] = fragments(4);
        first[at] = octet;
        first[10..12].fill(0);
        let sum = Sum::default().with(&first[..20]).checksum();
        first[10..12].copy_from_slice(&sum);
        victim.arrives(&first);
        assert_eq!(told_after(&mut victim, 31).len(), 0, "{octet} at {at}");
    }
    // At most fifty at once, and a thousand in a second.
    for (count, most) in [(2000_u16, 50), (40, 40)] {
        (0..count).for_each(|id| victim.arrives(&fragments(id)[0]));
        assert_eq!(told_after(&mut victim, 31).len(), most);
    }
    assert_eq!(victim.core.counters().time_exceeded, 91);
}

/// The same for IPv6 (RFC 8200, section 4.5): the quoted fragment is as long as it can be.
#[test]
fn senders_of_ipv6_learn_it_too() {
    let ours: std::net::Ipv6Addr = "fd00::1".parse().unwrap();
    let theirs: std::net::Ipv6Addr = "fd00::2".parse().unwrap();
    let mut victim = Victim::new(8, &SocketOptions::default());
    victim.core.add_address(ours.into());
    // An echo request and an error of ICMPv6.
    for (kind, told) in [(128, 1), (1, 0)] {
        let mut first = vec![0x60, 0, 0, 0, 5, 112, 44, 64];
        first.extend(theirs.octets());
        first.extend(ours.octets());
        first.extend([58, 0, 0, 1, 0, 0, 0, 7]);
        first.extend([kind; 1384]);
        victim.arrives(&first);
        victim.wait(Duration::from_secs(61));
        let left = packets(&mut victim);
        assert_eq!(left.len(), told);
        for error in left {
            assert_eq!(
                (error.len(), error[6], &error[40..42]),
                (1280, 58, &[3, 1][..])
            );
            assert_eq!(error[8..24], ours.octets());
            assert_eq!(error[24..40], theirs.octets());
            assert_eq!(error[48..], first[..1232]);
            let sum = Sum::default()
                .with(&error[8..40])
                .with_u16(1240)
                .with_u16(58);
            assert!(sum.with(&error[40..]).is_right());
        }
    }
}

/// An echo request of the peer's with so many octets of data.
fn echo_request(len: usize) -> Vec<u8> {
    let total = (28 + len) as u16;
    let [high, low] = total.to_be_bytes();
    let mut packet = vec![0x45, 0, high, low, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 2];
    packet.extend([10, 0, 0, 1]);
    let sum = Sum::default().with(&packet).checksum();
    packet[10..12].copy_from_slice(&sum);
    let mut message = vec![8, 0, 0, 0, 0, 1, 0, 1];
    message.extend((0..len).map(|at| at as u8));
    let sum = Sum::default().with(&message).checksum();
    message[2..4].copy_from_slice(&sum);
    packet.extend(message);
    packet
}

/// Echo replies fit into the device's packets, and those that wait take bounded memory.
#[test]
fn echo_replies_are_small_and_not_too_many() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    for (len, answered) in [(1472, 1), (1473, 0), (40_000, 0)] {
        let [first, second] = in_two(&echo_request(len), 3, 800);
        victim.arrives(&first);
        victim.arrives(&second);
        let octets = take(&mut victim);
        assert_eq!(octets, answered * (28 + len), "{len}");
    }
    assert_eq!(victim.core.counters().echoes, 1);
    // Nobody sends what is queued; then the queue is as before.
    const FIT: usize = (1 << 20) / 1428;
    for round in 1..=2 {
        for _ in 0..4000 {
            victim.arrives(&echo_request(1400));
        }
        let counted = victim.core.counters().echoes;
        assert_eq!(counted as usize, 1 + round * FIT, "what was queued");
        assert_eq!(take(&mut victim), FIT * 1428);
    }
    // What has left makes room, although the queue is never empty.
    for _ in 0..4000 {
        victim.arrives(&echo_request(1400));
    }
    victim.core.fill(&mut victim.batch);
    let mut left = 0;
    victim.batch.drain(0, |_, _| left += 1);
    assert!((1..FIT).contains(&left));
    for _ in 0..4000 {
        victim.arrives(&echo_request(1400));
    }
    assert_eq!(take(&mut victim), FIT * 1428);

    /// Returns how many octets leave.
    fn take(victim: &mut Victim) -> usize {
        let mut all = 0;
        while victim.core.has_packets() {
            victim.core.fill(&mut victim.batch);
            victim.batch.drain(0, |octets, _| all += octets.len());
        }
        all
    }
}

/// Answers that nobody sends are not queued without end, and only those that are queued count.
#[test]
fn resets_that_find_no_room_do_not_count() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    for number in 0..5000 {
        victim.arrives(&Peer::at(number).packet(1, Flags::ACK, b""));
    }
    let counted = victim.core.counters().resets;
    assert_eq!(counted, 4096);
    assert_eq!(victim.answers().len() as u64, counted);
}

/// A packet whose fragment headers follow each other is refused at the second one.
#[test]
fn fragments_of_fragments_are_refused() {
    let ours: std::net::Ipv6Addr = "fd00::1".parse().unwrap();
    let mut victim = Victim::new(8, &SocketOptions::default());
    victim.core.add_address(ours.into());
    const HEADERS: u16 = 8000;
    let [high, low] = (8 * HEADERS).to_be_bytes();
    let mut packet = vec![0x60, 0, 0, 0, high, low, 44, 64];
    packet.extend("fd00::2".parse::<std::net::Ipv6Addr>().unwrap().octets());
    packet.extend(ours.octets());
    packet.extend([44, 0, 0, 0, 0, 0, 0, 1].repeat(HEADERS.into()));
    victim.arrives(&packet);
    let counters = victim.core.counters();
    assert_eq!((counters.reassembled, counters.refused), (1, 1));
}
