//! Analyzes a capture on several threads.
//!
//! The caller's thread reads batches of segments, and puts each into the parcel of the share to which its
//! connection belongs. Whoever is free works on a share that is behind: one thread at a time
//! on each share, batch by batch, so that a connection's segments stay in order. When all shares are done with the oldest batch, what
//! they said of it is gathered in the order of its frames. So the report does not depend on who was free when.
//!
//! The batches on the way are few, which bounds memory: the reader helps when it is far ahead. It reads on while others
//! work on all that is left, and stops when it is too far ahead.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use tinygram_wire::capture::{CaptureError, Reader};

use super::batch::Batch;
use super::front::Front;
use super::notes::{Notes, Said};
use super::shard::Shard;
use super::table::Key;
use crate::across::gathered::Gathered;

/// Reads all frames. The shards and what is gathered are as if one thread had done it.
pub(crate) fn read(
    reader: &mut Reader,
    front: &mut Front,
    shards: &mut Vec<Shard>,
    gathered: &mut Gathered,
    key: Key,
    threads: usize,
) -> Result<(), CaptureError> {
    let shares = shards.len();
    let line = Line {
        shares,
        key,
        threads: threads.min(shares + 1),
        state: Mutex::new(State::new(shares)),
        moved: Condvar::new(),
        shards: shards.drain(..).map(Mutex::new).collect(),
        gathered: Mutex::new(gathered),
    };
    let ended = thread::scope(|scope| {
        let line = &line;
        let others: Vec<_> = (1..line.threads)
            .map(|worker| scope.spawn(move || line.work(worker)))
            .collect();
        let ended = line.feed(reader, front);
        for other in others {
            other
                .join()
                .unwrap_or_else(|payload| resume_unwind(payload));
        }
        ended
    });
    let of = |it: Mutex<Shard>| it.into_inner().unwrap_or_else(PoisonError::into_inner);
    shards.extend(line.shards.into_iter().map(of));
    ended
}

/// A batch that not all shares have taken.
struct UnderWay {
    batch: Arc<Batch>,
    /// The shares that are not done with it.
    left: usize,
    said: Vec<Said>,
}

/// What all threads share.
struct Line<'a> {
    shares: usize,
    key: Key,
    threads: usize,
    state: Mutex<State>,
    /// Something was read, done or gathered.
    moved: Condvar,
    shards: Vec<Mutex<Shard>>,
    gathered: Mutex<&'a mut Gathered>,
}

struct State {
    /// The batches under way, oldest first.
    batches: VecDeque<UnderWay>,
    /// The number of the oldest one.
    oldest: u64,
    /// The batch that each share takes next.
    next: Vec<u64>,
    /// The shares that somebody works on.
    busy: Vec<bool>,
    /// Whether somebody gathers.
    gathers: bool,
    /// How much was said of the batches under way and is not gathered.
    said: usize,
    /// Batches to be used again.
    empty: Vec<Batch>,
    /// How many threads wait for something to do.
    waiting: usize,
    /// No more will be read.
    ended: bool,
    /// A thread panicked.
    broken: bool,
}

/// A share with the batches that it takes.
type Task = (usize, Vec<Arc<Batch>>);

impl State {
    fn new(shares: usize) -> Self {
        Self {
            batches: VecDeque::new(),
            oldest: 0,
            next: vec![0; shares],
            busy: vec![false; shares],
            gathers: false,
            said: 0,
            empty: Vec::new(),
            waiting: 0,
            ended: false,
            broken: false,
        }
    }

    fn read(&self) -> u64 {
        self.oldest + self.batches.len() as u64
    }

    /// Returns whether so much is under way that reading on would only take memory. A capture of nothing but connections of
    /// one packet says more of a batch than the batch itself takes.
    fn is_full(&self) -> bool {
        self.batches.len() >= MOST_UNDER_WAY || self.said >= MOST_SAID
    }

    fn is_over(&self) -> bool {
        self.broken || (self.ended && self.batches.is_empty())
    }

    /// Returns whether a share is behind on which nobody works.
    fn is_behind(&self) -> bool {
        let read = self.read();
        let mut shares = self.busy.iter().zip(&self.next);
        shares.any(|(busy, next)| !busy && *next < read)
    }

    /// Takes some of the shares that are behind, beginning with those of this worker. Where much was said and waits for the
    /// oldest batch to be done with, those come first that are farthest behind.
    fn tasks(&mut self, line: &Line<'_>, worker: usize) -> Vec<Task> {
        let read = self.read();
        let own = worker * line.shares / line.threads;
        let mut behind: Vec<usize> = (0..line.shares)
            .map(|at| (own + at) % line.shares)
            .filter(|&share| !self.busy[share] && self.next[share] < read)
            .collect();
        let mut at_once = BATCHES;
        if self.said >= MUCH_SAID {
            behind.sort_by_key(|&share| self.next[share]);
            at_once = 1;
        }
        behind.truncate(line.shares.div_ceil(TASKS));
        let task = |share: usize| -> Task {
            self.busy[share] = true;
            let begin = (self.next[share] - self.oldest) as usize;
            let batches = self.batches.range(begin..).take(at_once);
            (share, batches.map(|it| it.batch.clone()).collect())
        };
        behind.into_iter().map(task).collect()
    }

