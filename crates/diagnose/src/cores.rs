//! Analyzes a capture on several threads.
//!
//! The caller's thread reads and decodes batches of frames, and says of each frame to which share its
//! connection belongs. Whoever is free works on a share that is behind: one thread at a time on each, batch by
//! batch, so that a connection's segments stay in order. When all shares are done with the oldest batch, what
//! they said of it is gathered in the order of its frames. So the report does not depend on who was free when.
//!
//! The batches on the way are few, which bounds memory: the reader helps when it is too far ahead.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use tinygram_wire::capture::{CaptureError, LinkType, Reader};
use tinygram_wire::decode::Decoded;

use crate::conversation::Conversation;
use crate::findings::finding::Finding;
use crate::flow::ends::Ends;
use crate::flow::mark::Mark;
use crate::front::{Front, LAST_TIME_NS};
use crate::gathered::Gathered;
use crate::shard::{Hears, Placed, Shard};
use crate::table;

/// Reads all frames. The shards and what is gathered are as if one thread had done it.
pub(crate) fn read(
    reader: &mut Reader,
    front: &mut Front,
    shards: &mut Vec<Shard>,
    gathered: &mut Gathered,
    threads: usize,
) -> Result<(), CaptureError> {
    let shares = shards.len();
    let line = Line {
        shares,
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

/// Frames that are read together, and which of them belong to which share.
struct Batch {
    /// The number of the first one in the capture.
    first: u64,
    frames: Vec<Decoded>,
    of: Vec<Vec<u16>>,
}

/// A batch that not all shares have taken.
struct UnderWay {
    batch: Arc<Batch>,
    /// The shares that are not done with it.
    left: usize,
    said: Vec<Said>,
}

/// Something that a share says of a connection, known by its slot.
struct Said {
    frame: u64,
    share: u32,
    slot: u32,
    what: What,
}

enum What {
    Begins,
    Finds(Vec<Finding>),
    Leaves(Box<(Conversation, Vec<Finding>)>),
}

/// What all threads share.
struct Line<'a> {
    shares: usize,
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
    /// Batches to be used again.
    empty: Vec<Batch>,
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
            empty: Vec::new(),
            ended: false,
            broken: false,
        }
    }

    fn read(&self) -> u64 {
        self.oldest + self.batches.len() as u64
    }

    fn is_over(&self) -> bool {
        self.broken || (self.ended && self.batches.is_empty())
    }

    /// Takes some of the shares that are behind, beginning with those of this worker.
    fn tasks(&mut self, line: &Line<'_>, worker: usize, tasks: &mut Vec<Task>) {
        let read = self.read();
        for at in 0..line.shares {
            let share = (worker * line.shares / line.threads + at) % line.shares;
            if !self.busy[share] && self.next[share] < read {
                self.busy[share] = true;
                let begin = (self.next[share] - self.oldest) as usize;
                let batches = self.batches.range(begin..);
                tasks.push((share, batches.map(|it| it.batch.clone()).collect()));
                if tasks.len() * TASKS >= line.shares {
                    return;
                }
            }
        }
    }

    /// Notes that a share is done with some batches.
    fn done(&mut self, share: usize, said: Vec<Vec<Said>>) {
        let begin = (self.next[share] - self.oldest) as usize;
        self.next[share] += said.len() as u64;
        self.busy[share] = false;
        for (under_way, said) in self.batches.range_mut(begin..).zip(said) {
            under_way.left -= 1;
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
        self.batches.pop_front()
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
            if state.batches.len() >= UNDER_WAY {
                self.turn(state, 0);
                continue;
            }
            let batch = state.empty.pop();
            drop(state);
            let mut batch = batch.unwrap_or_else(|| Batch {
                first: 0,
                frames: Vec::with_capacity(BATCH),
                of: vec![Vec::new(); self.shares],
            });
            let ended = batch.fill(reader, front);
            self.state().batches.push_back(UnderWay {
                batch: Arc::new(batch),
                left: self.shares,
                said: Vec::new(),
            });
            self.moved.notify_all();
            if let Some(ended) = ended {
                break ended;
            }
        };
        self.state().ended = true;
        self.moved.notify_all();
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
        let mut tasks = Vec::new();
        state.tasks(self, worker, &mut tasks);
        if tasks.is_empty() {
            // Whoever comes back looks again; a wake-up without cause does no harm.
            drop(self.moved.wait(state));
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
        self.gather(state);
        self.moved.notify_all();
    }

    /// Lets a share take its frames of some batches; returns what it said of each.
    fn take(&self, share: usize, batches: &[Arc<Batch>]) -> Vec<Vec<Said>> {
        let mut shard = locked(&self.shards[share]);
        let mut hears = Notes {
            share: share as u32,
            frame: 0,
            said: Vec::new(),
        };
        let each = batches.iter().map(|batch| {
            for &at in &batch.of[share] {
                let frame = &batch.frames[usize::from(at)];
                let Ok((segment, around)) = &frame.look else {
                    continue;
                };
                hears.frame = batch.first + u64::from(at);
                let placed = Placed {
                    mark: Mark {
                        frame: hears.frame,
                        time_ns: frame.time_ns.clamp(0, LAST_TIME_NS),
                    },
                    raw_ip: frame.link == LinkType::RAW,
                    segment,
                    around,
                };
                shard.take(&placed, None, &mut hears);
            }
            std::mem::take(&mut hears.said)
        });
        each.collect()
    }

    /// Gathers what was said of batches with which all shares are done.
    fn gather<'a>(&'a self, mut state: MutexGuard<'a, State>) {
        while let Some(mut done) = state.ready() {
            drop(state);
            // A frame belongs to one share, which said things in their order.
            done.said.sort_by_key(|said| said.frame);
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
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }
}

