//! The core under a lock, and the sending of its packets to the device.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use tinygram_engine::Instant;
use tinygram_tcp::{Batch, Core};

use crate::device::{Abilities, Device};

/// What handles, streams and the driver share.
pub(crate) struct Shared {
    pub(crate) device: Box<dyn Device>,
    abilities: Abilities,
    state: Mutex<State>,
    pub(crate) began: std::time::Instant,
}

/// What the lock guards.
pub(crate) struct State {
    pub(crate) core: Core,
    /// Whether a thread is sending what the core has to send; it continues until nothing is left.
    sending: bool,
    /// The sender's buffer, while nobody sends.
    spare: Batch,
    /// The driver's waker, and when the driver will next run by itself.
    driver: Option<Waker>,
    driver_looks_at: Instant,
    /// Whether the driver has been woken and has not run yet.
    driver_called: bool,
}

impl Shared {
    pub(crate) fn new(device: Box<dyn Device>, core: Core) -> Self {
        #[allow(clippy::disallowed_methods)] // the one clock of the real world
        let began = std::time::Instant::now();
        Self {
            abilities: device.abilities(),
            device,
            state: Mutex::new(State {
                core,
                sending: false,
                spare: Batch::default(),
                driver: None,
                driver_looks_at: Instant::FAR_FUTURE,
                driver_called: false,
            }),
            began,
        }
    }

    #[inline]
    pub(crate) fn now(&self) -> Instant {
        Instant::from_nanos(self.began.elapsed().as_nanos() as u64)
    }

    /// Locks the state. It is valid after every call, even if another thread panicked.
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs an application's call on the core, then does what follows from it.
    #[inline]
    pub(crate) fn call<T>(&self, call: impl FnOnce(&mut Core, Instant) -> T) -> T {
        let now = self.now();
        let mut state = self.lock();
        // The driver may be in the middle of a batch.
        state.core.on_batch_end(now);
        let result = call(&mut state.core, now);
        state.call_the_driver();
        let mut wakers = Vec::new();
        self.follow_up(state, &mut wakers);
        result
    }

    /// Ends every connection because the device is gone.
    pub(crate) fn lose_device(&self, error: io::Error) -> io::Result<()> {
        let mut state = self.lock();
        state.core.on_device_gone();
        let mut wakers = Vec::new();
        state.core.take_wakers(&mut wakers);
        drop(state);
        wakers.drain(..).for_each(Waker::wake);
        Err(error)
    }

    /// Runs `work` (what the driver has read) on the core. What follows from it is left to the end
    /// of the batch, that is to [`Shared::drive`], or to an earlier call of the application.
    #[inline]
    pub(crate) fn take_in<T>(&self, work: impl FnOnce(&mut Core, Instant) -> T) -> T {
        let now = self.now();
        work(&mut self.lock().core, now)
    }

    /// Runs `work` on the core on behalf of the driver, then does what follows from it. Returns the
    /// latest time at which the driver must run again.
    pub(crate) fn drive(
        &self,
        context: &Context<'_>,
        wakers: &mut Vec<Waker>,
        work: impl FnOnce(&mut Core, Instant),
    ) -> Instant {
        let now = self.now();
        let mut state = self.lock();
        state.driver_called = false;
        let known = state.driver.as_ref();
        if !known.is_some_and(|driver| driver.will_wake(context.waker())) {
            state.driver = Some(context.waker().clone());
        }
        work(&mut state.core, now);
        let alarm = state.core.next_alarm();
        state.driver_looks_at = alarm;
        self.follow_up(state, wakers);
        alarm
    }

    /// Wakes the tasks that the core names, and sends what it has to send. One thread sends at a
    /// time; it also sends what other threads add meanwhile. So packets leave in order, and no
    /// thread waits for the device while it holds the lock.
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
                    // A packet lost here is lost: TCP retransmits it.
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
    /// Tells the driver that the last handle has gone.
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(driver) = state.driver.take() {
            driver.wake();
        }
    }
}

impl State {
    /// Wakes the driver if there is something that only it does: an alarm earlier than it knows of,
    /// or a writer that must be checked after it has run.
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
