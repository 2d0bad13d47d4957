//! Where writes that waited were made: a file that the processes of a run map, and in which each leaves a copy
//! of the stack of a thread whose write waits. Somebody outside finds the lines afterwards.
//!
//! A trace is taken where the program writes, which may be in a signal handler or in a forked child: with
//! compare-and-swaps and one system call, which reads memory that may not be there. Nothing is unwound, named or
//! waited for.
//!
//! Stacks hold secrets. The file is for the user alone who started the run: a process that was executed as
//! another user does not get to it, and leaves no traces.

#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod take;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
pub(crate) use take::note_stack;

use std::sync::atomic::{
    AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, Ordering::SeqCst,
};

/// The file. All zero is a valid one, without traces.
#[derive(Debug)]
#[repr(C)]
pub struct Traces {
    /// Goes up with each trace that is ready; whoever reads them waits for it on a futex.
    pub ready: AtomicU32,
    /// Writes that waited and left no trace: there was no room, or no way to read the stack.
    pub missed: AtomicU64,
    slots: [Trace; SLOTS],
    python: [PythonThread; PYTHON_THREADS],
}

/// The thread of one write that waited.
#[derive(Debug)]
#[repr(C)]
pub struct Trace {
    state: AtomicU32,
    pid: AtomicU32,
    waited_ns: AtomicU64,
    registers: [AtomicU64; 3],
    octets_there: AtomicU64,
    python_frames: AtomicU64,
    python: [[AtomicU64; 2]; PYTHON_FRAMES],
    octets: [AtomicU64; STACK_OCTETS / 8],
}

/// Where a thread that runs Python has its frames.
#[derive(Debug)]
#[repr(C)]
struct PythonThread {
    /// 0 in a free entry.
    thread: AtomicU32,
    /// Offsets, in the order of [`PythonFrames`].
    current: AtomicU32,
    /// One more than the offset; 0 where there is none.
    indirect: AtomicU32,
    code: AtomicU32,
    previous: AtomicU32,
    instruction: AtomicU32,
    state: AtomicU64,
}

/// What is to be known of a thread that runs Python, to copy its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PythonFrames {
    /// The kernel's number of the thread.
    pub thread: u32,
    /// The address of its state.
    pub state: u64,
    /// An offset in the state: the frame, or what points to it.
    pub current: u16,
    /// An offset in what points to the frame, if that is not the state.
    pub indirect: Option<u16>,
    /// An offset in a frame: the code object.
    pub code: u16,
    /// An offset in a frame: the frame that called.
    pub previous: u16,
    /// An offset in a frame: the instruction.
    pub instruction: u16,
}

/// A trace as it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The process.
    pub pid: u32,
    /// How long the write waited.
    pub waited_ns: u64,
    /// Instruction pointer, stack pointer and frame pointer, in the library.
    pub registers: [u64; 3],
    /// What stood on the stack, from the stack pointer on.
    pub octets: Vec<u8>,
    /// Python's frames, the innermost first: code object, and instruction in it.
    pub python: Vec<(u64, u64)>,
}

/// What is added to the name of the statistics page to have that of this file.
pub const SUFFIX: &str = ".traces";

/// So many writes may wait at once with a trace.
const SLOTS: usize = 32;
/// As many as the kernel's own view of a held write takes (`bpf/events.h`).
const STACK_OCTETS: usize = 32_768;
const PYTHON_FRAMES: usize = 12;
const PYTHON_THREADS: usize = 256;

const FREE: u32 = 0;
/// Somebody writes into it, or reads it.
const CLAIMED: u32 = 1;
/// The write waits still.
const PENDING: u32 = 2;
/// It is known how long the write waited.
const READY: u32 = 3;

impl Traces {
    /// From now on the traces of this thread have its Python frames.
    pub fn know_python(&self, frames: PythonFrames) {
        let of_thread = |entry: &&PythonThread| {
            let thread = entry.thread.load(Relaxed);
            thread == 0 || thread == frames.thread
        };
        // Where all are taken those of threads that ended go first, by the reader's own lot.
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

    /// Hands over the traces of writes that have waited, and makes room for more.
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

    /// Makes room where a process has ended without saying what became of its write; counted among
    /// [`Traces::missed`].
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

impl Trace {
    fn read(&self) -> Taken {
        let get = |word: &AtomicU64| word.load(Relaxed);
        // Whatever stands there, no more is read than there can be.
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
