//! Urgent data (RFC 9293, section 3.8.5; RFC 6093), out of line as on Linux and in line.

use std::io::{ErrorKind, IoSlice};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tinygram_engine::Flags;
use tinygram_engine::options::Timestamps;
use tinygram_engine::profile::Profile;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_tcp::{Batch, SocketOptions};
use tinygram_wire::encode::{Checksum, Path};
use tinygram_wire::packet::{self, Header};

use super::options::Bell;
use super::{IRS, OURS, PEER, World, header, nobody, syn};

/// The options of a socket on Linux.
pub(super) fn linux() -> SocketOptions {
    SocketOptions {
        profile: &Profile::LINUX_6,
        ..SocketOptions::default()
    }
}

impl World {
    /// Sends data of which `pointer` octets are urgent, the last of them the urgent octet.
    fn urgent(&mut self, seq: u32, pointer: u16, payload: &[u8]) {
        let flags = Flags::ACK.with(Flags::PSH);
        let header = header(IRS.wrapping_add(seq), self.iss.wrapping_add(1), flags);
        self.urgent_with(&header, pointer, payload);
    }

    /// The same, with this header.
    fn urgent_with(&mut self, header: &Header, pointer: u16, payload: &[u8]) {
        let path = Path::new(PEER, OURS).unwrap();
        let mut packet = vec![0; path.headers_len(&header.options)];
        packet.extend_from_slice(payload);
        path.write_headers(header, Checksum::Full, &mut packet);
        path.mark_urgent(pointer, Checksum::Full, &mut packet);
        self.arrives(&packet);
    }

    /// Reads what can be read, or `None`.
    fn read(&mut self) -> Option<Vec<u8>> {
        let mut octets = Vec::new();
        let took = self.core.read_now(self.now, self.key(), 100, |piece| {
            octets.extend_from_slice(piece);
        });
        took.map(|took| {
            took.unwrap();
            octets
        })
    }

    fn readable(&self) -> bool {
        self.core.readiness(self.key()).readable
    }
}

/// Reads stop at the mark; the octet there is read apart, and the stream goes on without it.
#[test]
fn the_urgent_octet_is_taken_out_of_the_stream() {
    let mut world = World::accepted_with(syn(1460), &linux());
    assert_eq!(
        world
            .core
            .read_urgent(world.key(), false)
            .unwrap_err()
            .kind(),
        ErrorKind::InvalidInput
    );
    world.urgent(1, 4, b"abc!def");
    let ready = world.core.readiness(world.key());
    assert!(ready.priority && ready.readable);
    assert!(!world.core.is_at_mark(world.key()));
    assert_eq!(world.core.info(world.now, world.key()).readable, 3);
    assert_eq!(world.read().unwrap(), b"abc");
    assert!(world.core.is_at_mark(world.key()));
    assert_eq!(
        world.core.read_urgent(world.key(), true).unwrap(),
        Some(b'!')
    );
    assert_eq!(
        world.core.read_urgent(world.key(), false).unwrap(),
        Some(b'!')
    );
    assert!(!world.core.readiness(world.key()).priority);
    assert!(
        world.core.read_urgent(world.key(), false).is_err(),
        "only once"
    );
    let there: Vec<&[u8]> = world.core.peek(world.key(), 100).collect();
    assert_eq!(there.concat(), b"def");
    assert_eq!(world.read().unwrap(), b"def");
    assert!(!world.core.is_at_mark(world.key()));
    assert_eq!(world.read(), None);
}

/// With SO_OOBINLINE it stays in the stream; the mark is there all the same. This is what `modern`
/// does unasked.
#[test]
fn in_line_the_stream_is_whole() {
    for options in [linux(), SocketOptions::default()] {
        let mut world = World::accepted_with(syn(1460), &options);
        world.core.set_urgent_inline(world.key(), true);
        world.urgent(1, 4, b"abc!def");
        assert_eq!(world.read().unwrap(), b"abc");
        assert!(world.core.is_at_mark(world.key()));
        assert!(world.core.read_urgent(world.key(), false).is_err());
        assert_eq!(world.read().unwrap(), b"!def");
    }
    let mut world = World::accepted(syn(1460));
    world.urgent(1, 4, b"abc!def");
    assert_eq!(world.read().unwrap(), b"abc");
    assert_eq!(world.read().unwrap(), b"!def");
}

