//! A thread of either end: makes the system calls that its program asks for.

use std::io::{self, ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::thread::set_current_timer_slack;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use socket2::SockRef;
use tinygram_engine::Instant;
use tinygram_naglemark::load::program::{Call, CallOutcome, LoadThread, Program, Sockets};

use super::clock::{now, sleep_until};
use super::compute::Computing;

/// What a thread needs to run its program.
pub(super) struct Live {
    /// All connections of its end, by the numbers of the program's sockets.
    pub(super) connections: Arc<Vec<TcpStream>>,
    /// The beginning of the trial, by the monotonic clock.
    pub(super) begins: Instant,
    /// When it ends whatever is under way, since the beginning.
    pub(super) until: Option<Instant>,
    /// Whether TCP_QUICKACK is set before each read.
    pub(super) sets_quickack: bool,
    /// Whether the thread sleeps in its reads and writes, and not in polls.
    pub(super) sleeps_in_calls: bool,
    pub(super) computing: Computing,
    /// Set when the trial is over, before the connections end.
    pub(super) stop: Arc<AtomicBool>,
}

/// A program that has run, and when it ended, since the beginning.
pub(super) struct Ran {
    pub(super) program: LoadThread,
    pub(super) ended: Instant,
}

impl Live {
    /// Runs the program until it stops, its time is up or the connections end.
    pub(super) fn run(&self, mut program: LoadThread) -> io::Result<Ran> {
        // No timer of it is late on purpose.
        set_current_timer_slack(NonZeroU64::new(1))?;
        let own = program.sockets();
        for socket in own.iter() {
            self.connection(socket)
                .set_nonblocking(!self.sleeps_in_calls)?;
        }
        let mut waiting = Waiting::on(&self.connections, own)?;
        let (mut read, written) = (vec![0; LARGEST], vec![0; LARGEST]);
        sleep_until(self.begins);
        let mut last = CallOutcome::Started;
        loop {
            let at = Instant::ZERO + now().since(self.begins);
            if self.until.is_some_and(|until| until <= at) || self.stop.load(Ordering::Relaxed) {
                return Ok(Ran { program, ended: at });
            }
            let outcome = match program.next(at, last) {
                Call::Stop => return Ok(Ran { program, ended: at }),
                Call::Read { socket, max } => self.read(socket, &mut read[..within(max)]),
                Call::TryWrite { socket, len } => self.try_write(socket, &written[..within(len)]),
                Call::Write { socket, len, .. } => self.write(socket, len, &written),
                Call::Poll {
                    read,
                    write,
                    timeout,
                } => {
                    debug_assert_eq!(read, own, "a program waits on all of its sockets");
                    let due = timeout.map(|timeout| at + timeout);
                    let due = due.into_iter().chain(self.until).min();
                    let due = due.map(|due| self.begins + due.since(Instant::ZERO));
                    waiting.wait(&self.connections, write, due)
                }
                Call::Compute(time) => {
                    self.computing.spend(time);
                    Ok(CallOutcome::Done)
                }
                Call::Sleep(time) => {
                    sleep_until(now() + time);
                    Ok(CallOutcome::Done)
                }
                other => unreachable!("programs under load do not ask for {other:?}"),
            };
            match outcome {
                // The peer hung up, at the end of a trial.
                Ok(CallOutcome::Read(0)) if self.until.is_none() => {
                    return Ok(Ran { program, ended: at });
                }
                Ok(CallOutcome::Read(0)) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(outcome) => last = outcome,
                Err(_) if self.stop.load(Ordering::Relaxed) => {
                    return Ok(Ran { program, ended: at });
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn connection(&self, socket: u32) -> &TcpStream {
        &self.connections[socket as usize]
    }

    fn read(&self, socket: u32, into: &mut [u8]) -> io::Result<CallOutcome> {
        let mut connection = self.connection(socket);
        loop {
            if self.sets_quickack {
                SockRef::from(connection).set_tcp_quickack(true)?;
            }
            match connection.read(into) {
                Ok(octets) => return Ok(CallOutcome::Read(octets as u64)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // A read sleeps until there is something.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    poll(&mut [PollFd::new(connection, PollFlags::IN)], None)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn try_write(&self, socket: u32, octets: &[u8]) -> io::Result<CallOutcome> {
        match self.connection(socket).write(octets) {
            Ok(written) => Ok(CallOutcome::Wrote(written as u64)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(CallOutcome::Wrote(0)),
            Err(error) => Err(error),
        }
    }

    fn write(&self, socket: u32, len: u64, octets: &[u8]) -> io::Result<CallOutcome> {
        let mut missing = len;
        while missing > 0 {
            let now = &octets[..within(missing)];
            self.connection(socket).write_all(now)?;
            missing -= now.len() as u64;
        }
        Ok(CallOutcome::Wrote(len))
    }
}

/// What a thread sleeps on: its sockets, and a timer.
struct Waiting {
    epoll: OwnedFd,
    timer: OwnedFd,
    /// What the timer is set to.
    due: Option<Instant>,
    /// The sockets whose space is waited for.
    write: Sockets,
}

impl Waiting {
    fn on(connections: &[TcpStream], sockets: Sockets) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        for socket in sockets.iter() {
            let data = EventData::new_u64(socket.into());
            epoll::add(&epoll, &connections[socket as usize], data, EventFlags::IN)?;
        }
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN)?;
        Ok(Self {
            epoll,
            timer,
            due: None,
            write: Sockets::NONE,
        })
    }

    /// Sleeps until a socket can be read, one of `write` has space, or the time is up.
    fn wait(
        &mut self,
        connections: &[TcpStream],
        write: Sockets,
        due: Option<Instant>,
    ) -> io::Result<CallOutcome> {
        for (now, before, flags) in [
            (write, self.write, EventFlags::IN | EventFlags::OUT),
            (self.write, write, EventFlags::IN),
        ] {
            for socket in now.iter().filter(|socket| !before.has(*socket)) {
                let data = EventData::new_u64(socket.into());
                epoll::modify(&self.epoll, &connections[socket as usize], data, flags)?;
            }
        }
        self.write = write;
        if self.due != due {
            let setting = Itimerspec {
                it_interval: timespec(Instant::ZERO),
                it_value: timespec(due.unwrap_or(Instant::ZERO)),
            };
            timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &setting)?;
            self.due = due;
        }
        let mut events = [MaybeUninit::uninit(); Sockets::MOST as usize + 1];
        let ready = loop {
            match epoll::wait(&self.epoll, &mut events, None) {
                Err(Errno::INTR) => {}
                ready => break ready?.0,
            }
        };
        let (mut readable, mut writable) = (Sockets::NONE, Sockets::NONE);
        for event in ready.iter().filter(|event| event.data.u64() != TIMER) {
            let socket = event.data.u64() as u32;
            let flags = event.flags;
            if flags.contains(EventFlags::OUT) {
                writable = writable.and(socket);
            }
            if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
                readable = readable.and(socket);
            }
        }
        Ok(CallOutcome::Ready {
            read: readable,
            write: writable,
        })
    }
}

fn timespec(at: Instant) -> Timespec {
    Timespec {
        tv_sec: (at.as_nanos() / 1_000_000_000) as i64,
        tv_nsec: (at.as_nanos() % 1_000_000_000) as i64,
    }
}

/// Returns so many octets, or as many as fit into a call.
fn within(octets: u64) -> usize {
    octets.min(LARGEST as u64) as usize
}

/// The most octets of a call. The programs take a shorter write for a send buffer that is full, and wait for space.
const LARGEST: usize = 1 << 20;
/// What names the timer among the sockets.
const TIMER: u64 = u64::MAX;
