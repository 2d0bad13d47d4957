//! The task that reads from the device and runs the timers.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Weak;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tinygram_engine::Instant;
use tinygram_wire::packet::{self, Verify};

use crate::alarm::Alarm;
use crate::device::{Abilities, Received};
use crate::shared::Shared;

/// Reads from the device and runs the timers: a future that a runtime must poll.
pub struct Driver {
    shared: Weak<Shared>,
    buffer: Vec<u8>,
    /// The start and end of each of the chunk's packets in the buffer.
    arrived: Vec<Received>,
    /// Whether to read the device without waiting for a notification: either it may have packets,
    /// or it is worth polling.
    awake: bool,
    /// Whether the device was empty when it was last read.
    empty: bool,
    /// Packets that were read since the device was last watched.
    unasked: usize,
    looking: Looking,
    alarm: Alarm,
    wakers: Vec<Waker>,
}

/// The octets that are read before they are taken in: as many as stay in the processor's nearest
/// cache together with the place that they are copied to.
const CHUNK: usize = 16 * 1024;

/// The octets of chunks that end a batch.
const BATCH: usize = 64 * 1024;

/// The octets at which a batch ends if nobody waits for it. A reader of data that is still being
/// gathered does not count as waiting.
const LONGEST_BATCH: usize = 512 * 1024;

/// The packets after which a batch ends, which bounds its time if they are tiny.
const MOST_PACKETS: usize = 512;

/// After this many packets were read without waiting, the driver turns the device's notifications
/// off: each costs the sender of the packet time.
const UNASKED: usize = 32;

/// How the reading of a chunk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The device has no more.
    Empty,
    /// It may have more.
    Full,
    /// It may have more. But it seems that the peer has nothing more to send, so a task that waits
    /// for this data should not have to wait until the device is known to be empty.
    Pushed,
}

impl Driver {
    pub(crate) fn new(
        shared: Weak<Shared>,
        alarm: Alarm,
        abilities: Abilities,
        busy_poll: Duration,
    ) -> Self {
        Self {
            shared,
            buffer: vec![0; CHUNK + abilities.headroom + abilities.largest_packet()],
            arrived: Vec::new(),
            awake: false,
            empty: true,
            unasked: 0,
            looking: Looking::new(busy_poll),
            alarm,
            wakers: Vec::new(),
        }
    }
}

impl Future for Driver {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(shared) = this.shared.upgrade() else {
            return Poll::Ready(Ok(()));
        };
        if let Err(error) = this.read_all(&shared, context) {
            return Poll::Ready(shared.lose_device(error));
        }
        let alarm = shared.drive(context, &mut this.wakers, |core, now| {
            core.on_batch_end(now);
            core.on_time(now);
            core.on_idle(now);
        });
        if this.awake {
            // The driver is polled again, but after the tasks that wait for this batch.
            context.waker().wake_by_ref();
        } else if let Err(error) = this.set_alarm(&shared, alarm, context) {
            return Poll::Ready(shared.lose_device(error));
        }
        Poll::Pending
    }
}

impl Driver {
    /// Reads a batch of what has arrived into the core, chunk by chunk. If that was all, and
    /// polling again is not worth it, waits for the device's notification.
    fn read_all(&mut self, shared: &Shared, context: &mut Context<'_>) -> io::Result<()> {
        let (mut octets, mut packets) = (0, 0);
        loop {
            // The device notifies of what comes, and not of what is still there.
            if !self.awake {
                self.unasked = 0;
                match shared.device.poll_readable(context) {
                    Poll::Ready(readable) => readable?,
                    Poll::Pending => return Ok(()),
                }
            }
            self.looking.on_look();
            // Every burst of bulk data ends in PSH, because Linux sets it on what it cuts into
            // segments. A short packet that comes alone is more likely a question.
            let end = self.read(shared, self.empty && octets == 0)?;
            self.empty = end == End::Empty;
            octets += self.arrived.last().map_or(0, |last| last.end);
            packets += self.arrived.len();
            let waited_for = self.take_in(shared);
            let more_fit = octets < LONGEST_BATCH && packets < MOST_PACKETS;
            let goes_on = match end {
                End::Pushed => false,
                End::Empty | End::Full if octets >= BATCH || !more_fit => !waited_for && more_fit,
                End::Empty | End::Full => true,
            };
            self.awake = !goes_on || end == End::Full || self.looking.on_empty(|| shared.now());
            if !goes_on || self.awake && end == End::Empty {
                return Ok(());
            }
        }
    }

