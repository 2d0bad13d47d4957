//! Socket options that decide when a call is done: TCP_SYNCNT, SO_RCVLOWAT, TCP_DEFER_ACCEPT and
//! SO_LINGER.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use tinygram_engine::extensions::{Extensions, SynRetries};
use tinygram_engine::{Duration, Flags, State};
use tinygram_tcp::{Core, SocketOptions, StackRules};

use super::{IRS, OURS, PEER, World, header, nobody, syn};

/// Counts how often it is woken.
#[derive(Default)]
pub(super) struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Bell {
    /// Returns a bell and the waker that rings it.
    fn with_waker() -> (Arc<Self>, Waker) {
        let bell = Arc::new(Self::default());
        let waker = Waker::from(Arc::clone(&bell));
        (bell, waker)
    }

    /// Returns how often it was woken since the last call.
    pub(super) fn rang(&self, world: &mut World) -> usize {
        let mut wakers = Vec::new();
        world.core.take_wakers(&mut wakers);
        wakers.into_iter().for_each(Waker::wake);
        self.0.swap(0, Ordering::Relaxed)
    }
}

/// TCP_SYNCNT: a SYN is sent again just so often, and then the attempt ends.
#[test]
fn a_syn_is_repeated_as_often_as_the_socket_says() {
    for retries in [1, 3] {
        let mut world = World::opening();
        let both = Some(SynRetries::both(retries));
        world.core.set_syn_retries(world.key(), both);
        let mut repeated = 0;
        while world.core.state(world.key()) == State::SynSent {
            repeated += world.next_alarm().len();
        }
        assert_eq!(repeated, retries as usize);
        assert_eq!(world.error(), Some(ErrorKind::TimedOut));
    }
}

/// The answer to a SYN has a number of its own (Linux: `tcp_synack_retries`).
#[test]
fn a_half_open_connection_is_forgotten_after_its_own_number_of_tries() {
    let options = SocketOptions {
        extensions: Some(Extensions {
            syn_retries: Some(SynRetries { syn: 9, syn_ack: 2 }),
            ..Extensions::MODERN
        }),
        ..SocketOptions::default()
    };
    let mut world = World::listening(&options);
    assert_eq!(world.exchange(syn(1460), &[]).len(), 1);
    let mut repeated = 0;
    while world.core.connections() > 0 {
        repeated += world.next_alarm().len();
    }
    assert_eq!(repeated, 2);
}

/// SO_RCVLOWAT: readiness and the reader wait for that many octets, but not beyond the end.
#[test]
fn a_reader_waits_for_the_low_water_mark() {
    let mut world = World::accepted(syn(1460));
    let (bell, waker) = Bell::with_waker();
    let (now, key) = (world.now, world.key());
    world.core.set_receive_low_water(key, 10);
    let read = |world: &mut World, most| {
        let context = &Context::from_waker(&waker);
        let mut octets = Vec::new();
        let took = world.core.poll_read(now, key, most, context, |piece| {
            octets.extend_from_slice(piece);
        });
        took.map(|took| {
            took.unwrap();
            octets
        })
    };
    assert_eq!(read(&mut world, 100), Poll::Pending);
    world.segment(1, 1, Flags::ACK, b"123456789");
    assert_eq!(bell.rang(&mut world), 0);
    assert!(!world.core.readiness(key).readable);
    assert_eq!(read(&mut world, 100), Poll::Pending);
    // A read of less than the mark does not wait for what it does not want, nor does one that never
    // waits.
    assert_eq!(read(&mut world, 2), Poll::Ready(b"12".to_vec()));
    let taken = world.core.read_now(now, key, 1, |_| {});
    assert!(matches!(taken, Some(Ok(1))));
    assert_eq!(read(&mut world, 100), Poll::Pending);
    world.segment(10, 1, Flags::ACK, b"0123");
    assert_eq!(bell.rang(&mut world), 1);
    assert!(world.core.readiness(key).readable);
    assert_eq!(read(&mut world, 100), Poll::Ready(b"4567890123".to_vec()));
    assert_eq!(read(&mut world, 100), Poll::Pending);
    world.segment(14, 1, Flags::ACK.with(Flags::FIN), b"end");
    assert_eq!(bell.rang(&mut world), 1);
    assert!(world.core.readiness(key).readable);
    assert_eq!(read(&mut world, 100), Poll::Ready(b"end".to_vec()));
}

