//! Reads a program's file: what it is, and where its system calls pass.

use object::elf;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection};

use crate::glibc;
use crate::shape::MUSL_CANCELLABLE;
pub use crate::shape::{Shape, Site};

/// A program whose system calls pass through known places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The version of Go it was built with, such as `go1.22.12`, if the file says so.
    pub version: Option<String>,
    /// Whether its version of Go was tried, or it is no Go program.
    pub is_tried: bool,
    /// The places.
    pub sites: Vec<Site>,
    /// The lowest and the highest address of the file's segments, as the file has them.
    pub span: (u64, u64),
    /// Where the file's header is loaded, as the file has it.
    pub base: u64,
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
    /// It is statically linked, but neither with a musl whose calls pass through the known place nor with
    /// glibc.
    #[error(
        "is statically linked, but neither with glibc nor with a musl whose system calls pass in a known place (found {0} times)"
    )]
    Static(usize),
    /// It is linked with glibc, and waits in a place of a shape that is not known.
    #[error(
        "is statically linked with glibc, and makes the system call {number}, which may wait, in an unknown way at {address:#x}"
    )]
    Waits {
        /// Where its SYSCALL is.
        address: u64,
        /// The call.
        number: u32,
    },
    /// It is linked with glibc, and has no place that writes.
    #[error("is statically linked with glibc, and has no known place that writes to a socket")]
    NoWrites,
    /// A place that must be there once is there another number of times.
    #[error("has {found} places that look like Go's {name} where one is expected")]
    Sites {
        /// Which.
        name: &'static str,
        /// How many.
        found: usize,
    },
    /// It was built with a version of Go that nobody has tried.
    #[error(
        "was built with {0}, which was not tried (tried: go1.{first} to go1.{last}; --try goes on, if its first calls are like theirs)",
        first = TRIED.start(),
        last = TRIED.end()
    )]
    Version(String),
}

impl From<glibc::UnknownWait> for Refused {
    fn from(glibc::UnknownWait { address, number }: glibc::UnknownWait) -> Self {
        Self::Waits { address, number }
    }
}

/// Reads the file of a program.
///
/// # Errors
/// [`Refused`] says why nothing can be put into it. A Go program whose version was not tried is refused by
/// [`Program::tried`] alone.
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
    let is_tried = !is_go || version.as_deref().is_some_and(is_tried);
    let loaded = || {
        let headers = file.elf_program_headers().iter();
        headers.filter(|header| header.p_type(endian) == elf::PT_LOAD)
    };
    let code = loaded()
        .filter(|header| header.p_flags(endian) & elf::PF_X != 0)
        .map(|header| Ok((header.p_vaddr(endian), header.data(endian, bytes)?)))
        .collect::<Result<Vec<_>, ()>>()
        .map_err(|()| Refused::NotOurs)?;
    let site = |shape: Shape, refused: &dyn Fn(usize) -> Refused| match matches(
        &code,
        &shape.octets(),
    )[..]
    {
        [address] => Ok(Site { shape, address }),
        ref found => Err(refused(found.len())),
    };
    let of_go = |name| move |found| Refused::Sites { name, found };
    let sites = if is_go {
        let mut sites = vec![
            site(Shape::GoSyscall, &of_go("Syscall6"))?,
            site(Shape::GoFutex, &of_go("futex"))?,
        ];
        // Without it the watchdog is woken more often.
        sites.extend(site(Shape::GoUsleep, &of_go("usleep")).ok());
        sites
    } else if is_glibc(&file) {
        let mut sites = Vec::new();
        for (start, data) in &code {
            sites.extend(glibc::sites(*start, data)?);
        }
        if !glibc::can_hold(&sites) {
            return Err(Refused::NoWrites);
        }
        sites
    } else {
        vec![of_musl(&code)?]
    };
    let ends = |header: &elf::ProgramHeader64<Endianness>| {
        let begin = header.p_vaddr(endian);
        (begin, begin.saturating_add(header.p_memsz(endian)))
    };
    let low = loaded().map(|header| ends(header).0).min();
    let high = loaded().map(|header| ends(header).1).max();
    let base = loaded()
        .find(|header| header.p_offset(endian) == 0)
        .map(|header| header.p_vaddr(endian));
    Ok(Program {
        version,
        is_tried,
        sites,
        span: (low.unwrap_or(0), high.unwrap_or(0)),
        base: base.ok_or(Refused::NotOurs)?,
    })
}

