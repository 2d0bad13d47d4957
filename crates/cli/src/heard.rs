//! Progress reports to a program that embeds this one. On the command line a bar on the terminal
//! shows the progress instead.
//!
//! A listener belongs to the thread that asks for work. Helping threads report through what that
//! thread made ([`crate::terminal::Progress`]). A listener that cancels ends the work by unwinding,
//! from wherever it was called up to [`while_told`].

use std::any::Any;
use std::cell::RefCell;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// Receives progress reports, from any thread.
pub trait Listener: Send + Sync {
    /// Reports that `done` of `total` is done; `total` is `None` if unknown. Returns whether to
    /// continue.
    fn goes_on(&self, what: &str, done: u64, total: Option<u64>) -> bool;

    /// Receives what the command line would print on standard error.
    fn remark(&self, line: &str);
}

thread_local! {
    static LISTENER: RefCell<Option<Arc<dyn Listener>>> = const { RefCell::new(None) };
}

/// The work was cancelled.
pub(crate) struct CalledOff;

/// Does this thread's work with a listener.
pub(crate) fn while_told<T>(
    listener: Arc<dyn Listener>,
    work: impl FnOnce() -> T,
) -> Result<T, CalledOff> {
    LISTENER.set(Some(listener));
    let done = catch_unwind(AssertUnwindSafe(work));
    LISTENER.set(None);
    done.or_else(
        |why: Box<dyn Any + Send>| match why.downcast::<CalledOff>() {
            Ok(called_off) => Err(*called_off),
            Err(bug) => resume_unwind(bug),
        },
    )
}

/// Returns the listener of this thread's work, if there is one.
pub(crate) fn listener() -> Option<Arc<dyn Listener>> {
    LISTENER.with_borrow(Clone::clone)
}

/// Reports the progress; ends the work if the listener cancels it.
pub(crate) fn tell(listener: &dyn Listener, what: &str, done: u64, total: Option<u64>) {
    if !listener.goes_on(what, done, total) {
        resume_unwind(Box::new(CalledOff));
    }
}

/// A source whose listener is told how much is read.
pub(crate) struct Told<R> {
    source: R,
    listener: Arc<dyn Listener>,
    what: String,
    read: u64,
    total: Option<u64>,
}

impl<R> Told<R> {
    pub(crate) fn new(
        source: R,
        listener: Arc<dyn Listener>,
        what: String,
        total: Option<u64>,
    ) -> Self {
        Self {
            source,
            listener,
            what,
            read: 0,
            total,
        }
    }
}

impl<R: Read> Read for Told<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.source.read(into)?;
        self.read += count as u64;
        tell(&*self.listener, &self.what, self.read, self.total);
        Ok(count)
    }
}