/// A reader that wants less than the mark is woken when that much has come.
#[test]
fn a_reader_of_less_than_the_mark_is_woken() {
    let mut world = World::accepted(syn(1460));
    let (bell, waker) = Bell::with_waker();
    let context = &Context::from_waker(&waker);
    let (now, key) = (world.now, world.key());
    world.core.set_receive_low_water(key, 10);
    world.segment(1, 1, Flags::ACK, b"123");
    let read = world.core.poll_read(now, key, 5, context, |_| {});
    assert!(read.is_pending());
    world.segment(4, 1, Flags::ACK, b"4");
    assert_eq!(bell.rang(&mut world), 0);
    world.segment(5, 1, Flags::ACK, b"56");
    assert_eq!(bell.rang(&mut world), 1);
    let read = world.core.poll_read(now, key, 5, context, |_| {});
    assert!(matches!(read, Poll::Ready(Ok(5))));
}

/// A lower mark wakes a reader for whom enough is there now (Linux: `tcp_set_rcvlowat`).
#[test]
fn a_lower_mark_wakes_the_reader() {
    let mut world = World::accepted(syn(1460));
    let (bell, waker) = Bell::with_waker();
    let context = &Context::from_waker(&waker);
    let (now, key) = (world.now, world.key());
    world.core.set_receive_low_water(key, 10);
    world.segment(1, 1, Flags::ACK, b"123");
    let read = world.core.poll_read(now, key, 100, context, |_| {});
    assert!(read.is_pending());
    world.core.set_receive_low_water(key, 4);
    assert_eq!(bell.rang(&mut world), 0);
    world.core.set_receive_low_water(key, 3);
    assert_eq!(bell.rang(&mut world), 1);
}

/// A mark that the receive buffer cannot reach must not stop the connection.
#[test]
fn a_low_water_mark_above_the_buffer_stops_nothing() {
    let mut world = World::accepted(syn(1460));
    let key = world.key();
    world.core.set_receive_low_water(key, u64::MAX);
    let mut seq = 1;
    while !world.core.readiness(key).readable {
        assert!(seq < 1 << 20, "half of the buffer is full");
        world.segment(seq, 1, Flags::ACK, &[0; 1460]);
        seq += 1460;
    }
    assert!(
        world.core.info(world.now, key).window >= 1460,
        "not at the very end"
    );
}

/// TCP_DEFER_ACCEPT: a connection is handed out when data came, or when the time is over.
#[test]
fn a_deferred_connection_is_accepted_with_its_data_or_in_time() {
    let options = SocketOptions {
        defer_accept: Some(Duration::from_secs(3)),
        ..SocketOptions::default()
    };
    for with_data in [true, false] {
        let mut world = World::listening(&options);
        let (bell, waker) = Bell::with_waker();
        let context = &Context::from_waker(&waker);
        assert!(
            world
                .core
                .poll_accept(world.listener(), 1, context)
                .is_pending()
        );
        world.iss = world.exchange(syn(1460), &[])[0].0.seq;
        world.ack(0, &[]);
        assert_eq!(bell.rang(&mut world), 0);
        assert!(!world.core.has_ready(world.listener()));
        match with_data {
            true => drop(world.ack(0, b"GET")),
            false => {
                world.now += Duration::from_millis(2999);
                world.core.on_time(world.now);
                assert!(!world.core.has_ready(world.listener()));
                world.now += Duration::from_millis(1);
                world.core.on_time(world.now);
            }
        }
        assert_eq!(bell.rang(&mut world), 1);
        assert!(
            world
                .core
                .poll_accept(world.listener(), 1, context)
                .is_ready()
        );
    }
}

