//! What connections take, and what happens when memory is scarce.

use super::*;

/// The octets of a piece with its place in the index.
const COST: usize = 2048 + 64;

/// Lets the client write `octets` of its stream, of which the packets named in `dropped` are lost once.
fn write_with_losses(
    net: &mut Net,
    key: ConnectionKey,
    octets: &[u8],
    dropped: impl Fn(usize) -> bool,
) {
    assert_eq!(write(&mut net.client, net.now, key, octets), octets.len());
    let mut at = 0;
    while net.client.has_packets() {
        net.client.fill(&mut net.batch);
        net.batch.drain(0, |packet, _| {
            if !dropped(at) {
                net.server.on_packet(net.now, packet, Verify::Nothing);
            }
            at += 1;
        });
    }
    net.server.on_batch_end(net.now);
    net.check_the_bound();
}

#[test]
fn a_packet_beyond_a_hole_takes_the_pieces_that_it_touches() {
    let mut net = Net::new(MIB);
    let (ours, theirs) = net.connect();
    // Ten segments, of which the last arrives.
    write_with_losses(&mut net, ours, &stream(1, 0, 14_600), |at| at < 9);
    assert!(net.server.allocated() <= 2 * COST);
    net.wait(Duration::from_secs(2));
    assert!(read(&mut net.server, net.now, theirs, MIB) == stream(1, 0, 14_600));
    assert_eq!(
        net.server.allocated(),
        0,
        "nothing is kept for what was read"
    );
    net.wait(Duration::from_secs(1));
    assert_eq!(net.client.allocated(), 0, "nor for what was acknowledged");
}

/// What the stack says that it takes is what the allocator gave, but for what connections take
/// without any data.
#[test]
fn the_account_is_the_allocator_s() {
    let mut net = Net::new(MIB);
    let keys: Vec<_> = (0..4).map(|_| net.connect()).collect();
    net.wait(Duration::from_secs(1));
    let before = held();
    let mut counted = 0;
    for (_, theirs) in keys {
        let answer = stream(3, 0, 50_000);
        while write(&mut net.server, net.now, theirs, &answer) > 0 {
            net.check_the_bound();
        }
        counted = net.server.resident();
    }
    let given = held() - before;
    assert!(counted > MIB / 2, "{counted} octets are no test");
    // The queue of packets, timers and scoreboards grow as well.
    let others = 200_000;
    assert!(given <= counted + others, "{given} octets for {counted}");
    assert!(
        given >= counted - counted / 10,
        "{given} octets for {counted}"
    );
}

/// Clients that ask and do not read: the server's writers wait, and the bound holds. One that reads is
/// served meanwhile, and once the others are gone everything is as before.
#[test]
fn five_hundred_clients_that_do_not_read_take_no_more_than_the_bound() {
    let mut net = Net::new(MIB);
    let answer = stream(5, 0, MIB);
    let mut hoarders = Vec::new();
    for _ in 0..500 {
        let (ours, theirs) = net.connect();
        write(&mut net.server, net.now, theirs, &answer);
        net.check_the_bound();
        net.carry();
        hoarders.push((ours, theirs));
    }
    assert!(net.server.is_memory_scarce());
    for (_, theirs) in &hoarders {
        write(&mut net.server, net.now, *theirs, &answer);
    }
    net.wait(Duration::from_secs(5));
    net.check_the_bound();
    for (ours, _) in hoarders {
        net.client.release(net.now, ours);
    }
    net.carry();
    assert!(!net.server.is_memory_scarce(), "they are gone");
    let (ours, theirs) = net.connect();
    let (mut written, mut came, mut rounds) = (0, 0, 0);
    while came < 3 * MIB {
        written += write(
            &mut net.server,
            net.now,
            theirs,
            &stream(6, written, 65_536),
        );
        net.carry();
        let octets = read(&mut net.client, net.now, ours, MIB);
        assert!(octets == stream(6, came, octets.len()), "from {came} on");
        came += octets.len();
        rounds += 1;
        assert!(rounds < 1000, "{came} octets");
    }
}

