//! Measures how late this machine runs a thread that has something to do. An application's own log
//! of times cannot be more exact than this.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A measurement from its beginning until it is asked for the result.
pub(crate) struct Lateness {
    ended: Arc<AtomicBool>,
    probe: JoinHandle<Vec<Duration>>,
}

impl Lateness {
    /// Begins to measure, with the same priority as the players.
    pub(crate) fn begin() -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ended);
        let probe = std::thread::spawn(move || {
            // SAFETY: changes this thread's priority and nothing else; 0 is the calling thread.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -15) };
            let mut late = Vec::new();
            while !end.load(Ordering::Relaxed) {
                #[expect(clippy::disallowed_methods, reason = "what is measured is real time")]
                let before = Instant::now();
                std::thread::sleep(NAP);
                late.push(before.elapsed().saturating_sub(NAP));
            }
            late
        });
        Self { ended, probe }
    }

    /// Ends, and returns the lateness that one in twenty wake-ups exceeded, in milliseconds.
    pub(crate) fn end_ms(self) -> f64 {
        self.ended.store(true, Ordering::Relaxed);
        let mut late = self.probe.join().expect("it only sleeps");
        late.sort();
        late.get(late.len() * 19 / 20)
            .map_or(0.0, |late| late.as_secs_f64() * 1e3)
    }
}

const NAP: Duration = Duration::from_millis(2);