/// The alarm of the deferral counts, not that of the SYN-ACK, whether it is earlier or later.
#[test]
fn a_deferral_ends_at_its_own_alarm() {
    for time in [Duration::from_millis(200), Duration::from_secs(3)] {
        let options = SocketOptions {
            defer_accept: Some(time),
            ..SocketOptions::default()
        };
        let mut world = World::listening(&options);
        world.iss = world.exchange(syn(1460), &[])[0].0.seq;
        // The SYN-ACK is sent again, so that its next alarm is seconds away.
        for _ in 0..3 {
            assert_eq!(world.next_alarm().len(), 1);
        }
        world.ack(0, &[]);
        let end = world.now + time;
        while !world.core.has_ready(world.listener()) {
            assert!(world.core.next_alarm() <= end, "too late for {time}");
            world.next_alarm();
        }
        assert_eq!(world.now, end);
    }
}

/// The data may come with the ACK of the handshake, and a FIN counts as well.
#[test]
fn a_deferred_connection_is_accepted_at_once_with_data_or_a_fin() {
    let options = SocketOptions {
        defer_accept: Some(Duration::from_secs(3)),
        ..SocketOptions::default()
    };
    for flags in [Flags::ACK, Flags::ACK.with(Flags::FIN)] {
        let mut world = World::listening(&options);
        let iss = world.exchange(syn(1460), &[])[0].0.seq;
        let last = header(IRS + 1, iss.wrapping_add(1), flags);
        let payload: &[u8] = if flags.has(Flags::FIN) { b"" } else { b"x" };
        world.exchange(last, payload);
        assert!(world.core.has_ready(world.listener()));
    }
}

/// Deferred connections count as half open: they cannot use up more than the backlog.
#[test]
fn deferred_connections_are_bounded_by_the_backlog() {
    let options = SocketOptions {
        defer_accept: Some(Duration::from_secs(3)),
        rules: Some(StackRules {
            syn_cookies: false,
            ..StackRules::MODERN
        }),
        ..SocketOptions::default()
    };
    let mut world = World::listening(&options);
    for port in 1000..1100 {
        world.handshake_from(port);
    }
    assert_eq!(world.core.connections(), 5);
    assert_eq!(world.core.counters().evicted, 95);
}

/// SO_LINGER with a time: the close is done when the peer has acknowledged everything.
#[test]
fn a_lingering_close_waits_for_the_acknowledgment() {
    let mut world = World::accepted(syn(1460));
    let (bell, waker) = Bell::with_waker();
    let context = &Context::from_waker(&waker);
    let key = world.key();
    world.core.set_linger(key, Some(Duration::from_secs(2)));
    world.write(b"last words");
    assert_eq!(
        world.core.poll_close(world.now, key, context),
        Poll::Pending
    );
    assert!(world.sent()[0].0.flags.has(Flags::FIN));
    world.segment(1, 11, Flags::ACK, &[]);
    let closed = world.core.poll_close(world.now, key, context);
    assert_eq!(closed, Poll::Pending, "the FIN is missing");
    bell.rang(&mut world);
    world.segment(1, 12, Flags::ACK, &[]);
    assert_eq!(bell.rang(&mut world), 1);
    assert_eq!(
        world.core.poll_close(world.now, key, context),
        Poll::Ready(true)
    );
}

/// A close lingers although this side was shut down before.
#[test]
fn a_lingering_close_after_a_shutdown() {
    for acked in [true, false] {
        let mut world = World::accepted(syn(1460));
        let (bell, waker) = Bell::with_waker();
        let context = &Context::from_waker(&waker);
        let key = world.key();
        world.write(b"last words");
        world.core.shutdown(world.now, key);
        world.core.set_linger(key, Some(Duration::from_secs(2)));
        let closed = world.core.poll_close(world.now, key, context);
        assert_eq!(closed, Poll::Pending);
        let end = world.now + Duration::from_secs(2);
        match acked {
            true => drop(world.segment(1, 12, Flags::ACK, &[])),
            false => {
                while world.core.next_alarm() <= end {
                    assert_eq!(bell.rang(&mut world), 0);
                    world.next_alarm();
                }
                assert_eq!(world.now, end);
            }
        }
        assert_eq!(bell.rang(&mut world), 1);
        let closed = world.core.poll_close(world.now, key, context);
        assert_eq!(closed, Poll::Ready(acked));
    }
}