/// The pointer may come before its octet. An urgent octet alone is nothing to read.
#[test]
fn the_pointer_runs_ahead_of_its_octet() {
    let mut world = World::accepted_with(syn(1460), &linux());
    world.urgent(1, 4, b"ab");
    assert!(!world.core.readiness(world.key()).priority);
    assert_eq!(world.core.read_urgent(world.key(), false).unwrap(), None);
    assert_eq!(world.read().unwrap(), b"ab");
    world.segment(3, 1, Flags::ACK, b"c");
    assert_eq!(world.read().unwrap(), b"c");
    assert!(world.core.is_at_mark(world.key()));
    world.segment(4, 1, Flags::ACK, b"!");
    assert!(world.core.readiness(world.key()).priority);
    assert!(!world.readable());
    assert_eq!(world.read(), None);
    assert_eq!(
        world.core.read_urgent(world.key(), false).unwrap(),
        Some(b'!')
    );
    world.segment(5, 1, Flags::ACK.with(Flags::FIN), &[]);
    assert!(world.readable());
    assert_eq!(world.read().unwrap(), b"", "the end");
}

/// An octet that nobody read apart is lost to the reader that passes it, and a later urgent octet
/// makes an earlier one that is still ahead part of the stream, as on Linux.
#[test]
fn only_the_last_urgent_octet_counts() {
    let mut world = World::accepted_with(syn(1460), &linux());
    world.urgent(1, 2, b"a!");
    world.urgent(3, 2, b"b?");
    assert_eq!(world.read().unwrap(), b"a!b");
    world.urgent(5, 1, b"#c");
    assert_eq!(
        world.core.read_urgent(world.key(), false).unwrap(),
        Some(b'#')
    );
    assert_eq!(world.read().unwrap(), b"c", "? is passed by");
    // Neither an old pointer nor one of a segment outside of the window is news.
    world.urgent(1, 2, b"a!");
    world.urgent(1 << 30, 2, b"a!");
    assert!(world.core.read_urgent(world.key(), false).is_err());
}

/// A read that only steps over the urgent octet may send an ACK, and sends it to its own peer.
#[test]
fn what_a_step_over_the_urgent_octet_sends_is_its_own() {
    let mut world = World::accepted_with(syn(1460), &linux());
    world.handshake_from(4001);
    let listener = world.listener();
    let Poll::Ready(Ok(other)) = world.core.poll_accept(listener, 2, &nobody()) else {
        panic!("a second connection waits");
    };
    world.core.set_quick_ack(world.now, world.key(), false);
    world.segment(1, 1, Flags::ACK.with(Flags::PSH), b"a");
    world.urgent(2, 1, b"!");
    assert_eq!(world.read().unwrap(), b"a");
    let at_once = world.segment(3, 1, Flags::ACK.with(Flags::FIN), &[]);
    assert!(at_once.is_empty(), "the ACK is delayed");
    assert_eq!(world.read().unwrap(), b"", "the end");
    world.core.set_nodelay(world.now, other, true);
    let (mut batch, mut ports) = (Batch::default(), Vec::new());
    world.core.fill(&mut batch);
    batch.drain(0, |octets, _| {
        let packet = packet::read(octets, packet::Verify::Checksum).unwrap();
        ports.push(packet.destination.port);
    });
    assert_eq!(ports, [4000], "the other one has nothing to say");
}

/// A read of no octets takes nothing, the urgent octet neither.
#[test]
fn an_empty_read_leaves_the_urgent_octet() {
    let mut world = World::accepted_with(syn(1460), &linux());
    world.urgent(1, 1, b"!abc");
    let none = world.core.read_now(world.now, world.key(), 0, |_| ());
    assert!(matches!(none, Some(Ok(0))));
    assert_eq!(
        world.core.read_urgent(world.key(), false).unwrap(),
        Some(b'!')
    );
}

impl World {
    /// Waits to read with this bell as the task.
    fn waits(&mut self, bell: &Arc<Bell>) {
        let waker = Waker::from(bell.clone());
        let context = Context::from_waker(&waker);
        let waits = self
            .core
            .poll_read(self.now, self.key(), 100, &context, |_| ());
        assert!(waits.is_pending());
    }
}