    /// Reads a chunk; with `up_to_push`, only to the first packet with PSH.
    fn read(&mut self, shared: &Shared, up_to_push: bool) -> io::Result<End> {
        let mut at = 0;
        while at < CHUNK {
            match shared.device.receive(&mut self.buffer[at..]) {
                Ok(received) => {
                    let received = Received {
                        start: at + received.start,
                        end: at + received.end,
                        ..received
                    };
                    at = received.end;
                    self.arrived.push(received);
                    if up_to_push && packet::is_pushed(&self.buffer[received.start..received.end]) {
                        return Ok(End::Pushed);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(End::Empty),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(End::Full)
    }

    /// Passes the chunk to the core; returns whether a task waits for its data.
    fn take_in(&mut self, shared: &Shared) -> bool {
        if self.arrived.is_empty() {
            return false;
        }
        let mut packets = self.arrived.iter();
        let pushed = packets.any(|at| packet::is_pushed(&self.buffer[at.start..at.end]));
        self.looking.on_packets(pushed, || shared.now());
        let before = self.unasked;
        self.unasked += self.arrived.len();
        if before < UNASKED && self.unasked >= UNASKED {
            shared.device.unwatch();
        }
        shared.take_in(|core, now| {
            for packet in self.arrived.drain(..) {
                let verify = match packet.verified {
                    true => Verify::Nothing,
                    false => Verify::Checksum,
                };
                core.on_packet(now, &self.buffer[packet.start..packet.end], verify);
            }
            core.has_news()
        })
    }

    /// Has the driver polled at that time, or before it. While it is awake, it needs no alarm.
    fn set_alarm(
        &mut self,
        shared: &Shared,
        at: Instant,
        context: &mut Context<'_>,
    ) -> io::Result<()> {
        self.alarm.set(at, || shared.now())?;
        if let Poll::Ready(rung) = self.alarm.poll_rung(context) {
            rung?;
            // The driver is polled again, but after the tasks that were woken.
            context.waker().wake_by_ref();
        }
        Ok(())
    }
}

/// Decides whether to poll again a device that was found empty, or to sleep until its notification.
/// Sleeping and being woken costs more than a small packet does; polling in vain costs processor
/// time. Like Linux for idle virtual processors (`halt_poll_ns`), it polls as long as the last gap
/// between packets makes it likely that polling bridges the next one.
#[derive(Clone, Copy, Debug)]
struct Looking {
    /// The longest gap to bridge, in nanoseconds; 0 for none.
    longest: u64,
    /// Whether there is only one processor, which the sender of the next packet needs: then the
    /// driver yields it once and polls once.
    alone: bool,
    /// How many more times to do so before a peer again shows by PSH that it has nothing more to
    /// send. A peer that merely acknowledges would otherwise receive what it is sent in small
    /// pieces.
    credit: u32,
    /// The time since when nothing has come; `None` while packets come.
    empty_since: Option<Instant>,
    pays: bool,
    /// Whether the others get the processor before the next poll.
    yields: bool,
    /// Whether they have had it since packets last came.
    yielded: bool,
    /// How many more times to sleep instead of yielding, because the others kept the processor for
    /// long.
    sits_out: u32,
}

impl Looking {
    fn new(busy_poll: Duration) -> Self {
        Self {
            longest: busy_poll.as_nanos() as u64,
            alone: std::thread::available_parallelism().is_ok_and(|count| count.get() == 1),
            credit: 0,
            empty_since: None,
            pays: false,
            yields: false,
            yielded: false,
            sits_out: 0,
        }
    }

    /// Records that the device is polled.
    fn on_look(&mut self) {
        if std::mem::take(&mut self.yields) {
            self.yielded = true;
            std::thread::yield_now();
        }
    }

    /// Records that packets have come, and whether one of them had PSH.
    fn on_packets(&mut self, pushed: bool, now: impl FnOnce() -> Instant) {
        if pushed {
            self.credit = CREDIT;
        }
        if let Some(since) = self.empty_since.take() {
            self.pays = now().since(since).as_nanos() <= SLEPT_THROUGH * self.longest;
            if std::mem::take(&mut self.yielded) && !self.pays {
                self.sits_out = SITS_OUT;
            }
        }
    }

    /// Records that the device is empty, and returns whether to poll again.
    fn on_empty(&mut self, now: impl FnOnce() -> Instant) -> bool {
        if self.longest == 0 {
            return false;
        }
        let now = now();
        let first = self.empty_since.is_none();
        let since = *self.empty_since.get_or_insert(now);
        if self.alone {
            let fair = self.sits_out == 0;
            self.sits_out -= u32::from(first && !fair);
            self.yields = self.pays && self.credit > 0 && first && fair;
            self.credit -= u32::from(self.yields);
            return self.yields;
        }
        self.pays && now.since(since).as_nanos() <= self.longest
    }
}

/// How many times longer a gap may be than the longest one to bridge: a gap that was slept through
/// includes the time to wake up at both ends.
const SLEPT_THROUGH: u64 = 4;

/// The number of pieces in which a long answer may be read and acknowledged before the next
/// question comes.
const CREDIT: u32 = 16;

/// How many times to sleep instead of yielding after the others kept the processor for long: a
/// program that computes keeps it for milliseconds once it is yielded, but a notification wakes a
/// sleeping driver sooner.
const SITS_OUT: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_again_where_the_last_gap_was_short() {
        let at = |micros: u64| move || Instant::from_nanos(micros * 1000);
        let mut looking = Looking {
            alone: false,
            ..Looking::new(Duration::from_micros(50))
        };
        assert!(!looking.on_empty(at(100)), "nothing is known yet");
        looking.on_packets(true, at(140));
        assert!(looking.on_empty(at(150)), "the gap was of 40 us");
        assert!(looking.on_empty(at(200)));
        assert!(!looking.on_empty(at(201)), "this one is longer");
        looking.on_packets(true, at(350));
        assert!(
            looking.on_empty(at(360)),
            "but it may have been due to sleep"
        );
        looking.on_packets(true, at(561));
        assert!(!looking.on_empty(at(570)), "not so this one");
    }

    #[test]
    fn alone_it_looks_once_more_and_not_where_that_took_long() {
        let at = |micros: u64| move || Instant::from_nanos(micros * 1000);
        let mut looking = Looking {
            alone: true,
            longest: 50_000,
            credit: 0,
            empty_since: None,
            pays: true,
            yields: false,
            yielded: false,
            sits_out: 0,
        };
        looking.on_packets(true, at(0));
        assert!(looking.on_empty(at(10)), "the others first");
        looking.on_look();
        assert!(!looking.on_empty(at(20)), "once");
        for time in 1..u64::from(CREDIT) {
            looking.on_packets(false, at(20 + 20 * time));
            assert!(looking.on_empty(at(30 + 20 * time)));
        }
        looking.on_packets(false, at(420));
        assert!(!looking.on_empty(at(430)), "the peer but acknowledges");
        looking.on_packets(true, at(450));
        assert!(looking.on_empty(at(460)));
        looking.on_look();
        looking.on_packets(true, at(3060));
        for time in 0..u64::from(SITS_OUT) {
            assert!(!looking.on_empty(at(4000 + 20 * time)));
            looking.on_packets(true, at(4010 + 20 * time));
        }
        assert!(looking.on_empty(at(9000)), "it tries again");
    }
}
