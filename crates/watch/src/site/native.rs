//! Unwinds stacks of native code from the copied octets, and names the functions by the program's
//! own symbols.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Sym, Symbolized, Symbolizer};
use framehop::{CacheNative, FrameAddress, Module, Unwinder, UnwinderNative};

use super::go::{Go, Place};
use super::maps::Running;
use super::perf_map::PerfMaps;
use super::sections::{Section, Sections};
use super::{Frame, Stack, maps};

/// Programs whose stacks were unwound.
pub(super) struct Programs {
    known: HashMap<u32, Program>,
    symbols: Symbolizer,
    made: PerfMaps,
}

impl Default for Programs {
    fn default() -> Self {
        Self {
            known: HashMap::new(),
            symbols: Symbolizer::new(),
            made: PerfMaps::default(),
        }
    }
}

impl Programs {
    /// Returns the functions on `stack`, the innermost first.
    pub(super) fn frames(&mut self, stack: &Stack<'_>) -> Vec<Frame> {
        if self.known.len() >= MOST_PROGRAMS && !self.known.contains_key(&stack.pid) {
            self.known.clear();
        }
        let instruction = stack.registers[0];
        let program = self
            .known
            .entry(stack.pid)
            .or_insert_with(|| Program::of(stack.pid));
        let now = maps::running(stack.pid);
        let is_another = now.is_some() && now != program.running;
        if is_another {
            self.made.forget(stack.pid);
        }
        if is_another || !program.has(instruction) {
            // The process, or another one with the same process ID, runs another program; or it has
            // loaded a library since.
            *program = Program::of(stack.pid);
        }
        let mut addresses = program.unwind(stack);
        // What stands in front of the C library's calls is nobody's call site.
        let hooks = addresses
            .iter()
            .take_while(|&&address| program.is_hook(address))
            .count();
        addresses.drain(..hooks);
        let program = &self.known[&stack.pid];
        let mut frames = Vec::new();
        // The frames of code that was generated at run time.
        let mut made = Vec::new();
        let map = match addresses.iter().all(|&address| program.has(address)) {
            true => None,
            false => Some(self.made.of(stack.pid)),
        };
        for address in addresses {
            let of_map = map.filter(|_| !program.has(address));
            match of_map.and_then(|map| map.frame(address)) {
                Some(frame) => {
                    made.push(frames.len());
                    frames.push(frame);
                }
                None => name(&self.symbols, address, program, &mut frames),
            }
        }
        if made.iter().any(|&at| !frames[at].is_library) {
            // If there is such code, the compiled functions belong to the runtime that runs the
            // program.
            for (at, frame) in frames.iter_mut().enumerate() {
                frame.is_library |= made.binary_search(&at).is_err();
            }
        }
        frames.truncate(MOST_FRAMES);
        frames
    }
}

/// Names the function at `address` from the code's file, which stays open after its process ends.
fn name(symbols: &Symbolizer, address: u64, program: &Program, frames: &mut Vec<Frame>) {
    let module = program.module(address);
    let named = module
        .and_then(|module| Some((module, module.file.as_ref()?)))
        .and_then(|(module, file)| {
            let source = Source::Elf(Elf::new(format!("/proc/self/fd/{}", file.as_raw_fd())));
            let at = Input::VirtOffset(address.wrapping_sub(module.bias));
            symbols.symbolize_single(&source, at).ok()
        });
    let is_library = program.is_library(address);
    match named {
        Some(Symbolized::Sym(symbol)) if symbol.code_info.is_some() => {
            frames_of(&symbol, is_library, frames);
        }
        named => {
            // Go's own tables have the line without debugging information, and the name without
            // symbols.
            let places = module.map_or_else(Vec::new, |module| module.go_places(address));
            if !places.is_empty() {
                frames.extend(places.iter().map(|place| frame_of_go(place, is_library)));
            } else if let Some(Symbolized::Sym(symbol)) = named {
                frames_of(&symbol, is_library, frames);
            } else {
                frames.push(program.unnamed(address));
            }
        }
    }
}

fn frame_of_go(place: &Place<'_>, is_library: bool) -> Frame {
    Frame {
        function: place.function.to_owned(),
        file: place.file.map(str::to_owned),
        line: place.line,
        is_library: is_library || is_runtime(place.function),
    }
}

/// Adds a symbol's functions; the inlined ones come first.
fn frames_of(symbol: &Sym<'_>, is_library: bool, frames: &mut Vec<Frame>) {
    for inlined in symbol.inlined.iter().rev() {
        let place = inlined.code_info.as_ref();
        frames.push(frame(&inlined.name, place, is_library));
    }
    frames.push(frame(&symbol.name, symbol.code_info.as_deref(), is_library));
}

fn frame(name: &str, place: Option<&blazesym::symbolize::CodeInfo<'_>>, is_library: bool) -> Frame {
    Frame {
        function: name.to_owned(),
        file: place.map(|place| place.to_path().to_string_lossy().into_owned()),
        line: place.and_then(|place| place.line),
        is_library: is_library || is_runtime(name),
    }
}

/// Returns whether a function belongs to a language's own library, which is linked into the program.
fn is_runtime(name: &str) -> bool {
    let plain = name.trim_start_matches(['<', '&']);
    let of_c = name.trim_start_matches('_').trim_start_matches("libc_");
    RUNTIMES.iter().any(|prefix| plain.starts_with(prefix)) || C_WRITES.contains(&of_c)
}