/// The octet wakes the reader although it is not part of the stream, in order and out of order.
#[test]
fn the_urgent_octet_wakes_the_reader() {
    let bell = Arc::new(Bell::default());
    for plain in [true, false] {
        let mut world = World::accepted_with(syn(1460), &linux());
        world.urgent(1, 4, b"abc");
        assert_eq!(world.read().unwrap(), b"abc");
        world.waits(&bell);
        bell.rang(&mut world);
        let flags = Flags::ACK.with_if(plain, Flags::PSH);
        world.segment(4, 1, flags, b"!");
        assert_eq!(bell.rang(&mut world), 1);
        assert_eq!(
            world.core.read_urgent(world.key(), false).unwrap(),
            Some(b'!')
        );
    }
    let mut world = World::accepted_with(syn(1460), &linux());
    world.urgent(1, 4, &[]);
    world.waits(&bell);
    bell.rang(&mut world);
    world.segment(3, 1, Flags::ACK, b"c!");
    assert_eq!(bell.rang(&mut world), 1);
    assert_eq!(
        world.core.read_urgent(world.key(), false).unwrap(),
        Some(b'!')
    );
}

impl World {
    /// Reads the urgent octet apart.
    fn apart(&mut self) -> Result<Option<u8>, ErrorKind> {
        let octet = self.core.read_urgent(self.key(), false);
        octet.map_err(|error| error.kind())
    }
}

/// What the engine accepts may be urgent, also if its ACK is an older one because it was overtaken.
#[test]
fn an_overtaken_segment_may_be_urgent() {
    let mut world = World::accepted_with(syn(1460), &linux());
    world.write(b"x");
    world.segment(5, 2, Flags::ACK, b"later");
    world.urgent(1, 4, b"abc!");
    assert_eq!(world.apart(), Ok(Some(b'!')));
    assert_eq!(world.read().unwrap(), b"abc");
    assert_eq!(world.read().unwrap(), b"later");
}

/// The segment that completes the handshake may be urgent, and close the stream as well.
#[test]
fn the_first_segment_may_be_urgent() {
    for last in [Flags::PSH, Flags::FIN] {
        let mut world = World::listening(&linux());
        let listener = world.listener();
        world.iss = world.exchange(syn(1460), &[])[0].0.seq;
        let header = header(IRS + 1, world.iss.wrapping_add(1), Flags::ACK.with(last));
        world.urgent_with(&header, 2, b"a!");
        let Poll::Ready(Ok(key)) = world.core.poll_accept(listener, 1, &nobody()) else {
            panic!("a connection waits");
        };
        world.connection = Some(key);
        assert_eq!(world.apart(), Ok(Some(b'!')));
        assert_eq!(world.read().unwrap(), b"a");
    }
}

/// An old duplicate (PAWS), and an ACK of what was never sent, announce nothing.
#[test]
fn what_is_not_accepted_is_not_urgent() {
    let mut first = syn(1460);
    first.options.timestamps = Some(Timestamps {
        value: 1000,
        echo: 0,
    });
    let mut world = World::accepted_with(first, &linux());
    let mut old = header(IRS + 1, world.iss.wrapping_add(1), Flags::ACK);
    old.options.timestamps = Some(Timestamps { value: 10, echo: 0 });
    world.urgent_with(&old, 2, b"a!");
    let mut ahead = header(IRS + 1, world.iss.wrapping_add(9), Flags::ACK);
    ahead.options.timestamps = first.options.timestamps;
    world.urgent_with(&ahead, 2, b"a!");
    assert_eq!(world.apart(), Err(ErrorKind::InvalidInput));
    assert!(!world.core.readiness(world.key()).readable);
    ahead.ack = world.iss.wrapping_add(1);
    world.urgent_with(&ahead, 2, b"a!");
    assert_eq!(world.apart(), Ok(Some(b'!')));
}

