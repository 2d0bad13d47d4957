//! Where in a program a write was made: from a copy of the thread's stack, which the kernel source takes
//! while a hold is on (and the library of `tinygram run`), to the functions that called.
//!
//! Native code is unwound by its `.eh_frame`, or by frame pointers where there is none (Go, code made
//! at run time). Of a thread that runs Python the interpreter's own frames are copied, too, at
//! the write and not afterwards, when the program has gone on to its next line.

mod go;
mod maps;
mod native;
mod perf_map;
mod python;
mod sections;

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

pub use python::Thread as PythonThread;

/// A thread's registers and stack at a write that was held.
pub struct Stack<'a> {
    /// The process.
    pub pid: u32,
    /// Instruction pointer, stack pointer, frame pointer, link register (0 where there is none).
    pub registers: [u64; 4],
    /// What stood on the stack, from the stack pointer on.
    pub octets: &'a [u8],
    /// The interpreter's frames, the innermost first: code object, and instruction in it.
    pub python: Vec<(u64, u64)>,
}

/// The place in a program where a write was made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct CallSite {
    /// The innermost of the program's own functions, or the innermost of all functions if none is
    /// the program's own.
    pub function: String,
    /// The source file, as far as the program says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// All functions, the innermost first.
    pub stack: Vec<Frame>,
}

/// One function of a stack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Frame {
    /// Its name; `program+0x1234` if the program has no name for it.
    pub function: String,
    /// The source file, as far as the program says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Whether it belongs to a library or a runtime, not to the program itself.
    #[serde(rename = "library")]
    pub is_library: bool,
}

impl CallSite {
    /// Returns the call site for these frames, the innermost first.
    fn of(stack: Vec<Frame>) -> Option<Self> {
        let own = stack.iter().find(|frame| !frame.is_library);
        let frame = own.or_else(|| stack.first())?.clone();
        Some(Self {
            function: frame.function,
            file: frame.file,
            line: frame.line,
            stack,
        })
    }
}

impl fmt::Display for CallSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.function)?;
        let Some(file) = &self.file else {
            return Ok(());
        };
        let name = file.rsplit('/').next().unwrap_or(file);
        match self.line {
            Some(line) => write!(f, " ({name}:{line})"),
            None => write!(f, " ({name})"),
        }
    }
}

/// Finds call sites, and remembers the programs that it has read.
#[derive(Default)]
pub struct Sites {
    native: native::Programs,
    python: python::Interpreters,
}

impl Sites {
    /// Returns where `stack` comes from; none if the process may not be looked into, or has ended.
    pub fn of(&mut self, stack: &Stack<'_>) -> Option<Arc<CallSite>> {
        let frames = match self.python.is_known(stack.pid) {
            // The interpreter's C functions are not a useful call site.
            true => self.python.frames(stack),
            false => self.native.frames(stack),
        };
        CallSite::of(frames).map(Arc::new)
    }

    /// Returns the threads of the process that run Python, if whoever took the stack does not know of this one
    /// yet.
    pub fn python_threads(&mut self, stack: &Stack<'_>) -> Vec<PythonThread> {
        match stack.python.is_empty() {
            true => self.python.threads(stack.pid),
            false => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, file: Option<&str>, line: Option<u32>, is_library: bool) -> Frame {
        Frame {
            function: function.into(),
            file: file.map(Into::into),
            line,
            is_library,
        }
    }

    #[test]
    fn the_site_is_the_innermost_function_of_the_program_itself() {
        let site = CallSite::of(vec![
            frame("__send", None, None, true),
            frame("answer", Some("/srv/app/server.c"), Some(42), false),
            frame("main", Some("/srv/app/server.c"), Some(99), false),
        ]);
        let site = site.expect("there are frames");
        assert_eq!(site.to_string(), "answer (server.c:42)");
        assert_eq!(site.stack.len(), 3);
    }

    #[test]
    fn where_nothing_is_the_programs_own_the_innermost_stands() {
        let site = CallSite::of(vec![frame("write", None, None, true)]);
        assert_eq!(site.expect("a frame").to_string(), "write");
        assert_eq!(CallSite::of(Vec::new()), None);
    }
}