impl Program {
    /// Refuses a Go program whose version was not tried.
    ///
    /// # Errors
    /// [`Refused::Version`].
    pub fn tried(self) -> Result<Self, Refused> {
        if self.is_tried {
            return Ok(self);
        }
        let version = self.version;
        Err(Refused::Version(version.unwrap_or_else(|| {
            "a version of Go that it does not name".to_owned()
        })))
    }
}

/// Returns the addresses of these octets in segments of code.
fn matches(code: &[(u64, &[u8])], octets: &[u8]) -> Vec<u64> {
    let in_one = |(start, data): &(u64, &[u8])| {
        let windows = data.windows(octets.len()).enumerate();
        let found = windows.filter(|(_, window)| *window == octets);
        let addresses = found.map(|(at, _)| start + at as u64);
        addresses.collect::<Vec<_>>()
    };
    code.iter().flat_map(in_one).collect()
}

/// Returns the one place of a program that is linked with musl. Where `pthread_cancel` is linked in, the octets of
/// the usual place are there, too, but nothing leads to them.
fn of_musl(code: &[(u64, &[u8])]) -> Result<Site, Refused> {
    let shape = Shape::MuslSyscall;
    let usual = matches(code, &shape.octets());
    if let [address] = usual[..]
        && !leading_to(address, code, &[0xe8, 0xe9]).is_empty()
    {
        return Ok(Site { shape, address });
    }
    let [function] = matches(code, MUSL_CANCELLABLE)[..] else {
        return Err(Refused::Static(usual.len()));
    };
    match leading_to(function, code, &[0xe8])[..] {
        [(address, distance)] => Ok(Site {
            shape: Shape::MuslCancellable(distance),
            address,
        }),
        ref calls => Err(Refused::Static(calls.len())),
    }
}

/// Returns the instructions with a distance of 32 bits that lead to `address`, with their distances: calls
/// (0xe8) or jumps (0xe9), as `opcodes` says.
fn leading_to(address: u64, code: &[(u64, &[u8])], opcodes: &[u8]) -> Vec<(u64, i32)> {
    let in_one = |(start, data): &(u64, &[u8])| {
        let leads = |(at, window): (usize, &[u8])| {
            let (opcode, distance) = window.split_first()?;
            let distance = i32::from_le_bytes(distance.try_into().ok()?);
            let place = start.wrapping_add(at as u64);
            let to = place.wrapping_add(5).wrapping_add_signed(distance.into());
            (opcodes.contains(opcode) && to == address).then_some((place, distance))
        };
        data.windows(5)
            .enumerate()
            .filter_map(leads)
            .collect::<Vec<_>>()
    };
    code.iter().flat_map(in_one).collect()
}

/// Returns whether a static program is linked with glibc, whose tables of streams have a section of their own.
fn is_glibc(file: &ElfFile64<'_>) -> bool {
    file.section_by_name("__libc_IO_vtables").is_some()
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
const TRIED: std::ops::RangeInclusive<u32> = 19..=27;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_with_their_patches() {
        for tried in [
            "go1.19",
            "go1.22.12",
            "go1.26rc1",
            "go1.26.8 X:nodwarf5",
            "go1.27.4",
        ] {
            assert!(is_tried(tried), "{tried}");
        }
        for other in ["go1.18.10", "go1.28", "devel go1.28-abc", ""] {
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
