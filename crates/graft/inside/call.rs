//! A system call of the program's that arrived here, and what becomes of it.

use crate::machine::call_of_go;

/// The registers of a system call that has not been made yet, as the stub saved them.
#[repr(C)]
pub(crate) struct Call {
    /// The number; once it was made, the result.
    pub(crate) word: u64,
    /// The arguments.
    pub(crate) a1: u64,
    pub(crate) a2: u64,
    pub(crate) a3: u64,
    pub(crate) a4: u64,
    pub(crate) a5: u64,
    pub(crate) a6: u64,
    /// Go: the goroutine. C: the thread pointer.
    pub(crate) task: u64,
}

impl Call {
    /// Makes the call here and now.
    pub(crate) fn make(&self) -> u64 {
        let arguments = [self.a1, self.a2, self.a3, self.a4, self.a5, self.a6];
        // SAFETY: the program's own arguments, for the call that it asked for.
        unsafe { call_of_go(self.word, arguments) }
    }
}

/// What becomes of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Next {
    /// The program's own SYSCALL makes it, with the registers as they are in [`Call`].
    Go = 0,
    /// It was made, and its result is in [`Call::word`].
    Made = 1,
}