/// A read stops at the mark, so that nobody waits for more before it (SO_RCVLOWAT).
#[test]
fn the_low_water_mark_is_reached_at_the_mark() {
    let bell = Arc::new(Bell::default());
    let mut world = World::accepted_with(syn(1460), &linux());
    world.core.set_receive_low_water(world.key(), 10);
    world.segment(1, 1, Flags::ACK, b"ab");
    assert!(!world.readable());
    world.waits(&bell);
    world.urgent(3, 2, b"c!defghijkl");
    assert_eq!(bell.rang(&mut world), 1);
    assert!(world.readable());
    let (now, key) = (world.now, world.key());
    let read = world
        .core
        .poll_read(now, key, 100, &nobody(), |one| assert_eq!(one, b"abc"));
    assert!(matches!(read, Poll::Ready(Ok(3))));
    assert!(!world.readable(), "nine octets follow");
    world.segment(14, 1, Flags::ACK, b"m");
    assert!(world.readable());
}

/// A pointer of 0 means the first octet of its segment, as on Linux.
#[test]
fn a_pointer_of_zero_means_the_first_octet() {
    let mut world = World::accepted_with(syn(1460), &linux());
    world.urgent(1, 0, b"!abc");
    assert_eq!(world.apart(), Ok(Some(b'!')));
    assert_eq!(world.read().unwrap(), b"abc");
}

/// Whoever waits for an announced octet learns that it will not come.
#[test]
fn an_announced_octet_may_never_come() {
    let mut world = World::accepted_with(syn(1460), &linux());
    world.urgent(1, 4, b"abc");
    assert_eq!(world.apart(), Ok(None));
    world.segment(4, 1, Flags::ACK.with(Flags::FIN), &[]);
    assert_eq!(world.apart(), Err(ErrorKind::UnexpectedEof));
    assert_eq!(world.read().unwrap(), b"abc");
    assert_eq!(world.read().unwrap(), b"", "the end");
}

/// An announced octet that comes with a later announcement belongs to the stream: nobody could have
/// read it apart.
#[test]
fn an_octet_that_comes_with_a_later_mark_is_not_lost() {
    let mut world = World::accepted_with(syn(1460), &linux());
    world.urgent(1, 1, b"");
    assert_eq!(world.apart(), Ok(None));
    world.urgent(1, 2, b"!?");
    assert_eq!(world.read().unwrap(), b"!");
    assert_eq!(world.apart(), Ok(Some(b'?')));
}

/// An octet with which the peer probes a closed window is not taken, but that it is urgent counts (RFC
/// 9293, section 3.10.7.4: "special allowance should be made to accept valid ACKs, URGs, and RSTs").
#[test]
fn a_probe_of_a_closed_window_may_be_urgent() {
    let options = SocketOptions {
        receive_buffer: 1000,
        ..linux()
    };
    let mut world = World::accepted_with(syn(1460), &options);
    let answer = world.segment(1, 1, Flags::ACK.with(Flags::PSH), &[b'a'; 1000]);
    assert_eq!(answer.last().expect("an ACK").0.window, 0);
    world.urgent(1001, 1, b"!");
    assert_eq!(world.apart(), Ok(None), "announced, and not here");
    assert_eq!(world.read().unwrap(), [b'a'; 100]);
    // Beyond the window, what is urgent does not count.
    let mut world = World::accepted_with(syn(1460), &options);
    world.segment(1, 1, Flags::ACK.with(Flags::PSH), &[b'a'; 1000]);
    world.urgent(1002, 1, b"!");
    assert_eq!(world.apart(), Err(ErrorKind::InvalidInput));
}

/// Who waits for an urgent octet waits to read: a policy that gathers until then sends.
#[test]
fn a_wait_for_the_octet_releases_what_is_gathered() {
    let options = SocketOptions {
        send_policy: Some(SendPolicy::FlushOnBlockSimple),
        ..linux()
    };
    let mut world = World::accepted_with(syn(1460), &options);
    let (now, key) = (world.now, world.key());
    let pieces = [IoSlice::new(b"a question")];
    let wrote = world.core.poll_write(now, key, &pieces, false, &nobody());
    assert!(wrote.is_ready());
    assert_eq!(world.sent(), []);
    let read = world.core.poll_read_urgent(now, key, false, &nobody());
    assert!(read.is_pending());
    assert_eq!(world.sent()[0].1, b"a question");
}
