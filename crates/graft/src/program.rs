//! Reads a program's file: what it is, and where its system calls pass.

use object::elf;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection};

/// A program whose system calls pass through known places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The version of Go it was built with, such as `go1.22.12`, if the file says so.
    pub version: Option<String>,
    /// The places, in the order of [`Shape`].
    pub sites: Vec<Site>,
    /// The lowest and the highest address of the file's segments, as the file has them.
    pub span: (u64, u64),
    /// Where the file's header is loaded, as the file has it.
    pub base: u64,
}

/// One place where a jump goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// What stands there.
    pub shape: Shape,
    /// Its address, as the file has it.
    pub address: u64,
}

/// A sequence of instructions that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Go's `Syscall6` (1.19 and later): four moves and a SYSCALL.
    GoSyscall,
    /// Go's `runtime.futex`.
    GoFutex,
    /// musl's `__syscall_cp_c` (1.2.3 to 1.2.5, without `pthread_cancel`): seven moves, a SYSCALL and
    /// a return. Its calls that may wait pass here, and its writes.
    MuslSyscall,
}

impl Shape {
    /// Returns the octets that must be there, in the file and at run time.
    #[must_use]
    pub fn octets(self) -> &'static [u8] {
        match self {
            // mov r10,rsi; mov rdx,rdi; mov rsi,rcx; mov rdi,rbx; syscall
            Self::GoSyscall => b"\x49\x89\xf2\x48\x89\xfa\x48\x89\xce\x48\x89\xdf\x0f\x05",
            // mov rdi,[rsp+8]; mov esi,[rsp+16]; mov edx,[rsp+20]; mov r10,[rsp+24]; mov r8,[rsp+32];
            // mov r9d,[rsp+40]; mov eax,202; syscall
            Self::GoFutex => {
                b"\x48\x8b\x7c\x24\x08\x8b\x74\x24\x10\x8b\x54\x24\x14\x4c\x8b\x54\x24\x18\
                  \x4c\x8b\x44\x24\x20\x44\x8b\x4c\x24\x28\xb8\xca\x00\x00\x00\x0f\x05"
            }
            // mov rax,rdi; mov r10,r8; mov rdi,rsi; mov r8,r9; mov rsi,rdx; mov r9,[rsp+8]; mov rdx,rcx;
            // syscall; ret
            Self::MuslSyscall => {
                b"\x48\x89\xf8\x4d\x89\xc2\x48\x89\xf7\x4d\x89\xc8\x48\x89\xd6\x4c\x8b\x4c\x24\x08\
                  \x48\x89\xca\x0f\x05\xc3"
            }
        }
    }
}

/// Why nothing can be put into a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is not an ELF file for x86-64.
    #[error("is no program for x86-64 Linux")]
    NotOurs,
    /// It is neither a Go program nor statically linked.
    #[error("is neither a Go program nor statically linked")]
    NotGo,
    /// It is statically linked, but not with a musl whose calls pass through the known place.
    #[error(
        "is statically linked, but not with musl's usual `__syscall_cp_c`, the one place of static C programs that is \
         known (found {0} times; a program that uses pthread_cancel has another)"
    )]
    Static(usize),
    /// A place that must be there once is there another number of times.
    #[error("has {found} places that look like Go's {name} where one is expected")]
    Sites {
        /// Which.
        name: &'static str,
        /// How many.
        found: usize,
    },
    /// It was built with a version of Go that nobody has tried.
    #[error("was built with {0}, which was not tried (tried: go1.19 to go1.26)")]
    Version(String),
}