impl Batch {
    /// Reads the next frames; returns how the capture ended, if it did.
    fn fill(&mut self, reader: &mut Reader, front: &mut Front) -> Option<Result<(), CaptureError>> {
        self.frames.clear();
        self.of.iter_mut().for_each(Vec::clear);
        self.first = front.frames + 1;
        while self.frames.len() < BATCH {
            match reader.next_frame() {
                Ok(Some(frame)) => self.frames.push(Decoded::of(&frame)),
                Ok(None) => return Some(Ok(())),
                Err(error) => return Some(Err(error)),
            }
            let at = self.frames.len() - 1;
            let Decoded { time_ns, look, .. } = &self.frames[at];
            if let (Some(_), Ok((segment, _))) = (front.note(*time_ns, look), look) {
                let share = table::share(&Ends::of(segment).0, self.of.len());
                self.of[share].push(at as u16);
            }
        }
        None
    }
}

impl Said {
    fn to(self, gathered: &mut Gathered) {
        let (share, slot) = (self.share as usize, self.slot as usize);
        match self.what {
            What::Begins => {
                gathered.begins(share, slot);
            }
            What::Finds(mut found) => gathered.finds(share, slot, &mut found),
            What::Leaves(left) => {
                let (connection, mut found) = *left;
                gathered.leaves(share, slot, connection, &mut found);
            }
        }
    }
}

/// Takes down what a share says.
struct Notes {
    share: u32,
    frame: u64,
    said: Vec<Said>,
}

impl Notes {
    fn note(&mut self, slot: usize, what: What) {
        self.said.push(Said {
            frame: self.frame,
            share: self.share,
            slot: slot as u32,
            what,
        });
    }
}

impl Hears for Notes {
    fn begins(&mut self, slot: usize) -> u32 {
        self.note(slot, What::Begins);
        0
    }

    fn finds(&mut self, slot: usize, found: &mut Vec<Finding>) {
        self.note(slot, What::Finds(std::mem::take(found)));
    }

    fn leaves(&mut self, slot: usize, connection: Conversation, found: &mut Vec<Finding>) {
        let left = Box::new((connection, std::mem::take(found)));
        self.note(slot, What::Leaves(left));
    }
}

/// Tells the others if this thread panics, so that none waits for it.
struct Alarm<'a, 'g>(&'a Line<'g>);

impl Drop for Alarm<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.state().broken = true;
            self.0.moved.notify_all();
        }
    }
}

/// A thread that panicked is told apart by `broken`.
fn locked<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Frames in a batch: 180 KB.
const BATCH: usize = 1024;
/// The most batches under way.
const UNDER_WAY: usize = 12;
/// A worker takes at most one of so many parts of all shares at a time.
const TASKS: usize = 4;
