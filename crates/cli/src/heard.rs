//! Whoever is told how far the work has come, where a program has embedded this one. On the command line
//! nobody is: there a bar on the terminal says it.
//!
//! A listener belongs to the thread that asks for work; threads that help with it report through what
//! that thread made ([`crate::terminal::Progress`]). A listener that wants no more ends the work by unwinding,
//! from wherever it was told, up to [`while_told`].

use std::any::Any;
use std::cell::RefCell;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// Is told how far the work is, by any thread.
pub trait Listener: Send + Sync {
    /// So much is `done` of `total`, if that is known; whether the work goes on.
    fn goes_on(&self, what: &str, done: u64, total: Option<u64>) -> bool;

    /// What the command line would say on standard error.
    fn remark(&self, line: &str);
}

thread_local! {
    static LISTENER: RefCell<Option<Arc<dyn Listener>>> = const { RefCell::new(None) };
}

/// The work was called off.
pub(crate) struct CalledOff;

/// Does the work of this thread's with somebody told of it.
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

/// Who is told of this thread's work, if anybody is.
pub(crate) fn listener() -> Option<Arc<dyn Listener>> {
    LISTENER.with_borrow(Clone::clone)
}

/// Tells how far it is; ends the work if that is wanted.
pub(crate) fn tell(listener: &dyn Listener, what: &str, done: u64, total: Option<u64>) {
    if !listener.goes_on(what, done, total) {
        resume_unwind(Box::new(CalledOff));
    }
}

/// A source whose listener is told of what is read.
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
