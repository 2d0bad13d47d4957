//! Reads Python's own frames: where a thread keeps them, and what their code objects say.
//!
//! At the write the kernel source copies a pair for each frame: the code object and the
//! instruction. A code object does not change while it is in use, so this module reads its name,
//! file and table of lines from the process later. The offsets are those of CPython's structures,
//! which stay the same within a minor version.

mod layout;

use std::collections::HashMap;
use std::fs;

use object::{Object, ObjectSymbol};

use super::{Stack, StackFrame, maps};
use layout::{Layout, layout};

/// The interpreters by process; `None` for programs that are not Python.
#[derive(Default)]
pub(super) struct Interpreters {
    known: HashMap<u32, Known>,
}

struct Known {
    interpreter: Option<Interpreter>,
    /// What it runs, so that another process with the same process ID is not mistaken for it.
    running: Option<maps::Running>,
    codes: HashMap<u64, Option<Code>>,
}

/// A running CPython.
#[derive(Clone, Copy)]
struct Interpreter {
    runtime: u64,
    layout: &'static Layout,
}

/// A thread that runs Python, as whoever copies its frames must know it.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// Its number.
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

/// A code object.
struct Code {
    name: String,
    file: String,
    first_line: u32,
    lines: Vec<u8>,
    instructions: u64,
}

impl Interpreters {
    /// Returns the functions of `stack`'s Python frames, the innermost first.
    pub(super) fn frames(&mut self, stack: &Stack<'_>) -> Vec<StackFrame> {
        if stack.python.is_empty() {
            return Vec::new();
        }
        let known = self.known(stack.pid);
        let Some(interpreter) = known.interpreter else {
            return Vec::new();
        };
        let mut frames = Vec::new();
        for &(address, instruction) in &stack.python {
            // 3.14 uses the lowest bits of pointers as marks; a frame of the interpreter itself has
            // no code object.
            let code = known
                .codes
                .entry(address)
                .or_insert_with(|| Code::read(stack.pid, address, interpreter.layout));
            if let Some(code) = code {
                frames.push(StackFrame {
                    function: code.name.clone(),
                    line: Some(code.line_at(instruction)),
                    is_library: is_library(&code.file),
                    file: Some(code.file.clone()),
                });
            }
        }
        frames
    }

    /// Returns the functions that `stack`'s thread is in now, if the stack shows that it was in them at the write: when
    /// the first write of a process is held, nobody copied the interpreter's frames. The line has changed since.
    pub(super) fn frames_now(&mut self, stack: &Stack<'_>) -> Vec<StackFrame> {
        let pid = stack.pid;
        let Some(interpreter) = self.known(pid).interpreter else {
            return Vec::new();
        };
        let threads = interpreter.threads(pid);
        let Some(thread) = threads.iter().find(|one| one.thread == stack.thread) else {
            return Vec::new();
        };
        let words = stack
            .octets
            .chunks_exact(8)
            .map(|word| u64::from_ne_bytes(word.try_into().expect("eight")));
        let words: Vec<u64> = words.collect();
        let read = |address: u64| maps::read_u64(pid, address).filter(|value| *value != 0);
        let mut frame = read(beyond(thread.state, thread.current.into()));
        if let Some(indirect) = thread.indirect {
            frame = frame.and_then(|frame| read(beyond(frame, indirect.into())));
        }
        let mut frames = Vec::new();
        for _ in 0..MOST_FRAMES {
            let Some(at) = frame else { break };
            let code = read(beyond(at, thread.code.into()));
            frame = read(beyond(at, thread.previous.into()));
            let code = code.and_then(|code| Code::read(pid, code, interpreter.layout));
            // The interpreter's C function has the frame and a place in the function's code on its stack. A function that
            // was called since may have the same frame, but has other code.
            if let Some(code) = code
                && (!frames.is_empty()
                    || words.contains(&at) && words.iter().any(|word| code.contains(*word)))
            {
                frames.push(StackFrame {
                    function: code.name.clone(),
                    line: None,
                    is_library: is_library(&code.file),
                    file: Some(code.file),
                });
            }
        }
        of_the_program(frames)
    }

    /// Returns whether `pid` runs a known version of Python.
    pub(super) fn is_known(&mut self, pid: u32) -> bool {
        self.known(pid).interpreter.is_some()
    }

    /// Returns the threads of `pid` if it runs a known version of Python.
    pub(super) fn threads(&mut self, pid: u32) -> Vec<Thread> {
        match self.known(pid).interpreter {
            Some(interpreter) => interpreter.threads(pid),
            None => Vec::new(),
        }
    }