/// Memory that is scarce because of some does not stop others that read and write little by little.
#[test]
fn who_reads_is_served_while_memory_is_scarce() {
    let mut net = Net::new(MIB);
    let (_, theirs) = net.connect();
    let (_, other) = net.connect();
    // Their peers acknowledge until their buffers are full, and do not read.
    let answer = stream(5, 0, MIB);
    for _ in 0..1000 {
        for key in [theirs, other] {
            write(&mut net.server, net.now, key, &answer);
        }
        net.carry();
    }
    assert!(net.server.is_memory_scarce());
    let (ours, theirs) = net.connect();
    let (mut there, mut back, mut unwritten) = (0, 0, Vec::new());
    for _ in 0..2000 {
        there += write(&mut net.client, net.now, ours, &stream(8, there, 4000));
        net.carry();
        if unwritten.is_empty() {
            unwritten = read(&mut net.server, net.now, theirs, 4000);
        }
        let wrote = write(&mut net.server, net.now, theirs, &unwritten);
        unwritten.drain(..wrote);
        net.carry();
        let came = read(&mut net.client, net.now, ours, 4000);
        assert!(came == stream(8, back, came.len()), "from {back} on");
        back += came.len();
    }
    assert!(net.server.is_memory_scarce());
    assert!(back > MIB, "{back} octets in two seconds and more");
}

/// Data beyond holes goes first, although the peers know from SACK blocks that it had arrived: they send
/// it again (RFC 2018, section 8).
#[test]
fn data_beyond_holes_is_given_up_first_and_comes_again() {
    let mut net = Net::new(MIB);
    let keys: Vec<_> = (0..60).map(|_| net.connect()).collect();
    // The first segment of each is lost, the others wait.
    for (seed, (ours, _)) in keys.iter().enumerate() {
        write_with_losses(&mut net, *ours, &stream(seed, 0, 14_600), |at| at == 0);
        // The SACK blocks reach the clients, and what they send again at first is lost.
        net.carry_to(false);
        while net.client.has_packets() {
            net.client.fill(&mut net.batch);
            net.batch.drain(0, |_, _| {});
        }
    }
    assert!(
        net.server.counters().pruned > 400_000,
        "{:?}",
        net.server.counters()
    );
    assert!(!net.server.is_memory_scarce(), "that was enough");
    assert!(net.server.allocated() < MIB / 2);
    net.wait(Duration::from_secs(30));
    for (seed, (_, theirs)) in keys.into_iter().enumerate() {
        assert!(read(&mut net.server, net.now, theirs, MIB) == stream(seed, 0, 14_600));
    }
}

/// Thirty transfers through a bound that a twentieth of them would need, with losses, slow readers and
/// data in both directions: every octet arrives, and windows never shrink from the right.
#[test]
fn every_octet_arrives_through_scarce_memory() {
    const LEN: usize = 300_000;
    let mut net = Net::new(MIB);
    net.lost = 3;
    let keys: Vec<_> = (0..30).map(|_| net.connect()).collect();
    let mut done = vec![[0; 4]; keys.len()];
    let (mut scarce, mut rounds) = (0, 0);
    while done.iter().flatten().any(|count| *count < LEN) {
        for (at, (ours, theirs)) in keys.iter().enumerate() {
            let [up, down, read_up, read_down] = &mut done[at];
            let next = |from: usize, seed| stream(seed, from, (LEN - from).min(30_000));
            *up += write(&mut net.client, net.now, *ours, &next(*up, at));
            *down += write(&mut net.server, net.now, *theirs, &next(*down, at + 100));
            net.check_the_bound();
            // Some read rarely.
            if rounds % (1 + at % 7 * 10) == 0 {
                let came = read(&mut net.server, net.now, *theirs, 70_000);
                assert!(
                    came == stream(at, *read_up, came.len()),
                    "{at}, from {read_up} on"
                );
                *read_up += came.len();
                let came = read(&mut net.client, net.now, *ours, 70_000);
                assert!(
                    came == stream(at + 100, *read_down, came.len()),
                    "{at}, from {read_down} on"
                );
                *read_down += came.len();
            }
        }
        net.carry();
        rounds += 1;
        scarce += usize::from(net.server.is_memory_scarce());
        assert!(rounds < 2_000_000, "{done:?} after {:?}", net.now);
    }
    assert!(
        scarce > 20,
        "memory was scarce in {scarce} of {rounds} rounds"
    );
    net.wait(Duration::from_secs(5));
    assert!(!net.server.is_memory_scarce());
    assert_eq!(net.server.allocated(), 0);
    eprintln!(
        "{rounds} rounds, {scarce} scarce, {:?}",
        net.server.counters()
    );
}
