//! Traces of waiting writes: a file that the processes of a run map. Each process copies the stack
//! of a thread whose write waits into it, and another process finds the source lines afterwards.
//!
//! A trace is taken where the program writes, possibly in a signal handler or in a forked child. So
//! taking it uses only compare-and-swaps and one system call, which reads memory that may not be
//! there. It unwinds nothing, looks up no names and does not wait.
//!
//! Stacks contain secrets. Only the user who started the run can read the file; a process executed
//! as another user has no access and leaves no traces.

#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
mod take;
#[cfg(all(target_arch = "x86_64", any(target_env = "gnu", target_env = "musl")))]
pub(crate) use take::note_stack;

use std::sync::atomic::{
    AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, Ordering::SeqCst,
};

/// The file. A file of zeros is valid and has no traces.
#[derive(Debug)]
#[repr(C)]
pub struct Traces {
    /// Incremented with each trace that is ready; the reader waits for it on a futex.
    pub ready: AtomicU32,
    /// Writes that waited and left no trace, because there was no room or the stack could not be
    /// read.
    pub missed: AtomicU64,
    slots: [Slot; SLOTS],
    python: [PythonThread; PYTHON_THREADS],
}

/// The trace of one write that waited.
#[derive(Debug)]
#[repr(C)]
pub struct Slot {
    state: AtomicU32,
    pid: AtomicU32,
    waited_ns: AtomicU64,
    registers: [AtomicU64; 3],
    octets_there: AtomicU64,
    python_frames: AtomicU64,
    python: [[AtomicU64; 2]; PYTHON_FRAMES],
    octets: [AtomicU64; STACK_OCTETS / 8],
}

/// The place of a Python thread's frames.
#[derive(Debug)]
#[repr(C)]
struct PythonThread {
    /// The thread; 0 in a free entry.
    thread: AtomicU32,
    /// Offsets, in the order of [`PythonFrames`].
    current: AtomicU32,
    /// One more than the offset; 0 if there is none.
    indirect: AtomicU32,
    code: AtomicU32,
    previous: AtomicU32,
    instruction: AtomicU32,
    state: AtomicU64,
}

/// What is needed to copy the frames of a Python thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PythonFrames {
    /// The kernel's number of the thread.
    pub thread: u32,
    /// The address of its state.
    pub state: u64,
    /// The offset in the state of the frame, or of what points to it.
    pub current: u16,
    /// The offset of the frame in what points to it, if that is not the state.
    pub indirect: Option<u16>,
    /// The offset in a frame of the code object.
    pub code: u16,
    /// The offset in a frame of the calling frame.
    pub previous: u16,
    /// The offset in a frame of the instruction.
    pub instruction: u16,
}

/// A trace as the reader gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The process.
    pub pid: u32,
    /// How long the write waited.
    pub waited_ns: u64,
    /// Instruction pointer, stack pointer and frame pointer, in the library.
    pub registers: [u64; 3],
    /// The contents of the stack, from the stack pointer on.
    pub octets: Vec<u8>,
    /// Python's frames, the innermost first: the code object, and the instruction in it.
    pub python: Vec<(u64, u64)>,
}

/// The suffix of this file's name after that of the statistics page.
pub const SUFFIX: &str = ".traces";

/// The most writes that may wait at once with a trace.
const SLOTS: usize = 32;
/// The same size as in the kernel's view of a held write (`crates/watch/bpf/events.h`).
const STACK_OCTETS: usize = 32_768;
const PYTHON_FRAMES: usize = 12;
const PYTHON_THREADS: usize = 256;

const FREE: u32 = 0;
/// A process writes or reads the slot.
const CLAIMED: u32 = 1;
/// The write still waits.
const PENDING: u32 = 2;
/// It is known how long the write waited.
const READY: u32 = 3;

impl Traces {
    /// Stores where a thread's Python frames are, so that its traces contain them from now on.
    pub fn know_python(&self, frames: PythonFrames) {
        let of_thread = |entry: &&PythonThread| {
            let thread = entry.thread.load(Relaxed);
            thread == 0 || thread == frames.thread
        };
        // If all entries are taken, the thread's number selects the one to replace.
        let entry = self.python.iter().find(of_thread);
        let entry = entry.unwrap_or(&self.python[frames.thread as usize % PYTHON_THREADS]);
        entry.thread.store(0, SeqCst);
        entry.state.store(frames.state, Relaxed);
        entry.current.store(frames.current.into(), Relaxed);
        let indirect = frames.indirect.map_or(0, |offset| u32::from(offset) + 1);
        entry.indirect.store(indirect, Relaxed);
        entry.code.store(frames.code.into(), Relaxed);
        entry.previous.store(frames.previous.into(), Relaxed);
        entry.instruction.store(frames.instruction.into(), Relaxed);
        entry.thread.store(frames.thread, SeqCst);
    }

    /// Passes on the traces of writes that have waited, and frees their slots.
    pub fn drain(&self, mut each: impl FnMut(Taken)) {
        for slot in &self.slots {
            let mine = slot
                .state
                .compare_exchange(READY, CLAIMED, Acquire, Relaxed);
            if mine.is_ok() {
                let taken = slot.read();
                slot.state.store(FREE, Release);
                each(taken);
            }
        }
    }

    /// Frees the slots of processes that ended without recording whether their writes waited; they
    /// are counted in [`Traces::missed`].
    pub fn forget_processes(&self, has_ended: impl Fn(u32) -> bool) {
        for slot in &self.slots {
            if slot.state.load(Acquire) == PENDING
                && has_ended(slot.pid.load(Relaxed))
                && slot
                    .state
                    .compare_exchange(PENDING, FREE, Acquire, Relaxed)
                    .is_ok()
            {
                self.missed.fetch_add(1, Relaxed);
            }
        }
    }
}

impl Slot {
    fn read(&self) -> Taken {
        let get = |word: &AtomicU64| word.load(Relaxed);
        // Whatever the stored length is, no more is read than there can be.
        let octets = (get(&self.octets_there) as usize).min(STACK_OCTETS);
        let frames = (get(&self.python_frames) as usize).min(PYTHON_FRAMES);
        let mut stack: Vec<u8> = self.octets[..octets.div_ceil(8)]
            .iter()
            .flat_map(|word| get(word).to_ne_bytes())
            .collect();
        stack.truncate(octets);
        Taken {
            pid: self.pid.load(Relaxed),
            waited_ns: get(&self.waited_ns),
            registers: [0, 1, 2].map(|nth| get(&self.registers[nth])),
            octets: stack,
            python: self.python[..frames]
                .iter()
                .map(|[code, instruction]| (get(code), get(instruction)))
                .collect(),
        }
    }
}
