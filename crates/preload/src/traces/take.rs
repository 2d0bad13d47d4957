//! The library's side of traces: a thread whose write waits leaves a copy of its stack.

use std::sync::atomic::{
    AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, Ordering::SeqCst,
};

use super::{
    CLAIMED, FREE, PENDING, PYTHON_FRAMES, PythonThread, READY, STACK_OCTETS, Slot, Traces,
};
use crate::kernel;

impl Traces {
    /// Copies the calling thread's stack. Returns the number of the trace, which is one more than
    /// its slot; 0 if there is none.
    #[inline(never)]
    pub(crate) fn take(&self, thread: u32) -> u32 {
        let Some((place, slot)) = self.free_slot() else {
            self.missed.fetch_add(1, Relaxed);
            return 0;
        };
        let registers = registers();
        // SAFETY: this thread has claimed the slot, so the octets are its own.
        let there = unsafe {
            let room = std::slice::from_raw_parts_mut(
                slot.octets.as_ptr().cast::<u8>().cast_mut(),
                STACK_OCTETS,
            );
            copy_stack(registers[1], room)
        };
        if there == 0 {
            self.missed.fetch_add(1, Relaxed);
            slot.state.store(FREE, Release);
            return 0;
        }
        // SAFETY: no argument, cannot fail.
        slot.pid.store(unsafe { libc::getpid() } as u32, Relaxed);
        slot.octets_there.store(there as u64, Relaxed);
        for (place, register) in slot.registers.iter().zip(registers) {
            place.store(register, Relaxed);
        }
        let frames = self.copy_python(thread, &slot.python);
        slot.python_frames.store(frames, Relaxed);
        slot.state.store(PENDING, Release);
        place as u32 + 1
    }

    fn free_slot(&self) -> Option<(usize, &Slot)> {
        self.slots.iter().enumerate().find(|(_, slot)| {
            let claimed = slot.state.compare_exchange(FREE, CLAIMED, Acquire, Relaxed);
            claimed.is_ok()
        })
    }

    /// Records that the write that left this trace has waited this long, and wakes the reader.
    pub(crate) fn ready(&self, trace: u32, waited_ns: u64) {
        let Some(slot) = self.slot(trace) else { return };
        slot.waited_ns.store(waited_ns, Relaxed);
        slot.state.store(READY, Release);
        self.ready.fetch_add(1, SeqCst);
        kernel::futex_shared(&self.ready, libc::FUTEX_WAKE, 1, None);
    }

    /// Discards the trace of a write that did not wait, or whose wait stays unknown.
    pub(crate) fn forget(&self, trace: u32) {
        if let Some(slot) = self.slot(trace) {
            slot.state.store(FREE, Release);
        }
    }

    fn slot(&self, trace: u32) -> Option<&Slot> {
        self.slots.get((trace as usize).checked_sub(1)?)
    }

    /// Copies the frames of a thread that is known to run Python; returns how many.
    fn copy_python(&self, thread: u32, into: &[[AtomicU64; 2]; PYTHON_FRAMES]) -> u64 {
        let Some(known) = self.python.iter().find(|known| known.is(thread)) else {
            return 0;
        };
        let offset = |of: &AtomicU32| u64::from(of.load(Relaxed));
        let mut frame = pointer(
            known
                .state
                .load(Relaxed)
                .wrapping_add(offset(&known.current)),
        );
        if let Some(indirect) = offset(&known.indirect).checked_sub(1) {
            frame = frame.and_then(|at| pointer(at.wrapping_add(indirect)));
        }
        let mut count = 0;
        for place in into {
            let Some(at) = frame.filter(|at| *at != 0) else {
                break;
            };
            let (Some(code), Some(instruction)) = (
                pointer(at.wrapping_add(offset(&known.code))),
                pointer(at.wrapping_add(offset(&known.instruction))),
            ) else {
                break;
            };
            place[0].store(code, Relaxed);
            place[1].store(instruction, Relaxed);
            count += 1;
            frame = pointer(at.wrapping_add(offset(&known.previous)));
        }
        count
    }
}

impl PythonThread {
    fn is(&self, thread: u32) -> bool {
        thread != 0 && self.thread.load(SeqCst) == thread
    }
}

/// Stores an address on the first thread's stack that lies above all its frames.
pub(crate) fn note_stack(top: u64) {
    STACK_TOP.store(top, Relaxed);
}

static STACK_TOP: AtomicU64 = AtomicU64::new(0);

/// Copies the calling thread's stack from `pointer` on; returns how much.
fn copy_stack(pointer: u64, into: &mut [u8]) -> usize {
    if !kernel::is_filtered() {
        return kernel::own_memory(pointer, into);
    }
    // A filter might kill the process for that call. The memory between a frame of the first thread
    // and the beginning of its stack is always there.
    let above = STACK_TOP.load(Relaxed).saturating_sub(pointer);
    if above == 0 || above > FIRST_STACK {
        return 0;
    }
    let length = into.len().min(above as usize);
    // SAFETY: `length` octets of the first thread's stack, see above.
    unsafe { std::ptr::copy_nonoverlapping(pointer as *const u8, into.as_mut_ptr(), length) };
    length
}