/// Its time bounds the wait; what is left is still sent.
#[test]
fn a_lingering_close_ends_in_time() {
    let mut world = World::accepted(syn(1460));
    let (bell, waker) = Bell::with_waker();
    let context = &Context::from_waker(&waker);
    let key = world.key();
    world.core.set_linger(key, Some(Duration::from_millis(100)));
    world.write(b"last words");
    assert_eq!(
        world.core.poll_close(world.now, key, context),
        Poll::Pending
    );
    world.now += Duration::from_millis(100);
    world.core.on_time(world.now);
    assert_eq!(bell.rang(&mut world), 1);
    assert_eq!(
        world.core.poll_close(world.now, key, context),
        Poll::Ready(false)
    );
    world.core.release(world.now, key);
    world.sent();
    assert!(!world.next_alarm().is_empty(), "it is sent again");
}

/// Without a time the close does not wait, and with zero it resets.
#[test]
fn a_close_without_a_time_does_not_wait() {
    for (linger, flag) in [(None, Flags::FIN), (Some(Duration::ZERO), Flags::RST)] {
        let mut world = World::accepted(syn(1460));
        let key = world.key();
        world.core.set_linger(key, linger);
        assert_eq!(
            world.core.poll_close(world.now, key, &nobody()),
            Poll::Ready(false)
        );
        world.core.release(world.now, key);
        assert!(world.sent()[0].0.flags.has(flag));
    }
}

/// A send buffer that grows holds two congestion windows; a size that the application sets stays.
#[test]
fn the_send_buffer_grows_with_the_window() {
    let options = SocketOptions {
        send_buffer: 4000,
        extensions: Some(Extensions {
            send_buffer_most: Some(100_000),
            ..Extensions::MODERN
        }),
        ..SocketOptions::default()
    };
    let mut world = World::accepted_with(syn(1000), &options);
    let buffer = |world: &World| world.core.info(world.now, world.key()).send_buffer;
    assert_eq!(buffer(&world), 20_000, "two initial windows");
    let mut acked = 0;
    for _ in 0..8 {
        world.write(&[0; 12_000]);
        acked += world.core.info(world.now, world.key()).outstanding as u32;
        world.segment(1, 1 + acked, Flags::ACK, &[]);
    }
    let cwnd = world.core.info(world.now, world.key()).cwnd;
    assert!(cwnd > 10_000);
    assert_eq!(buffer(&world), (2 * cwnd).min(100_000));
    world.core.set_send_buffer(world.key(), 5000);
    let written = world.core.info(world.now, world.key());
    let written = acked + (written.outstanding + written.unsent) as u32;
    world.segment(1, 1 + written, Flags::ACK, &[]);
    assert_eq!(buffer(&world), 5000);
}

/// A key that was given back names nobody, also once another connection has its place.
#[test]
fn a_key_is_not_given_twice() {
    let mut world = World::accepted(syn(1460));
    let released = world.key();
    world.core.abort(released);
    world.core.release(world.now, released);
    world.sent();
    assert_eq!(world.core.connections(), 0, "its place is free");
    let options = SocketOptions::default();
    let (now, core) = (world.now, &mut world.core);
    let opened = core.connect(now, None, PEER, &options).unwrap();
    assert_eq!(core.state(opened), State::SynSent);
    assert_ne!(opened, released);
    let other = std::net::SocketAddr::new(OURS.ip(), 81);
    let (first, _) = core.listen(other, 1, &options).unwrap();
    core.stop_listening(first);
    let (second, _) = core.listen(other, 1, &options).unwrap();
    assert_ne!(first, second);
    let calls: [&dyn Fn(&Core); 3] = [
        &|core| _ = core.state(released),
        &|core| _ = core.peek(released, 1).count(),
        &|core| _ = core.has_ready(first),
    ];
    for call in calls {
        let called = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| call(core)));
        assert!(called.is_err(), "nobody has this key");
    }
}

/// A connection on its way out is no longer the caller's, though its place is still taken.
#[test]
#[should_panic(expected = "was released")]
fn a_connection_is_released_once() {
    let mut world = World::accepted(syn(1460));
    let key = world.key();
    world.core.release(world.now, key);
    assert_eq!(world.core.connections(), 1);
    world.core.release(world.now, key);
}