/// Reads the file of a program.
///
/// # Errors
/// [`Refused`] says why nothing can be put into it.
pub fn read(bytes: &[u8]) -> Result<Program, Refused> {
    let file = ElfFile64::<Endianness>::parse(bytes).map_err(|_| Refused::NotOurs)?;
    let endian = file.endian();
    if file.elf_header().e_machine(endian) != elf::EM_X86_64 {
        return Err(Refused::NotOurs);
    }
    let names_go = |name: &str| matches!(name, ".go.buildinfo" | ".note.go.buildid" | ".gopclntab");
    let mut sections = file.sections();
    let is_go = sections.any(|section| section.name().is_ok_and(names_go));
    let mut headers = file.elf_program_headers().iter();
    if !is_go && headers.any(|header| header.p_type(endian) == elf::PT_INTERP) {
        return Err(Refused::NotGo);
    }
    let version = version(&file);
    if let Some(version) = &version
        && !is_tried(version)
    {
        return Err(Refused::Version(version.clone()));
    }
    let loaded = || {
        let headers = file.elf_program_headers().iter();
        headers.filter(|header| header.p_type(endian) == elf::PT_LOAD)
    };
    let found = |shape: Shape| {
        let mut found = Vec::new();
        for header in loaded().filter(|header| header.p_flags(endian) & elf::PF_X != 0) {
            let data = header.data(endian, bytes).map_err(|()| Refused::NotOurs)?;
            let matches = data
                .windows(shape.octets().len())
                .enumerate()
                .filter(|(_, window)| *window == shape.octets());
            found.extend(matches.map(|(at, _)| header.p_vaddr(endian) + at as u64));
        }
        Ok(found)
    };
    let site = |shape: Shape, refused: &dyn Fn(usize) -> Refused| match found(shape)?[..] {
        [address] => Ok(Site { shape, address }),
        ref found => Err(refused(found.len())),
    };
    let of_go = |name| move |found| Refused::Sites { name, found };
    let sites = if is_go {
        vec![
            site(Shape::GoSyscall, &of_go("Syscall6"))?,
            site(Shape::GoFutex, &of_go("futex"))?,
        ]
    } else {
        let site = site(Shape::MuslSyscall, &Refused::Static)?;
        // Where pthread_cancel is linked in, the same octets are there, but nothing leads to them.
        let mut code = loaded().filter(|header| header.p_flags(endian) & elf::PF_X != 0);
        let is_used = code.any(|header| {
            let data = header.data(endian, bytes).unwrap_or_default();
            leads_to(site.address, header.p_vaddr(endian), data)
        });
        if !is_used {
            return Err(Refused::Static(0));
        }
        vec![site]
    };
    let low = loaded().map(|header| header.p_vaddr(endian)).min();
    let high = loaded()
        .map(|header| {
            header
                .p_vaddr(endian)
                .saturating_add(header.p_memsz(endian))
        })
        .max();
    let base = loaded()
        .find(|header| header.p_offset(endian) == 0)
        .map(|header| header.p_vaddr(endian));
    Ok(Program {
        version,
        sites,
        span: (low.unwrap_or(0), high.unwrap_or(0)),
        base: base.ok_or(Refused::NotOurs)?,
    })
}

/// Returns whether a jump or a call with a distance of 32 bits leads from this code to `address`.
fn leads_to(address: u64, start: u64, code: &[u8]) -> bool {
    code.windows(5).enumerate().any(|(at, window)| {
        let [0xe8 | 0xe9, a, b, c, d] = *window else {
            return false;
        };
        let distance = i64::from(i32::from_le_bytes([a, b, c, d]));
        let next = start.wrapping_add(at as u64 + 5);
        next.wrapping_add_signed(distance) == address
    })
}

/// Returns the version of Go that the build information names (Go 1.18 and later write it in place:
/// 32 octets of header, then the version with its length before it).
fn version(file: &ElfFile64<'_>) -> Option<String> {
    let data = file.section_by_name(".go.buildinfo")?.data().ok()?;
    if !data.starts_with(b"\xff Go buildinf:") || data.get(15)? & 2 == 0 {
        return None;
    }
    let length = usize::from(*data.get(32)?);
    // Longer ones have a length of two octets; no version of Go has.
    let text = data.get(33..33 + length).filter(|_| length < 128)?;
    String::from_utf8(text.to_vec()).ok()
}

/// Returns whether programs built with this version were tried.
fn is_tried(version: &str) -> bool {
    let minor = version
        .strip_prefix("go1.")
        .map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    let minor = minor.flatten().and_then(|text| text.parse::<u32>().ok());
    minor.is_some_and(|minor| TRIED.contains(&minor))
}

/// The minor versions of Go 1 whose programs were tried.
const TRIED: std::ops::RangeInclusive<u32> = 19..=26;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_with_their_patches() {
        for tried in ["go1.19", "go1.22.12", "go1.26rc1", "go1.26.8 X:nodwarf5"] {
            assert!(is_tried(tried), "{tried}");
        }
        for other in ["go1.18.10", "go1.27", "devel go1.27-abc", ""] {
            assert!(!is_tried(other), "{other}");
        }
    }

    #[test]
    fn what_is_no_program_is_refused() {
        assert_eq!(read(b"#!/bin/sh\n"), Err(Refused::NotOurs));
        let own = std::fs::read("/proc/self/exe").unwrap();
        assert_eq!(read(&own), Err(Refused::NotGo));
    }
}
