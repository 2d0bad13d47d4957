//! Urgent data that the stack sends: what is marked, and what leaves when.

use std::io::IoSlice;
use std::task::Poll;

use tinygram_engine::Flags;
use tinygram_tcp::{Abilities, Batch, Core};
use tinygram_wire::encode::{Checksum, Path};
use tinygram_wire::packet;

use super::urgent::linux;
use super::{IRS, OURS, PEER, World, header, nobody, syn};

/// What is sent as urgent passes Nagle's algorithm, and every segment up to it carries the pointer.
#[test]
fn urgent_data_is_sent_with_its_pointer() {
    let mut world = World::accepted_with(syn(1460), &linux());
    world.write(b"first");
    let wrote = world
        .core
        .poll_write_urgent(world.now, world.key(), b"now!", &nobody());
    assert!(matches!(wrote, Poll::Ready(Ok(4))));
    let (mut batch, mut pointers) = (Batch::default(), Vec::new());
    world.core.fill(&mut batch);
    batch.drain(0, |octets, _| {
        let packet = packet::read(octets, packet::Verify::Checksum).unwrap();
        pointers.push((packet.payload.to_vec(), packet.urgent));
    });
    assert_eq!(pointers, [(b"now!".to_vec(), Some(4))]);
    world.segment(1, 10, Flags::ACK, &[]);
    let (now, pieces) = (world.now, [IoSlice::new(b"later")]);
    let _ = world
        .core
        .poll_write(now, world.key(), &pieces, false, &nobody());
    world.core.on_idle(now);
    world.core.fill(&mut batch);
    let mut sent = 0;
    batch.drain(0, |octets, _| {
        let packet = packet::read(octets, packet::Verify::Checksum).unwrap();
        assert_eq!(packet.urgent, None, "the peer has it all");
        sent += packet.payload.len();
    });
    assert_eq!(sent, 5);
}

/// A packet that left: the number of its first octet, its payload's length, its urgent pointer, and
/// whether the device cuts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Left {
    seq: u32,
    len: usize,
    pointer: Option<u16>,
    cut: bool,
}

impl World {
    /// Writes as urgent, and returns how many octets were accepted.
    fn write_urgent(&mut self, octets: &[u8]) -> Poll<usize> {
        let wrote = self
            .core
            .poll_write_urgent(self.now, self.key(), octets, &nobody());
        wrote.map(Result::unwrap)
    }

    fn leaves(&mut self) -> Vec<Left> {
        let (mut batch, mut all) = (Batch::default(), Vec::new());
        let iss = self.iss;
        while self.core.has_packets() {
            self.core.fill(&mut batch);
            batch.drain(0, |octets, offload| {
                let packet = packet::read(octets, packet::Verify::Nothing).unwrap();
                all.push(Left {
                    seq: packet.header.seq.wrapping_sub(iss),
                    len: packet.payload.len(),
                    pointer: packet.urgent,
                    cut: offload.is_some_and(|offload| offload.segment > 0),
                });
            });
        }
        all
    }
}

/// A write that is accepted in part has its mark at the end of that part. What is sent far ahead of
/// the mark says that it is far; nothing behind it is marked.
#[test]
fn the_mark_is_at_the_end_of_what_was_accepted() {
    let mut world = World::accepted_with(syn(1460), &linux());
    world.core.set_send_buffer(world.key(), 200_000);
    let mut wrote = 0;
    while let Poll::Ready(some) = world.write_urgent(&[0; 30_000]) {
        wrote += some;
    }
    let end = 1 + wrote as u32;
    let mut acked = 1;
    let mut more = 0;
    while acked < end + 10 {
        let all = world.leaves();
        assert!(!all.is_empty());
        for left in all {
            let expected = (left.seq < end).then(|| (end - left.seq).min(0xFFFF) as u16);
            assert_eq!(left.pointer, expected, "at {}", left.seq);
            acked = acked.max(left.seq + left.len as u32);
        }
        world.exchange_quietly(acked);
        if more == 0 {
            let pieces = [IoSlice::new(b"ten octets")];
            let (now, key) = (world.now, world.key());
            let wrote = world.core.poll_write(now, key, &pieces, false, &nobody());
            more = usize::from(wrote.is_ready()) * 10;
        }
    }
}

impl World {
    /// Acknowledges everything before this number, and leaves the answers in the stack.
    fn exchange_quietly(&mut self, ack: u32) {
        let header = header(IRS + 1, self.iss.wrapping_add(ack), Flags::ACK);
        let path = Path::new(PEER, OURS).unwrap();
        let mut packet = vec![0; path.headers_len(&header.options)];
        path.write_headers(&header, Checksum::Full, &mut packet);
        let verify = packet::Verify::Checksum;
        self.core.on_packet(self.now, &packet, verify);
        self.core.on_batch_end(self.now);
    }
}

/// A SYN carries no urgent pointer, also if something urgent was written before it left again.
#[test]
fn a_syn_is_never_urgent() {
    let mut world = World::opening();
    assert_eq!(world.write_urgent(b"!"), Poll::Ready(1));
    world.now = world.core.next_alarm();
    world.core.on_time(world.now);
    let all = world.leaves();
    assert_eq!((all.len(), all[0].seq, all[0].pointer), (1, 0, None));
}

/// A device that cuts a packet would copy the pointer into every piece, where it is wrong.
#[test]
fn a_packet_that_the_device_cuts_carries_no_pointer() {
    let abilities = Abilities {
        mtu: 1500,
        offload: true,
        headroom: 0,
    };
    let core = Core::with_keys(abilities, &[OURS.ip()], [[1; 16], [2; 16]]);
    let mut world = World::accepted_by(core, syn(1460), &linux());
    let (now, key, octets) = (world.now, world.key(), vec![0; 5 * 1460]);
    let pieces = [IoSlice::new(&octets)];
    let wrote = world.core.poll_write(now, key, &pieces, false, &nobody());
    assert!(matches!(wrote, Poll::Ready(Ok(len)) if len == octets.len()));
    assert_eq!(world.write_urgent(b"!"), Poll::Ready(1));
    let all = world.leaves();
    assert!(all.iter().any(|left| left.cut));
    for left in all {
        let expected = (!left.cut).then_some((5 * 1460 + 2 - left.seq) as u16);
        assert_eq!(left.pointer, expected, "at {}", left.seq);
    }
}

/// For a policy that gathers until its writer waits, an urgent write is a write like any other: what
/// the closed window kept back leaves when the window opens, and waits for no timer.
#[test]
fn an_urgent_write_is_a_write_to_the_policy() {
    let mut world = World::accepted(syn(1460));
    let window = |world: &mut World, window| {
        let mut ack = header(IRS + 1, world.iss.wrapping_add(1), Flags::ACK);
        ack.window = window;
        world.exchange(ack, &[])
    };
    window(&mut world, 0);
    assert_eq!(world.write_urgent(b"stop!"), Poll::Ready(5));
    world.core.flush(world.now, world.key());
    assert_eq!(world.sent(), []);
    let sent = window(&mut world, 60_000);
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].1, b"stop!");
}