    /// Notes that a share is done with some batches.
    fn done(&mut self, share: usize, said: Vec<Vec<Said>>) {
        let begin = (self.next[share] - self.oldest) as usize;
        self.next[share] += said.len() as u64;
        self.busy[share] = false;
        for (under_way, said) in self.batches.range_mut(begin..).zip(said) {
            under_way.left -= 1;
            self.said += said.len();
            under_way.said.extend(said);
        }
    }

    /// Returns the oldest batch if it is done and nobody else gathers.
    fn ready(&mut self) -> Option<UnderWay> {
        if self.gathers || self.batches.front()?.left > 0 {
            return None;
        }
        self.gathers = true;
        self.oldest += 1;
        let ready = self.batches.pop_front()?;
        self.said -= ready.said.len();
        Some(ready)
    }
}

impl Line<'_> {
    /// Reads all frames, and helps where reading is far enough ahead.
    fn feed(&self, reader: &mut Reader, front: &mut Front) -> Result<(), CaptureError> {
        let alarm = Alarm(self);
        let ended = loop {
            let mut state = self.state();
            if state.broken {
                break Ok(());
            }
            let ahead = state.batches.len();
            if state.is_full() || (ahead >= UNDER_WAY && state.is_behind()) {
                self.turn(state, 0);
                continue;
            }
            let batch = state.empty.pop();
            drop(state);
            let mut batch =
                batch.unwrap_or_else(|| Batch::new(FRAMES, self.shares, self.shares, self.key));
            let ended = batch.fill(reader, front);
            let mut state = self.state();
            state.batches.push_back(UnderWay {
                batch: Arc::new(batch),
                left: self.shares,
                said: Vec::new(),
            });
            self.tell(state);
            if let Some(ended) = ended {
                break ended;
            }
        };
        let mut state = self.state();
        state.ended = true;
        self.tell(state);
        self.work(0);
        drop(alarm);
        ended
    }

    /// Works until all is done.
    fn work(&self, worker: usize) {
        let _alarm = Alarm(self);
        loop {
            let state = self.state();
            if state.is_over() {
                return;
            }
            self.turn(state, worker);
        }
    }

    /// Works on some shares that are behind, or waits until there is one.
    fn turn(&self, mut state: MutexGuard<'_, State>, worker: usize) {
        let tasks = state.tasks(self, worker);
        if tasks.is_empty() {
            state.waiting += 1;
            // Whoever comes back looks again; a wake-up without cause does no harm.
            let waited = self.moved.wait(state);
            waited.unwrap_or_else(PoisonError::into_inner).waiting -= 1;
            return;
        }
        drop(state);
        let mut done = Vec::with_capacity(tasks.len());
        for (share, batches) in tasks {
            done.push((share, self.take(share, &batches)));
        }
        let mut state = self.state();
        for (share, said) in done {
            state.done(share, said);
        }
        state = self.gather(state);
        self.tell(state);
    }

    /// Lets a share take its frames of some batches; returns what it said of each.
    fn take(&self, share: usize, batches: &[Arc<Batch>]) -> Vec<Vec<Said>> {
        let mut shard = locked(&self.shards[share]);
        let each = batches.iter().map(|batch| {
            let mut notes = Notes::default();
            let own = std::slice::from_mut(&mut *shard);
            batch.each_of(share, own, None, &mut notes);
            notes.said
        });
        each.collect()
    }

    /// Gathers what was said of batches with which all shares are done.
    fn gather<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        while let Some(mut done) = state.ready() {
            drop(state);
            // A frame belongs to one share, which said things in their order.
            done.said.sort_by_key(Said::frame);
            if !done.said.is_empty() {
                let mut gathered = locked(&self.gathered);
                done.said.into_iter().for_each(|said| said.to(*gathered));
            }
            state = self.state();
            state.gathers = false;
            if let Ok(batch) = Arc::try_unwrap(done.batch) {
                state.empty.push(batch);
            }
        }
        state
    }

    /// Wakes those who wait for something to do: there may be something now.
    fn tell(&self, state: MutexGuard<'_, State>) {
        let is_awaited = state.waiting > 0;
        drop(state);
        if is_awaited {
            self.moved.notify_all();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }
}

/// Tells the others if this thread panics, so that none waits for it.
struct Alarm<'a, 'g>(&'a Line<'g>);

impl Drop for Alarm<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let mut state = self.0.state();
            state.broken = true;
            self.0.tell(state);
        }
    }
}

/// Locks a mutex, also after a thread panicked while it held the lock. `State::broken` tells of the panic.
fn locked<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Frames in a batch: 64 bytes each. Threads seldom wait for each other then.
const FRAMES: u16 = 4096;
/// So many batches under way are enough for the others: the reader helps.
const UNDER_WAY: usize = 12;
/// The most batches under way.
const MOST_UNDER_WAY: usize = 24;
/// The most that may be said and not gathered before the reader helps: connections of some 1,100 bytes, at most.
const MOST_SAID: usize = 16_384;
/// So much is only said of connections that come and go all the time: the batches under way of the benchmark's capture say
/// some 1,500.
const MUCH_SAID: usize = 4096;
/// A worker takes at most so many batches of a share at a time: what is said of them waits until all shares are done with them.
const BATCHES: usize = 4;
/// A worker takes at most one of so many parts of all shares at a time.
const TASKS: usize = 4;