    fn known(&mut self, pid: u32) -> &mut Known {
        let running = maps::running(pid);
        if self.known.len() >= MOST_KNOWN && !self.known.contains_key(&pid) {
            self.known.clear();
        }
        let known = self.known.entry(pid).or_insert_with(|| Known {
            interpreter: Interpreter::of(pid),
            running: running.clone(),
            codes: HashMap::new(),
        });
        if running.is_some() && known.running != running {
            *known = Known {
                interpreter: Interpreter::of(pid),
                running,
                codes: HashMap::new(),
            };
        }
        if known.codes.len() >= MOST_CODES {
            known.codes.clear();
        }
        known
    }
}

impl Interpreter {
    /// Returns the CPython that `pid` runs, in its program or in a library.
    fn of(pid: u32) -> Option<Self> {
        let mut tried = Vec::new();
        for map in maps::all(pid) {
            let Some((path, open_at)) = maps::file(pid, &map) else {
                continue;
            };
            let name = path.rsplit('/').next().unwrap_or(&path);
            let python = name.starts_with("python") || name.starts_with("libpython");
            if !python || tried.contains(&path) {
                continue;
            }
            tried.push(path.clone());
            let Some(layout) = layout(name) else {
                continue;
            };
            let octets = maps::octets(&fs::File::open(&open_at).ok()?)?;
            let file = object::File::parse(&**octets).ok()?;
            let mut symbols = file.dynamic_symbols().chain(file.symbols());
            let symbol = symbols.find(|symbol| symbol.name() == Ok("_PyRuntime"));
            if let Some(symbol) = symbol {
                // The first mapping of a file contains the file's beginning.
                let moved = match file.kind() {
                    object::ObjectKind::Dynamic => map.address.0.wrapping_sub(map.offset),
                    _ => 0,
                };
                return Some(Self {
                    runtime: moved.wrapping_add(symbol.address()),
                    layout,
                });
            }
        }
        None
    }

    fn threads(self, pid: u32) -> Vec<Thread> {
        let layout = self.layout;
        let numbers = thread_numbers(pid);
        let mut threads = Vec::new();
        let first = maps::read_u64(pid, beyond(self.runtime, layout.interpreters_head))
            .and_then(|main| maps::read_u64(pid, beyond(main, layout.threads_head)));
        let mut state = first.unwrap_or(0);
        // A list that changes meanwhile may lead back into itself.
        for _ in 0..MOST_THREADS {
            if state == 0 {
                break;
            }
            let own = maps::read_u64(pid, beyond(state, layout.thread_native_id)).unwrap_or(0);
            if let Some(thread) = numbers.get(&own) {
                threads.push(Thread {
                    thread: *thread,
                    state,
                    current: layout.current,
                    indirect: layout.indirect,
                    code: layout.frame_code,
                    previous: layout.frame_previous,
                    instruction: layout.frame_instruction,
                });
            }
            state = maps::read_u64(pid, beyond(state, layout.thread_next)).unwrap_or(0);
        }
        threads
    }
}

/// Returns frames that were read after their program had gone on, if one is the program's own. Of what a library called
/// meanwhile nothing is left but the library's: `Thread.run` has called who wrote, and has written nothing.
fn of_the_program(frames: Vec<StackFrame>) -> Vec<StackFrame> {
    match frames.iter().any(|frame| !frame.is_library) {
        true => frames,
        false => Vec::new(),
    }
}

/// Returns the threads of `pid`: for each its ID in its own namespace, and its ID in this one.
fn thread_numbers(pid: u32) -> HashMap<u64, u32> {
    let mut numbers = HashMap::new();
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return numbers;
    };
    for task in tasks.flatten() {
        let Some(thread) = task.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let status = fs::read_to_string(task.path().join("status")).unwrap_or_default();
        let own = status
            .lines()
            .find_map(|line| line.strip_prefix("NSpid:"))
            .and_then(|numbers| numbers.split_whitespace().last()?.parse().ok());
        numbers.insert(own.unwrap_or(u64::from(thread)), thread);
    }
    numbers
}

impl Code {
    fn read(pid: u32, address: u64, layout: &Layout) -> Option<Self> {
        let pointer = |offset| maps::read_u64(pid, beyond(address, offset));
        let mut first_line = [0; 4];
        maps::read(
            pid,
            beyond(address, layout.code_first_line),
            &mut first_line,
        )
        .then_some(())?;
        let lines = pointer(layout.code_line_table)?;
        let length = maps::read_u64(pid, beyond(lines, BYTES_LENGTH))?;
        let length = usize::try_from(length).ok().filter(|n| *n <= MOST_OCTETS)?;
        let mut table = vec![0; length];
        maps::read(pid, beyond(lines, BYTES_HEAD), &mut table).then_some(())?;
        let file = string(pid, pointer(layout.code_filename)?, layout)?;
        // The code that the interpreter runs when it is entered from C is not a function of the
        // program.
        if file == "<shim>" || file.is_empty() {
            return None;
        }
        Some(Self {
            name: string(pid, pointer(layout.code_qualname)?, layout)?,
            file,
            first_line: u32::from_ne_bytes(first_line),
            lines: table,
            instructions: beyond(address, layout.code_instructions),
        })
    }

