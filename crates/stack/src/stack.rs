//! A stack on a device: the core under a lock, who writes to the device, and the task that reads
//! from it.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tinygram_engine::Instant;
use tinygram_wire::packet::Verify;

use crate::core::{Batch, Core, Counters};
use crate::device::{Abilities, Device};

/// A handle to a stack. All clones are of the same one; it lives as long as any of them, any stream
/// or any listener does.
#[derive(Clone)]
pub struct Stack {
    pub(crate) shared: Arc<Shared>,
}

/// What handles, streams and the driver share.
pub(crate) struct Shared {
    device: Box<dyn Device>,
    abilities: Abilities,
    state: Mutex<State>,
    began: std::time::Instant,
}

/// What the lock guards.
pub(crate) struct State {
    pub(crate) core: Core,
    /// Somebody is sending what the core has to send, and will go on until nothing is left.
    sending: bool,
    /// The buffer of whoever sends, while nobody does.
    spare: Batch,
    /// The driver, and when it will look at the clock of its own accord.
    driver: Option<Waker>,
    driver_looks_at: Instant,
    /// The driver has been woken and has not come yet.
    driver_called: bool,
}

impl Stack {
    /// A stack with these addresses on `device`; its driver runs as a task of the tokio runtime on
    /// which this is called.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn new(device: impl Device, addresses: &[IpAddr]) -> io::Result<Self> {
        let (stack, driver) = Self::with_driver(device, addresses)?;
        tokio::spawn(driver);
        Ok(stack)
    }

    /// The same with the driver to be run by the caller: on a runtime of its own, say. Nothing
    /// arrives and no timer runs but while it is polled; it ends when the device or the last handle
    /// is gone.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn with_driver(device: impl Device, addresses: &[IpAddr]) -> io::Result<(Self, Driver)> {
        let abilities = device.abilities();
        let core = Core::new(abilities, addresses).map_err(io::Error::other)?;
        #[allow(clippy::disallowed_methods)] // the one clock of the real world
        let began = std::time::Instant::now();
        let shared = Arc::new(Shared {
            device: Box::new(device),
            abilities,
            state: Mutex::new(State {
                core,
                sending: false,
                spare: Batch::default(),
                driver: None,
                driver_looks_at: Instant::FAR_FUTURE,
                driver_called: false,
            }),
            began,
        });
        let driver = Driver {
            shared: Arc::downgrade(&shared),
            buffer: vec![0; BUFFER + abilities.headroom + abilities.largest_packet()],
            arrived: Vec::new(),
            cut_short: false,
            alarm: None,
            wakers: Vec::new(),
        };
        Ok((Self { shared }, driver))
    }

    /// What was counted since the stack began.
    #[must_use]
    pub fn counters(&self) -> Counters {
        *self.shared.lock().core.counters()
    }

    /// Connections in every state, TIME-WAIT included.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.lock().core.connections()
    }

    /// Octets of memory that all connections' buffers take.
    #[must_use]
    pub fn allocated(&self) -> usize {
        self.shared.lock().core.allocated()
    }

    /// The stack's addresses.
    #[must_use]
    pub fn addresses(&self) -> Vec<IpAddr> {
        self.shared.lock().core.addresses().to_vec()
    }
}

impl Shared {
    #[inline]
    pub(crate) fn now(&self) -> Instant {
        Instant::from_nanos(self.began.elapsed().as_nanos() as u64)
    }

    /// The state is whole after every call, whoever panicked meanwhile.
    #[inline]
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call of the application's: does `call` on the core, then what it brought about.
    #[inline]
    pub(crate) fn call<T>(&self, call: impl FnOnce(&mut Core, Instant) -> T) -> T {
        let now = self.now();
        let mut state = self.lock();
        let result = call(&mut state.core, now);
        state.call_the_driver();
        let mut wakers = Vec::new();
        self.follow_up(state, &mut wakers);
        result
    }

    /// The device is no more, and with it every connection.
    fn lose_device(&self, error: io::Error) -> io::Result<()> {
        let mut state = self.lock();
        state.core.on_device_gone();
        let mut wakers = Vec::new();
        state.core.take_wakers(&mut wakers);
        drop(state);
        wakers.drain(..).for_each(Waker::wake);
        Err(error)
    }

    /// Wakes whom the core wants woken and sends what it has to send. One thread sends at a time;
    /// what others bring meanwhile it sends, too, so that packets leave in order and nobody waits
    /// for the device while holding the lock.
    fn follow_up<'a>(&'a self, mut state: MutexGuard<'a, State>, wakers: &mut Vec<Waker>) {
        state.core.take_wakers(wakers);
        let sends = state.core.has_packets() && !state.sending;
        if sends {
            state.sending = true;
            let mut batch = std::mem::take(&mut state.spare);
            while state.core.has_packets() {
                state.core.fill(&mut batch);
                drop(state);
                wakers.drain(..).for_each(Waker::wake);
                batch.drain(self.abilities.headroom, |octets, offload| {
                    // Lost on the way is lost: TCP sends it again.
                    let _ = self.device.send(octets, offload);
                });
                state = self.lock();
                state.core.take_wakers(wakers);
            }
            state.spare = batch;
            state.sending = false;
        }
        drop(state);
        wakers.drain(..).for_each(Waker::wake);
    }
}

