//! Carries packets between two ports as the emulator decides. Each direction has a thread, which
//! sleeps until a packet comes, a packet is due, or the link ends.
//!
//! The timer is a timerfd, because timer slack does not delay it. The relay counts how late packets
//! were.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use crate::device::Port;
use crate::emulator::{Counts, Direction, Path, Rules};
use crate::priority;

/// A running link. Dropping it ends it.
#[derive(Debug)]
pub struct Link {
    stop: OwnedFd,
    there: Option<JoinHandle<io::Result<Carried>>>,
    back: Option<JoinHandle<io::Result<Carried>>>,
}

/// The counts of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried {
    /// The emulator's counts.
    pub counts: Counts,
    /// How long after the emulator's time packets were delivered.
    pub late: Lateness,
    /// Packets that the kernel refused to take at their arrival.
    pub refused: u64,
}

/// How late packets were.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lateness {
    /// The sum over all packets.
    pub total: Duration,
    /// The largest.
    pub longest: Duration,
    /// Packets that were due.
    pub packets: u64,
}

impl Lateness {
    /// Returns the mean; zero if there was no packet.
    #[must_use]
    pub fn mean(&self) -> Duration {
        self.total.div_f64(self.packets.max(1) as f64)
    }

    fn add(&mut self, late: Duration) {
        self.total += late;
        self.longest = self.longest.max(late);
        self.packets += 1;
    }
}

impl Link {
    /// Joins two ports by `rules`, the same in both directions.
    ///
    /// # Errors
    /// A timer, an event or a thread cannot be made.
    pub fn join(first: impl Port, second: impl Port, rules: Rules, seed: u64) -> io::Result<Self> {
        let (first, second): (Arc<dyn Port>, Arc<dyn Port>) = (Arc::new(first), Arc::new(second));
        let stop = eventfd(0, EventfdFlags::CLOEXEC)?;
        let start = |from: &Arc<dyn Port>, to: &Arc<dyn Port>, direction| -> io::Result<_> {
            let mut lane = Lane {
                from: Arc::clone(from),
                to: Arc::clone(to),
                stop: stop.try_clone()?,
                timer: timerfd_create(
                    TimerfdClockId::Monotonic,
                    TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
                )?,
                path: Path::new(rules, seed, direction),
                clock: Clock::start(),
                spare: Vec::new(),
                late: Lateness::default(),
                refused: 0,
            };
            let named = std::thread::Builder::new().name(format!("link {direction:?}"));
            named.spawn(move || {
                priority::raise();
                lane.run()
            })
        };
        let there = Some(start(&first, &second, Direction::There)?);
        let mut link = Self {
            stop: stop.try_clone()?,
            there,
            back: None,
        };
        link.back = Some(start(&second, &first, Direction::Back)?);
        Ok(link)
    }

    /// Ends the link; packets that are still on their way are lost. Returns what each direction
    /// did, there and back.
    ///
    /// # Errors
    /// A direction had already ended, because a device was removed.
    pub fn end(mut self) -> io::Result<[Carried; 2]> {
        self.stop_lanes();
        let result = |lane: &mut Option<JoinHandle<io::Result<Carried>>>| match lane.take() {
            Some(lane) => lane.join().expect("a lane does not panic"),
            None => Ok(Carried::default()),
        };
        Ok([result(&mut self.there)?, result(&mut self.back)?])
    }

    fn stop_lanes(&self) {
        let _ = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.stop_lanes();
    }
}

/// One direction of a running link.
struct Lane {
    from: Arc<dyn Port>,
    to: Arc<dyn Port>,
    stop: OwnedFd,
    timer: OwnedFd,
    path: Path<Vec<u8>>,
    clock: Clock,
    /// Buffers for reuse.
    spare: Vec<Vec<u8>>,
    late: Lateness,
    refused: u64,
}

impl Lane {
    fn run(&mut self) -> io::Result<Carried> {
        let mut armed = None;
        loop {
            self.take_in()?;
            self.deliver();
            let due = self.path.next_due();
            if due != armed {
                self.arm(due)?;
                armed = due;
            }
            if self.wait()? {
                return Ok(Carried {
                    counts: self.path.counts(),
                    late: self.late,
                    refused: self.refused,
                });
            }
        }
    }

    /// Reads the packets that have arrived, but at most a batch: due packets must not wait for
    /// further arrivals.
    fn take_in(&mut self) -> io::Result<()> {
        for _ in 0..BATCH {
            let mut packet = self.spare.pop().unwrap_or_default();
            packet.resize(LARGEST_PACKET, 0);
            match self.from.recv(&mut packet) {
                Ok(octets) => {
                    packet.truncate(octets);
                    self.path.accept(self.clock.now(), packet);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.spare.push(packet);
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn deliver(&mut self) {
        let mut now = self.clock.now();
        while let Some((due, packet)) = self.path.take_due(now) {
            self.refused += u64::from(self.to.send(&packet).is_err());
            self.late.add(now.saturating_sub(due));
            if self.spare.len() < BATCH {
                self.spare.push(packet);
            }
            now = self.clock.now();
        }
    }

    fn arm(&self, due: Option<Duration>) -> io::Result<()> {
        let at = due.map_or(Duration::ZERO, |due| self.clock.absolute(due));
        let time = Timespec {
            tv_sec: at.as_secs() as _,
            tv_nsec: at.subsec_nanos().into(),
        };
        let once = Itimerspec {
            it_interval: Timespec::default(),
            // A time of zero disarms the timer.
            it_value: time,
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once)?;
        Ok(())
    }

    /// Sleeps until there is something to do. Returns whether the relay is to stop.
    fn wait(&self) -> io::Result<bool> {
        let mut watched = [
            PollFd::new(&self.stop, PollFlags::IN),
            PollFd::from_borrowed_fd(self.from.as_fd(), PollFlags::IN),
            PollFd::new(&self.timer, PollFlags::IN),
        ];
        match poll(&mut watched, None) {
            Ok(_) => Ok(!watched[0].revents().is_empty()),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// The monotonic clock, counted from the link's beginning.
struct Clock {
    began: Duration,
}

impl Clock {
    fn start() -> Self {
        Self { began: monotonic() }
    }

    fn now(&self) -> Duration {
        monotonic() - self.began
    }

    /// Returns the value to set a timer on the same clock to.
    fn absolute(&self, since_start: Duration) -> Duration {
        self.began + since_start
    }
}

fn monotonic() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// How many packets are read before the due ones are delivered.
const BATCH: usize = 64;
/// IP's own limit.
const LARGEST_PACKET: usize = 65_535;
