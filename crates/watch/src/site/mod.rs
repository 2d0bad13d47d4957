//! Where in a program a write was made: from a copy of the thread's stack, which the kernel source takes
//! while a hold is on (and the library of `tinygram run`), to the functions that called.
//!
//! Native code is unwound by its `.eh_frame`, or by frame pointers where there is none (Go, code made
//! at run time). Of a thread that runs Python the interpreter's own frames are copied, too, at
//! the write and not afterwards, when the program has gone on to its next line.

mod go;
mod maps;
mod namer;
mod native;
mod perf_map;
mod python;
mod runtimes;
mod sections;
mod snapshot;

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use serde::Serialize;
use tinygram_host::text::plain;

pub(crate) use namer::Namer;
pub use python::Thread as PythonThread;

/// A thread's registers and stack at a write that was held.
pub struct Stack<'a> {
    /// The process.
    pub pid: u32,
    /// The thread; 0 if it is not known.
    pub thread: u32,
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
    pub stack: Vec<StackFrame>,
    /// Why there is no function of the program, if an interpreter runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unresolved: Option<Unresolved>,
}

/// A program whose functions only its interpreter knows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Unresolved {
    /// The language.
    pub language: &'static str,
    /// The interpreter's file, without what follows its version.
    pub runtime: String,
    /// What would help to name the function.
    pub help: &'static str,
}

/// One function of a stack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct StackFrame {
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

impl StackFrame {
    /// Returns it with names that act on no terminal: a program chooses those of its functions and files.
    fn plain(self) -> Self {
        Self {
            function: plain(&self.function),
            file: self.file.map(|file| plain(&file)),
            ..self
        }
    }
}

impl CallSite {
    /// Returns the call site for these frames, the innermost first. If none is the program's own, and an interpreter
    /// runs the program, the site is somewhere in code that only the interpreter knows.
    fn of(stack: Vec<StackFrame>, interpreter: Option<Unresolved>) -> Option<Self> {
        let stack: Vec<_> = stack.into_iter().map(StackFrame::plain).collect();
        let own = stack.iter().find(|frame| !frame.is_library);
        let unresolved = interpreter.filter(|_| own.is_none());
        let frame = match &unresolved {
            Some(unresolved) => runtimes::frame(unresolved),
            None => own.or_else(|| stack.first())?.clone(),
        };
        Some(Self {
            function: frame.function,
            file: frame.file,
            line: frame.line,
            stack,
            unresolved,
        })
    }

    /// Returns whether two sites are the same place, as far as both are known: of the first write of a Python thread the
    /// line is not.
    #[must_use]
    pub fn is_at(&self, other: &Self) -> bool {
        let same_line = match (self.line, other.line) {
            (Some(one), Some(two)) => one == two,
            _ => true,
        };
        same_line && (&self.function, &self.file) == (&other.function, &other.file)
    }