impl Drop for Shared {
    /// The last handle has gone: the driver is to notice.
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(driver) = state.driver.take() {
            driver.wake();
        }
    }
}

impl State {
    /// Calls the driver if there is something that only it does: an alarm earlier than it knows of,
    /// or a writer to be looked at once it has had its turn.
    #[inline]
    fn call_the_driver(&mut self) {
        let early = self.core.next_alarm() < self.driver_looks_at;
        if (early || self.core.watches())
            && !self.driver_called
            && let Some(driver) = &self.driver
        {
            self.driver_called = true;
            driver.wake_by_ref();
        }
    }
}

/// Reads from the device, and looks at the clock: a future that a runtime must poll.
pub struct Driver {
    shared: std::sync::Weak<Shared>,
    buffer: Vec<u8>,
    /// Where in the buffer each packet of the batch begins and ends.
    arrived: Vec<crate::device::Received>,
    /// The last batch was full; there may be more at hand.
    cut_short: bool,
    alarm: Option<Pin<Box<tokio::time::Sleep>>>,
    wakers: Vec<Waker>,
}

/// A batch of arrivals is full when it has so many octets, in octets.
const BUFFER: usize = 64 * 1024;

impl Future for Driver {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(shared) = this.shared.upgrade() else {
            return Poll::Ready(Ok(()));
        };
        let more = match this.read_all(&shared, context) {
            Ok(more) => more,
            Err(error) => return Poll::Ready(shared.lose_device(error)),
        };
        let alarm = this.work(&shared, context);
        this.set_alarm(&shared, alarm, context);
        if more {
            // More is at hand; but first those have their turn whom it concerns.
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl Driver {
    /// Reads what has arrived, as far as the buffer goes; gives whether there may be more. If not,
    /// the device calls when there is.
    fn read_all(&mut self, shared: &Shared, context: &mut Context<'_>) -> io::Result<bool> {
        loop {
            // The device tells of what comes, and not of what is there still.
            if !self.cut_short {
                match shared.device.poll_readable(context) {
                    Poll::Ready(readable) => readable?,
                    Poll::Pending => return Ok(false),
                }
            }
            self.cut_short = !self.read(shared)?;
            if self.cut_short {
                return Ok(true);
            }
        }
    }

    /// Reads until nothing is left, or the buffer is full; gives whether nothing is left.
    fn read(&mut self, shared: &Shared) -> io::Result<bool> {
        let mut at = self.arrived.last().map_or(0, |last| last.end);
        while at < BUFFER {
            match shared.device.receive(&mut self.buffer[at..]) {
                Ok(received) => {
                    self.arrived.push(crate::device::Received {
                        start: at + received.start,
                        end: at + received.end,
                        ..received
                    });
                    at += received.end;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Gives the core what was read and what the clock says; gives when it wants to be called next.
    fn work(&mut self, shared: &Shared, context: &Context<'_>) -> Instant {
        let now = shared.now();
        let mut state = shared.lock();
        state.driver_called = false;
        if !state
            .driver
            .as_ref()
            .is_some_and(|driver| driver.will_wake(context.waker()))
        {
            state.driver = Some(context.waker().clone());
        }
        for packet in self.arrived.drain(..) {
            let verify = match packet.verified {
                true => Verify::Nothing,
                false => Verify::Checksum,
            };
            let octets = &self.buffer[packet.start..packet.end];
            state.core.on_packet(now, octets, verify);
        }
        state.core.on_batch_end(now);
        state.core.on_time(now);
        state.core.on_idle(now);
        let alarm = state.core.next_alarm();
        state.driver_looks_at = alarm;
        shared.follow_up(state, &mut self.wakers);
        alarm
    }

    /// Asks the runtime to be called then.
    fn set_alarm(&mut self, shared: &Shared, at: Instant, context: &mut Context<'_>) {
        if at == Instant::FAR_FUTURE {
            self.alarm = None;
            return;
        }
        let deadline = shared.began + Duration::from_nanos(at.as_nanos());
        let deadline = tokio::time::Instant::from_std(deadline);
        let alarm = self
            .alarm
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if alarm.deadline() != deadline {
            alarm.as_mut().reset(deadline);
        }
        if alarm.as_mut().poll(context).is_ready() {
            // Due already: come again when those that were woken have had their turn.
            self.alarm = None;
            context.waker().wake_by_ref();
        }
    }
}
