//! Floods of SYNs, ACKs and strangers, and the cookies that answer them.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tinygram_engine::extensions::Keepalive;
use tinygram_engine::{Duration, Flags, State, Timestamps};
use tinygram_tcp::{SocketOptions, StackRules};
use tinygram_wire::options::Options;

use super::{Peer, Victim, with_extensions};

#[test]
fn a_flood_of_syns_takes_no_more_than_the_backlog() {
    let options = SocketOptions {
        rules: Some(StackRules {
            syn_cookies: false,
            ..StackRules::MODERN
        }),
        ..SocketOptions::default()
    };
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
    let mut dice = SplitMix64::seed_from_u64(4);
    for _ in 0..50_000 {
        let mut forged = Peer::at((dice.next_u64() % 1000) as u32 + 10);
        (forged.seq, forged.ack) = (dice.next_u64() as u32, dice.next_u64() as u32);
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
fn a_storm_of_acks_is_not_answered_in_kind() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    let mut peer = Peer::at(1);
    let key = peer.connect(&mut victim);
    victim.write(key, &[1; 30_000]);
    victim.core.flush(victim.now, key);
    let sent = victim.answers().len();
    let mut dice = SplitMix64::seed_from_u64(2);
    let mut answers = 0;
    for _ in 0..100_000 {
        let storm = Peer {
            // Old ACKs, repeated ones, and ACKs of octets never sent.
            ack: peer
                .ack
                .wrapping_add(dice.next_u64() as u32 % 100_000)
                .wrapping_sub(50_000),
            window: dice.next_u64() as u16,
            ..Peer::at(1)
        };
        let beside = dice.next_u64() as u32 % 3;
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
fn strangers_get_a_reset_and_nothing_more() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    let mut dice = SplitMix64::seed_from_u64(6);
    for number in 0..20_000 {
        let mut peer = Peer::at(number);
        peer.ack = dice.next_u64() as u32;
        let flags = Flags::from_bits(dice.next_u64() as u8).without(Flags::SYN);
        victim.arrives(&peer.packet(dice.next_u64() as u32, flags, b"?"));
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