/// Less than the distance between the first thread's stack and whatever else is mapped below it.
const FIRST_STACK: u64 = 64 << 20;

fn pointer(address: u64) -> Option<u64> {
    if kernel::is_filtered() {
        return None;
    }
    let mut octets = [0; 8];
    (kernel::own_memory(address, &mut octets) == 8).then(|| u64::from_ne_bytes(octets))
}

/// Returns the instruction pointer, the stack pointer and the frame pointer of the calling
/// function, all of the same instant.
#[inline(always)]
fn registers() -> [u64; 3] {
    let (instruction, stack, frame): (u64, u64, u64);
    // SAFETY: reads registers.
    unsafe {
        std::arch::asm!(
            "lea {0}, [rip]",
            "mov {1}, rsp",
            "mov {2}, rbp",
            out(reg) instruction,
            out(reg) stack,
            out(reg) frame,
            options(nomem, nostack, preserves_flags),
        );
    }
    [instruction, stack, frame]
}

#[cfg(test)]
mod tests {
    use super::super::{PythonFrames, SLOTS, Taken};
    use super::*;

    fn traces() -> Box<Traces> {
        // SAFETY: it consists of atomic integers, for which zero is valid.
        unsafe { Box::<Traces>::new_zeroed().assume_init() }
    }

    fn all(traces: &Traces) -> Vec<Taken> {
        let mut all = Vec::new();
        traces.drain(|taken| all.push(taken));
        all
    }

    #[test]
    fn a_trace_holds_what_stands_on_the_stack() {
        let traces = traces();
        let mark = std::hint::black_box(0x1234_5678_9abc_def0_u64);
        let trace = traces.take(1);
        assert_ne!(trace, 0);
        assert_eq!(all(&traces), [], "the write waits still");
        traces.ready(trace, 44_000_000);
        let [taken] = all(&traces).try_into().expect("one");
        assert_eq!(taken.pid, std::process::id());
        assert_eq!(taken.waited_ns, 44_000_000);
        let at = (&raw const mark) as u64 - taken.registers[1];
        let stood = &taken.octets[at as usize..][..8];
        assert_eq!(stood, mark.to_ne_bytes());
        assert_eq!(all(&traces), [], "once");
    }

    #[test]
    fn under_a_filter_the_first_threads_stack_is_copied_and_no_other() {
        let mut room = [0; 64];
        let mark = std::hint::black_box([0x5a_u8; 32]);
        let address = (&raw const mark) as u64;
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mark = std::hint::black_box([0x5a_u8; 32]);
                let address = (&raw const mark) as u64;
                kernel::allow_everything();
                note_stack(address + 32);
                assert_eq!(copy_stack(address, &mut room), 32);
                assert_eq!(room[..32], mark);
                assert_eq!(copy_stack(address + 32, &mut room), 0);
                assert_eq!(copy_stack(address - FIRST_STACK, &mut room), 0);
                assert_eq!(pointer(address), None);
            });
        });
        assert_eq!(copy_stack(address, &mut room[..32]), 32, "without one");
    }

    #[test]
    fn where_there_is_no_room_it_is_counted() {
        let traces = traces();
        let taken: Vec<_> = (0..SLOTS).map(|_| traces.take(1)).collect();
        assert_eq!((traces.take(1), traces.missed.load(Relaxed)), (0, 1));
        traces.forget(taken[3]);
        assert_eq!(traces.take(1), taken[3]);
        traces.forget_processes(|pid| pid == std::process::id());
        assert_eq!(traces.missed.load(Relaxed), 1 + SLOTS as u64);
        assert_ne!(traces.take(1), 0);
    }

    #[test]
    fn pythons_frames_are_followed_and_end_where_nothing_is() {
        let traces = traces();
        // A frame has code, previous, instruction. A state has what points to the frame.
        let outer = [0x11_u64, 0, 0x12];
        let inner = [0x21_u64, outer.as_ptr() as u64, 0x22];
        let points = [0_u64, inner.as_ptr() as u64];
        let state = [points.as_ptr() as u64];
        let frames = PythonFrames {
            thread: 7,
            state: state.as_ptr() as u64,
            current: 0,
            indirect: Some(8),
            code: 0,
            previous: 8,
            instruction: 16,
        };
        traces.know_python(frames);
        let python = |thread| {
            traces.ready(traces.take(thread), 1);
            all(&traces).remove(0).python
        };
        assert_eq!(python(7), [(0x21, 0x22), (0x11, 0x12)]);
        assert_eq!(python(8), [], "nothing is known of that thread");
        traces.know_python(PythonFrames {
            state: 8, // nothing is mapped there
            ..frames
        });
        assert_eq!(python(7), []);
    }
}