    /// Returns whether an address is one of the function's instructions.
    fn contains(&self, address: u64) -> bool {
        let units: u64 = units_of(&self.lines);
        (self.instructions..beyond(self.instructions, 2 * units)).contains(&address)
    }

    /// Returns the line of the instruction at an address.
    fn line_at(&self, instruction: u64) -> u32 {
        let unit = instruction.saturating_sub(self.instructions) / 2;
        line_of(&self.lines, self.first_line, unit)
    }
}

/// Returns the address `offset` octets beyond `address`. The program runs on while its memory is read, so an address may be
/// anything that now stands where a pointer was: a hash that was not computed yet is -1. Nothing can be read at the last
/// address.
fn beyond(address: u64, offset: u64) -> u64 {
    address.saturating_add(offset)
}

/// Returns a string object's text.
fn string(pid: u32, address: u64, layout: &Layout) -> Option<String> {
    let length = maps::read_u64(pid, beyond(address, STRING_LENGTH))?;
    let length = usize::try_from(length).ok().filter(|n| *n <= MOST_OCTETS)?;
    let mut state = [0; 4];
    maps::read(pid, beyond(address, STRING_STATE), &mut state).then_some(())?;
    let state = u32::from_ne_bytes(state);
    let (width, ascii) = (state >> 2 & 7, state >> 6 & 1 == 1);
    let head = layout.string_heads[usize::from(!ascii)];
    let mut octets = vec![0; length * width as usize];
    maps::read(pid, beyond(address, head), &mut octets).then_some(())?;
    Some(match width {
        1 => octets.iter().map(|octet| char::from(*octet)).collect(),
        2 => {
            let units = octets
                .chunks_exact(2)
                .map(|two| u16::from_ne_bytes([two[0], two[1]]));
            char::decode_utf16(units)
                .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect()
        }
        4 => octets
            .chunks_exact(4)
            .map(|four| u32::from_ne_bytes([four[0], four[1], four[2], four[3]]))
            .map(|c| char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect(),
        _ => return None,
    })
}

/// Returns the line of a code unit, from the table that Python has since 3.11
/// (`Objects/locations.md` in its sources). If an entry has no line, the line of the entry before
/// it counts.
fn line_of(table: &[u8], first_line: u32, unit: u64) -> u32 {
    let mut line = i64::from(first_line);
    let (mut at, mut covered) = (0, 0);
    let mut last = line;
    while let Some(&head) = table.get(at) {
        at += 1;
        let mut number = || {
            let (mut value, mut shift) = (0_i64, 0);
            while let Some(&octet) = table.get(at) {
                at += 1;
                value |= i64::from(octet & 63) << shift.min(57);
                shift += 6;
                if octet & 64 == 0 {
                    break;
                }
            }
            value
        };
        let mut signed = || {
            let value = number();
            if value & 1 == 1 {
                -(value >> 1)
            } else {
                value >> 1
            }
        };
        let mut has_line = true;
        match head >> 3 & 15 {
            15 => has_line = false,
            14 => {
                line = line.saturating_add(signed());
                for _ in 0..3 {
                    number();
                }
            }
            13 => line = line.saturating_add(signed()),
            code @ 10..=12 => {
                line = line.saturating_add(i64::from(code) - 10);
                at += 2;
            }
            _ => at += 1,
        }
        if has_line {
            last = line;
        }
        covered += u64::from(head & 7) + 1;
        if unit < covered {
            break;
        }
    }
    u32::try_from(last).unwrap_or(first_line)
}

/// Returns how many code units a table of lines covers.
fn units_of(table: &[u8]) -> u64 {
    // Each entry begins with an octet that has the highest bit.
    let heads = table.iter().filter(|octet| **octet & 0x80 != 0);
    heads.map(|head| u64::from(head & 7) + 1).sum()
}

/// Returns whether a file belongs to the standard library or to an installed package.
fn is_library(file: &str) -> bool {
    file.starts_with("<frozen ")
        || file.contains("/site-packages/")
        || file.contains("/dist-packages/")
        || file
            .split_once("/lib/python3.")
            .is_some_and(|(_, rest)| rest.contains('/'))
}

/// Offsets in bytes objects and strings, on 64 bits.
const BYTES_LENGTH: u64 = 16;
const BYTES_HEAD: u64 = 32;
const STRING_LENGTH: u64 = 16;
const STRING_STATE: u64 = 32;
/// The longest name or table of lines.
const MOST_OCTETS: usize = 1 << 20;
const MOST_FRAMES: usize = 12;
const MOST_KNOWN: usize = 256;
const MOST_CODES: usize = 4096;
const MOST_THREADS: usize = 4096;

#[cfg(test)]
mod tests;
