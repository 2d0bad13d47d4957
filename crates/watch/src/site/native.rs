//! Unwinds stacks of native code from the copied octets, and names the functions by the program's
//! own symbols.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Sym, Symbolized, Symbolizer};
use framehop::{CacheNative, FrameAddress, Module, Unwinder, UnwinderNative};
use memmap2::Mmap;

use super::go::{Go, Place};
use super::maps::Running;
use super::perf_map::PerfMaps;
use super::runtimes::{self, is_runtime};
use super::sections::{Section, Sections};
use super::snapshot::{Mapping, Snapshot};
use super::{MOST_PROGRAMS, Named, Stack, StackFrame, Unresolved, maps};

/// Programs whose stacks were unwound.
pub(super) struct Programs {
    known: HashMap<u32, Program>,
    symbols: Symbolizer,
    made: PerfMaps,
    /// The files of all programs by device and inode: programs that end soon have them in common.
    files: HashMap<(u64, u64), Rc<Code>>,
}

/// A file that code is run from.
struct Code {
    file: File,
    octets: Option<Rc<Mmap>>,
    go: Option<Go>,
}

impl Default for Programs {
    fn default() -> Self {
        Self {
            known: HashMap::new(),
            symbols: Symbolizer::builder().enable_demangling(false).build(),
            files: HashMap::new(),
            made: PerfMaps::default(),
        }
    }
}

impl Programs {
    /// Returns the functions on `stack`, the innermost first, and the interpreter that runs the program, if one does. The
    /// code is that of `snapshot`, or is known from the last one.
    pub(super) fn frames(&mut self, stack: &Stack<'_>, snapshot: Option<Snapshot>) -> Named {
        if let Some(snapshot) = snapshot {
            self.learn(stack.pid, snapshot);
        }
        let Some(program) = self.known.get_mut(&stack.pid) else {
            return Named::default();
        };
        if program.modules.is_empty() {
            // It had ended.
            return Named::default();
        }
        let mut addresses = program.unwind(stack);
        // What stands in front of the C library's calls is nobody's call site.
        let hooks = addresses
            .iter()
            .take_while(|&&address| program.is_hook(address))
            .count();
        addresses.drain(..hooks);
        let program = &self.known[&stack.pid];
        let interpreter = program.interpreter(&addresses);
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
        (frames, interpreter)
    }

    fn learn(&mut self, pid: u32, snapshot: Snapshot) {
        if self.known.len() >= MOST_PROGRAMS && !self.known.contains_key(&pid) {
            self.known.clear();
        }
        let known = self.known.get(&pid);
        if known.is_some_and(|known| known.running != snapshot.running) {
            self.made.forget(pid);
        }
        if self.files.len() >= MOST_FILES {
            self.files.retain(|_, code| Rc::strong_count(code) > 1);
        }
        let program = Program::of(snapshot, &mut self.files);
        self.known.insert(pid, program);
    }
}

