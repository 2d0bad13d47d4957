//! The driver's alarm clock.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tinygram_engine::{Duration, Instant};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A timer of the kernel that rings at the next event of a connection or before it.
///
/// A runtime sets its next timer whenever it sleeps and takes it back when it wakes. If that timer
/// is the next of the whole processor, both change the processor's clock, which took 8 us each on
/// a virtual machine: more than a question and its answer. This alarm stays set instead. An event
/// that is put off, as every acknowledgment does it to timeouts, leaves it alone: it then rings too
/// early, and the driver sets it anew.
pub(crate) struct Alarm {
    timer: Arc<OwnedFd>,
    /// The runtime's watch on the timer, once the alarm was polled.
    watch: Option<AsyncFd<Arc<OwnedFd>>>,
    rings_at: Instant,
}

/// Times are rounded up to this, as those of tokio's timers are.
const GRAIN: Duration = Duration::from_millis(1);

impl Alarm {
    /// Returns an alarm that does not ring.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        Ok(Self {
            timer: Arc::new(timerfd_create(TimerfdClockId::Monotonic, flags)?),
            watch: None,
            rings_at: Instant::FAR_FUTURE,
        })
    }

    /// Lets the alarm ring at `at`, unless it rings before.
    pub(crate) fn set(&mut self, at: Instant, now: impl FnOnce() -> Instant) -> io::Result<()> {
        let grains = at.as_nanos().div_ceil(GRAIN.as_nanos());
        let at = Instant::from_nanos(grains.saturating_mul(GRAIN.as_nanos()));
        if at >= self.rings_at {
            return Ok(());
        }
        // A time of zero would take the alarm back instead of letting it ring at once.
        let left = at.as_nanos().saturating_sub(now().as_nanos()).max(1);
        let left = std::time::Duration::from_nanos(left);
        let once = Itimerspec {
            it_interval: Timespec::default(),
            it_value: Timespec {
                tv_sec: left.as_secs() as _,
                tv_nsec: left.subsec_nanos().into(),
            },
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
        self.rings_at = at;
        Ok(())
    }

    /// Returns `Ready` once the alarm has rung, and lets the task be woken when it rings. Then it
    /// is no longer set. Must be called on a tokio runtime with its IO driver.
    pub(crate) fn poll_rung(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.rings_at == Instant::FAR_FUTURE {
            return Poll::Pending;
        }
        let watch = match &mut self.watch {
            Some(watch) => watch,
            none => none.insert(watch(&self.timer)?),
        };
        loop {
            ready!(watch.poll_read_ready(context))?.clear_ready();
            match rustix::io::read(&self.timer, &mut [0; 8]) {
                Ok(_) => break,
                // It was set again after it had rung.
                Err(Errno::AGAIN) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
        self.rings_at = Instant::FAR_FUTURE;
        Poll::Ready(Ok(()))
    }
}

fn watch(timer: &Arc<OwnedFd>) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    // SAFETY: it owns its descriptor, always returns that one, and outlives the `AsyncFd`, which
    // holds it and takes it out of the reactor when it is dropped.
    unsafe { AsyncFd::register_with_interest(Arc::clone(timer), Interest::READABLE) }
        .map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    fn millis(count: u64) -> Instant {
        Instant::from_nanos(count * 1_000_000)
    }

    #[tokio::test]
    #[allow(clippy::disallowed_methods)] // the kernel's time is what rings
    async fn it_rings_once_and_not_before_its_time() {
        let began = std::time::Instant::now();
        let mut alarm = Alarm::new().expect("a timer");
        alarm.set(millis(30), || Instant::ZERO).expect("it is set");
        poll_fn(|context| alarm.poll_rung(context))
            .await
            .expect("it rings");
        assert!(began.elapsed() >= std::time::Duration::from_millis(30));
        let again = poll_fn(|context| Poll::Ready(alarm.poll_rung(context).is_ready()));
        assert!(!again.await, "it is no longer set");
    }

    #[tokio::test]
    async fn a_later_event_leaves_it_alone_and_an_earlier_one_moves_it() {
        let mut alarm = Alarm::new().expect("a timer");
        alarm
            .set(millis(3_600_000), || Instant::ZERO)
            .expect("it is set");
        alarm
            .set(millis(7_200_000), || Instant::ZERO)
            .expect("it stays");
        let a_little_before = Instant::from_nanos(millis(3_600_000).as_nanos() - 1);
        alarm
            .set(a_little_before, || panic!("it stays"))
            .expect("it stays");
        assert_eq!(alarm.rings_at, millis(3_600_000));
        alarm.set(millis(1), || millis(5)).expect("it is set");
        poll_fn(|context| alarm.poll_rung(context))
            .await
            .expect("it was due");
    }
}