    /// Returns the site as the end of a sentence: `written by serve (app.py:8)`, `written in Ruby code (libruby-3.1), not
    /// resolved`.
    #[must_use]
    pub fn written(&self) -> String {
        match self.unresolved {
            Some(_) => format!("written {self}"),
            None => format!("written by {self}"),
        }
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

/// What was read of a process that may have ended since.
pub(crate) enum Prepared {
    /// Its functions of Python.
    Python(Vec<StackFrame>),
    /// Its native code, unless that is known.
    Native(Option<snapshot::Snapshot>),
}

/// The functions of a stack, and the interpreter that runs the program, if one does.
type Named = (Vec<StackFrame>, Option<Unresolved>);

/// The largest number of programs whose code is in memory.
const MOST_PROGRAMS: usize = 128;

/// Finds call sites, and remembers the programs that it has read.
#[derive(Default)]
pub struct Sites {
    snapshots: snapshot::Snapshots,
    namer: Rc<Namer>,
    python: python::Interpreters,
}

impl Sites {
    /// Returns where `stack` comes from; none if the process may not be looked into, or has ended.
    pub fn of(&mut self, stack: &Stack<'_>) -> Option<Arc<CallSite>> {
        let prepared = self.prepare(stack);
        self.namer.site(stack, prepared, || {})
    }

    /// Reads what only a running process shows, as soon as its stack is there. To name the functions of native code
    /// takes longer, and can wait.
    pub(crate) fn prepare(&mut self, stack: &Stack<'_>) -> Prepared {
        // The interpreter's C functions are not a useful call site.
        match self.python.is_known(stack.pid) {
            true if stack.python.is_empty() => Prepared::Python(self.python.frames_now(stack)),
            true => Prepared::Python(self.python.frames(stack)),
            false => Prepared::Native(self.snapshots.take(stack)),
        }
    }

    /// Returns what names the stacks that were prepared, in the order in which they were.
    pub(crate) fn namer(&self) -> Rc<Namer> {
        Rc::clone(&self.namer)
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

    fn frame(
        function: &str,
        file: Option<&str>,
        line: Option<u32>,
        is_library: bool,
    ) -> StackFrame {
        StackFrame {
            function: function.into(),
            file: file.map(Into::into),
            line,
            is_library,
        }
    }

    #[test]
    fn the_site_is_the_innermost_function_of_the_program_itself() {
        let site = CallSite::of(
            vec![
                frame("__send", None, None, true),
                frame("answer", Some("/srv/app/server.c"), Some(42), false),
                frame("main", Some("/srv/app/server.c"), Some(99), false),
            ],
            None,
        );
        let site = site.expect("there are frames");
        assert_eq!(site.to_string(), "answer (server.c:42)");
        assert_eq!(site.stack.len(), 3);
    }

    #[test]
    fn a_functions_name_cannot_act_on_a_terminal() {
        let named = frame("go\x1b[2J\n", Some("/srv/\x1b]0;x\x07.py"), Some(1), false);
        let site = CallSite::of(vec![named], None).expect("a frame");
        let shown = format!("{site} {:?}", site.stack);
        assert!(!shown.contains("\\u{1b}"), "{shown}");
        assert_eq!(
            site.to_string(),
            "go\u{fffd}[2J\u{fffd} (\u{fffd}]0;x\u{fffd}.py:1)"
        );
    }

    #[test]
    fn where_nothing_is_the_programs_own_the_innermost_stands() {
        let site = CallSite::of(vec![frame("write", None, None, true)], None);
        assert_eq!(site.expect("a frame").to_string(), "write");
        assert_eq!(CallSite::of(Vec::new(), None), None);
    }

    #[test]
    fn a_site_without_its_line_is_at_every_line_of_its_function() {
        let at = |function, line| {
            let stack = vec![frame(function, Some("/srv/app.py"), line, false)];
            CallSite::of(stack, None).expect("a frame")
        };
        let (first, second) = (at("answer", None), at("answer", Some(8)));
        assert!(first.is_at(&second) && second.is_at(&first));
        assert!(!second.is_at(&at("answer", Some(9))));
        assert!(!first.is_at(&at("ask", None)));
    }

    #[test]
    fn where_an_interpreter_hides_the_program_the_site_says_so() {
        let interpreter = || runtimes::interpreter("libruby-3.1.so.3.1");
        let hidden = vec![
            frame("__GI___libc_write", None, None, true),
            frame("rb_io_write", None, None, true),
        ];
        let site = CallSite::of(hidden, interpreter()).expect("a site");
        let said = "written in Ruby code (libruby-3.1), not resolved";
        assert_eq!(site.written(), said);
        assert!(
            site.unresolved
                .is_some_and(|why| why.help.contains("rbspy"))
        );
        // A program that embeds an interpreter has functions of its own.
        let embeds = vec![
            frame("write", None, None, true),
            frame("answer", None, None, false),
        ];
        let site = CallSite::of(embeds, interpreter()).expect("a site");
        assert_eq!(site.written(), "written by answer");
    }
}
