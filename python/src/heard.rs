use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use tinygram::embedded::Listener;

/// What the work has said so far.
#[derive(Default)]
pub(crate) struct Heard {
    off: AtomicBool,
    said: Mutex<Said>,
}

#[derive(Default)]
struct Said {
    /// What is done, how much of it, of how much; taken when it has been reported.
    progress: Option<(String, u64, Option<u64>)>,
    remarks: Vec<String>,
}

impl Listener for Heard {
    fn goes_on(&self, what: &str, done: u64, total: Option<u64>) -> bool {
        self.said().progress = Some((what.to_owned(), done, total));
        !self.off.load(Ordering::Relaxed)
    }

    fn remark(&self, line: &str) {
        self.said().remarks.push(line.to_owned());
    }
}

impl Heard {
    /// Ends the work at its next step.
    pub(crate) fn call_off(&self) {
        self.off.store(true, Ordering::Relaxed);
    }

    /// Tells `progress` what has changed since the last time.
    pub(crate) fn report(&self, py: Python<'_>, progress: Option<&Py<PyAny>>) -> PyResult<()> {
        let news = self.said().progress.take();
        if let (Some(progress), Some(news)) = (progress, news) {
            progress.call1(py, news)?;
        }
        Ok(())
    }

    /// What the command line would have said on standard error.
    pub(crate) fn remarks(&self) -> Vec<String> {
        std::mem::take(&mut self.said().remarks)
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