/// The code of one process.
struct Program {
    /// What it runs; `None` if the process had already ended.
    running: Option<Running>,
    unwinder: UnwinderNative<Section, framehop::MayAllocateDuringUnwind>,
    cache: CacheNative<framehop::MayAllocateDuringUnwind>,
    modules: Vec<Mapped>,
}

struct Mapped {
    range: Range<u64>,
    /// The number to subtract from an address to get the file's address.
    bias: u64,
    name: String,
    is_library: bool,
    file: Option<File>,
    go: Option<Go>,
}

impl Mapped {
    /// Returns the functions at `address` by Go's own tables; none if the file has none.
    fn go_places(&self, address: u64) -> Vec<Place<'_>> {
        let go = self.go.as_ref();
        go.map_or_else(Vec::new, |go| go.places(address.wrapping_sub(self.bias)))
    }
}

impl Program {
    fn of(pid: u32) -> Self {
        let mut unwinder = UnwinderNative::new();
        let mut modules = Vec::new();
        for map in maps::code(pid) {
            let range = map.address.0..map.address.1;
            let Some((path, open_at)) = maps::file(pid, &map) else {
                continue;
            };
            let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
            let is_library = is_library(&name);
            let file = File::open(&open_at).ok();
            let mut bias = range.start - map.offset;
            let octets = file.as_ref().and_then(maps::octets);
            let go = octets.as_ref().and_then(Go::of);
            if let Some(octets) = octets
                && let Some(sections) = Sections::of(&octets, map.offset)
            {
                bias = range.start.wrapping_sub(sections.address_of_map);
                let base = bias.wrapping_add(sections.base);
                unwinder.add_module(Module::new(path, range.clone(), base, sections));
            }
            modules.push(Mapped {
                range,
                bias,
                name,
                is_library,
                file,
                go,
            });
        }
        Self {
            running: maps::running(pid),
            unwinder,
            cache: CacheNative::new(),
            modules,
        }
    }

    fn module(&self, address: u64) -> Option<&Mapped> {
        self.modules
            .iter()
            .find(|module| module.range.contains(&address))
    }

    fn has(&self, address: u64) -> bool {
        self.module(address).is_some()
    }

    fn is_library(&self, address: u64) -> bool {
        self.module(address).is_some_and(|module| module.is_library)
    }

    /// Returns whether it is in the library that `tinygram run` loads.
    fn is_hook(&self, address: u64) -> bool {
        self.module(address)
            .is_some_and(|module| module.name.starts_with("libtinygram"))
    }

    /// Returns a function that has no name: the file, and where in it.
    fn unnamed(&self, address: u64) -> Frame {
        let (function, is_library) = match self.module(address) {
            Some(module) => {
                let at = address.wrapping_sub(module.bias);
                (format!("{}+{at:#x}", module.name), module.is_library)
            }
            None => (format!("{address:#x}"), true),
        };
        Frame {
            function,
            file: None,
            line: None,
            is_library,
        }
    }

    /// Returns an address in each call on `stack`, the innermost first.
    fn unwind(&mut self, stack: &Stack<'_>) -> Vec<u64> {
        let mut read = |address: u64| {
            let at = address.checked_sub(stack.registers[1]).ok_or(())?;
            let at = usize::try_from(at).map_err(drop)?;
            let octets = stack.octets.get(at..at + 8).ok_or(())?;
            Ok(u64::from_ne_bytes(octets.try_into().map_err(drop)?))
        };
        let mut frames = self.unwinder.iter_frames(
            stack.registers[0],
            registers(stack.registers),
            &mut self.cache,
            &mut read,
        );
        let mut addresses = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            addresses.push(match frame {
                // The instruction pointer is after the system call's instruction.
                FrameAddress::InstructionPointer(address) => address.saturating_sub(1),
                FrameAddress::ReturnAddress(_) => frame.address_for_lookup(),
            });
            if addresses.len() >= MOST_FRAMES {
                break;
            }
        }
        addresses
    }
}

#[cfg(target_arch = "x86_64")]
fn registers([instruction, stack, frame, _]: [u64; 4]) -> framehop::UnwindRegsNative {
    framehop::UnwindRegsNative::new(instruction, stack, frame)
}

#[cfg(target_arch = "aarch64")]
fn registers([_, stack, frame, link]: [u64; 4]) -> framehop::UnwindRegsNative {
    framehop::UnwindRegsNative::new(link, stack, frame)
}

/// Returns whether a file is a shared object of the system that many programs use to write.
fn is_library(name: &str) -> bool {
    name.starts_with("ld-") || name.contains(".so")
}

/// The largest number of programs in memory, because each keeps its files open.
const MOST_PROGRAMS: usize = 24;
const MOST_FRAMES: usize = 48;
/// The C library's functions that write, without their underscores, as a static program has them.
const C_WRITES: [&str; 14] = [
    "write",
    "writev",
    "pwritev2",
    "send",
    "sendto",
    "sendmsg",
    "sendmmsg",
    "sendfile",
    "sendfile64",
    "splice",
    "syscall",
    "fflush",
    "fwrite",
    "GI_write",
];
/// The prefixes of functions in language libraries (Rust's, Go's, C++'s), whose callers are of
/// interest.
const RUNTIMES: [&str; 23] = [
    "_start",
    "std::",
    "core::",
    "alloc::",
    "tokio::",
    "mio::",
    "socket2::",
    "rustls::",
    "hyper::",
    "futures",
    "syscall.",
    "runtime.",
    "runtime/",
    "internal/",
    "net.",
    "net/http.",
    "bufio.",
    "io.",
    "fmt.",
    "crypto/",
    "dyn core::",
    "dyn std::",
    "impl std::",
];