/// Names the function at `address` from the code's file, which stays open after its process ends.
fn name(symbols: &Symbolizer, address: u64, program: &Program, frames: &mut Vec<StackFrame>) {
    let module = program.module(address);
    let named = module
        .and_then(|module| Some((module, module.code.as_ref()?)))
        .and_then(|(module, code)| {
            let file = code.file.as_raw_fd();
            let source = Source::Elf(Elf::new(format!("/proc/self/fd/{file}")));
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

fn frame_of_go(place: &Place<'_>, is_library: bool) -> StackFrame {
    StackFrame {
        function: place.function.to_owned(),
        file: place.file.map(str::to_owned),
        line: place.line,
        is_library: is_library || is_runtime(place.function, place.file),
    }
}

/// Adds a symbol's functions; the inlined ones come first.
fn frames_of(symbol: &Sym<'_>, is_library: bool, frames: &mut Vec<StackFrame>) {
    for inlined in symbol.inlined.iter().rev() {
        let place = inlined.code_info.as_ref();
        frames.push(frame(&inlined.name, place, is_library));
    }
    frames.push(frame(&symbol.name, symbol.code_info.as_deref(), is_library));
}

fn frame(
    name: &str,
    place: Option<&blazesym::symbolize::CodeInfo<'_>>,
    is_library: bool,
) -> StackFrame {
    let function = demangled(name);
    let file = place.map(|place| place.to_path().to_string_lossy().into_owned());
    StackFrame {
        is_library: is_library || is_runtime(&function, file.as_deref()),
        function,
        file,
        line: place.and_then(|place| place.line),
    }
}

/// Returns the name as it stands in the source. Only names that a compiler of Rust or C++ mangled are changed: a C
/// function `h` is no `unsigned char`.
fn demangled(name: &str) -> String {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}");
    }
    let of_cpp = name
        .starts_with("_Z")
        .then(|| cpp_demangle::Symbol::new(name).ok());
    let options = cpp_demangle::DemangleOptions::default()
        .no_params()
        .no_return_type();
    of_cpp
        .flatten()
        .and_then(|symbol| symbol.demangle_with_options(&options).ok())
        .unwrap_or_else(|| name.to_owned())
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
    code: Option<Rc<Code>>,
    interpreter: Option<Unresolved>,
}

impl Code {
    /// Returns the file as it is known from another process, or reads it.
    fn of(file: File, files: &mut HashMap<(u64, u64), Rc<Self>>) -> Option<Rc<Self>> {
        let about = file.metadata().ok()?;
        let opened = files.entry((about.dev(), about.ino()));
        let opened = opened.or_insert_with(|| {
            let octets = maps::octets(&file);
            let go = octets.as_ref().and_then(Go::of);
            Rc::new(Self { file, octets, go })
        });
        Some(Rc::clone(opened))
    }
}

impl Mapped {
    /// Returns the functions at `address` by Go's own tables; none if the file has none.
    fn go_places(&self, address: u64) -> Vec<Place<'_>> {
        let go = self.code.as_ref().and_then(|code| code.go.as_ref());
        go.map_or_else(Vec::new, |go| go.places(address.wrapping_sub(self.bias)))
    }
}

impl Program {
    fn of(snapshot: Snapshot, files: &mut HashMap<(u64, u64), Rc<Code>>) -> Self {
        let mut unwinder = UnwinderNative::new();
        let mut modules = Vec::new();
        for Mapping {
            range,
            offset,
            path,
            file,
        } in snapshot.code
        {
            let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
            let interpreter = runtimes::interpreter(&name);
            let is_library = is_library(&name) || interpreter.is_some();
            let mut bias = range.start - offset;
            let code = file.and_then(|file| Code::of(file, files));
            if let Some(octets) = code.as_ref().and_then(|code| code.octets.as_ref())
                && let Some(sections) = Sections::of(octets, offset)
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
                code,
                interpreter,
            });
        }
        Self {
            running: snapshot.running,
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

    /// Returns the interpreter whose code is among `addresses`, the innermost. Another program that only contains an
    /// interpreter has functions of its own.
    fn interpreter(&self, addresses: &[u64]) -> Option<Unresolved> {
        let mut modules = addresses.iter().filter_map(|&address| self.module(address));
        let on_stack = modules.find_map(|module| module.interpreter.clone());
        // Code that was made at run time may not be unwound as far as to its virtual machine.
        on_stack.or_else(|| {
            let made = addresses.iter().any(|&address| !self.has(address));
            let mut all = self.modules.iter().filter(|_| made || addresses.len() < 2);
            all.find_map(|module| module.interpreter.clone())
        })
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
    fn unnamed(&self, address: u64) -> StackFrame {
        let (function, is_library) = match self.module(address) {
            Some(module) => {
                let at = address.wrapping_sub(module.bias);
                (format!("{}+{at:#x}", module.name), module.is_library)
            }
            None => (format!("{address:#x}"), true),
        };
        StackFrame {
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

/// From this number on files are closed that no program in memory has mapped.
const MOST_FILES: usize = 128;
const MOST_FRAMES: usize = 48;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_mangled_is_demangled() {
        for c in ["h", "v", "f", "St", "main", "Znew", "_start"] {
            assert_eq!(demangled(c), c);
        }
        assert_eq!(
            demangled("_ZN4core3fmt5Write9write_str17h0123456789abcdefE"),
            "core::fmt::Write::write_str"
        );
        assert_eq!(demangled("_ZN6server6answerEi"), "server::answer");
        assert_eq!(demangled("_RNvC6_123foo3bar"), "123foo::bar");
    }
}
