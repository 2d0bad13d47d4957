//! Finds out the kind of a program file, as far as it matters for loading a library into it. The
//! file is read in small pieces, because there is no memory for a whole file.

use std::ffi::CStr;

use libc::c_int;

use crate::kernel;

/// The kind of a program, as the dynamic linker would see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// The library can be loaded into it; or it is not an ELF file, and the program that runs it
    /// will be checked then.
    Loadable,
    /// It names no dynamic linker.
    Static,
    /// It is a 32-bit program, or names the dynamic linker of another C library.
    OtherLinker,
    /// It is built with a sanitizer, which refuses to start behind another library.
    Sanitized,
}

/// Returns the kind of the program at `path`.
pub(crate) fn program(path: &CStr) -> Program {
    // SAFETY: a C string; the descriptor is our own.
    unsafe {
        let fd: c_int = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return Program::Loadable;
        }
        let kind = File(fd).kind();
        kernel::close(fd);
        kind
    }
}

#[derive(Clone, Copy)]
struct File(c_int);

/// The place of a segment.
#[derive(Clone, Copy, Default)]
struct Segment {
    kind: u64,
    offset: u64,
    address: u64,
    length: u64,
}

impl File {
    fn kind(self) -> Program {
        let mut start = [0; 64];
        if self.read(0, &mut start).is_none() || !start.starts_with(b"\x7fELF") {
            return Program::Loadable;
        }
        if start[4] != libc::ELFCLASS64 {
            return Program::OtherLinker;
        }
        let (offset, count) = (number(&start, 32, 8), number(&start, 56, 2));
        let segments =
            || (0..count).filter_map(move |nth| self.segment(offset.saturating_add(nth * 56)));
        let of = |kind| segments().find(|segment| segment.kind == u64::from(kind));
        let Some(linker) = of(libc::PT_INTERP) else {
            return Program::Static;
        };
        // The end of its path, which may be long, without the NUL.
        let mut name = [0; LINKER.len()];
        let end = linker.offset.saturating_add(linker.length);
        let start = end
            .saturating_sub(LINKER.len() as u64 + 1)
            .max(linker.offset);
        if self.read(start, &mut name).is_some() && name[..] != *LINKER {
            return Program::OtherLinker;
        }
        let loaded = || segments().filter(|segment| segment.kind == u64::from(libc::PT_LOAD));
        let strings = of(libc::PT_DYNAMIC).and_then(|dynamic| self.strings(dynamic, loaded()));
        match strings {
            Some(strings) if self.names_a_sanitizer(strings) => Program::Sanitized,
            _ => Program::Loadable,
        }
    }

    fn segment(self, offset: u64) -> Option<Segment> {
        let mut header = [0; 56];
        self.read(offset, &mut header)?;
        Some(Segment {
            kind: number(&header, 0, 4),
            offset: number(&header, 8, 8),
            address: number(&header, 16, 8),
            length: number(&header, 32, 8),
        })
    }

    /// Returns the place of the strings that name its libraries and dynamic symbols.
    fn strings(self, dynamic: Segment, loaded: impl Iterator<Item = Segment>) -> Option<Segment> {
        let (mut address, mut length) = (None, None);
        for nth in 0..(dynamic.length / 16).min(MOST_ENTRIES) {
            let mut entry = [0; 16];
            self.read(dynamic.offset.saturating_add(nth * 16), &mut entry)?;
            match number(&entry, 0, 8) {
                DT_NULL => break,
                DT_STRTAB => address = Some(number(&entry, 8, 8)),
                DT_STRSZ => length = Some(number(&entry, 8, 8)),
                _ => {}
            }
        }
        let (address, length) = (address?, length?);
        let holds = |one: &Segment| {
            (one.address..one.address.saturating_add(one.length)).contains(&address)
        };
        let segment = { loaded }.find(holds)?;
        Some(Segment {
            kind: 0,
            offset: segment.offset.saturating_add(address - segment.address),
            address,
            length,
        })
    }

    /// Returns whether it needs a sanitizer's library, or has a symbol of one that is linked in.
    fn names_a_sanitizer(self, strings: Segment) -> bool {
        let mut piece = [0; 2048];
        let mut at = 0;
        while at < strings.length.min(MOST_STRINGS) {
            let wanted = ((strings.length - at) as usize).min(piece.len());
            if self
                .read(strings.offset.saturating_add(at), &mut piece[..wanted])
                .is_none()
            {
                return false;
            }
            let found = |mark: &&[u8]| {
                piece[..wanted]
                    .windows(mark.len())
                    .any(|part| part == *mark)
            };
            if MARKS.iter().any(found) {
                return true;
            }
            if wanted < piece.len() {
                break;
            }
            // A name may span the end of a piece.
            at += (piece.len() - OVERLAP) as u64;
        }
        false
    }

    /// Fills `into`; `None` if there is less to read.
    fn read(self, offset: u64, into: &mut [u8]) -> Option<()> {
        // SAFETY: at most the buffer's length is read.
        let got = unsafe {
            libc::pread(
                self.0,
                into.as_mut_ptr().cast(),
                into.len(),
                offset as libc::off_t,
            )
        };
        (usize::try_from(got) == Ok(into.len())).then_some(())
    }
}

/// Returns the little-endian number of `len` octets at `at`.
fn number(bytes: &[u8], at: usize, len: usize) -> u64 {
    let octets = bytes.iter().skip(at).take(len).rev();
    octets.fold(0, |sum, octet| sum << 8 | u64::from(*octet))
}

/// The dynamic linker of the C library that this library is made for, wherever it is installed.
#[cfg(target_env = "gnu")]
const LINKER: &[u8] = b"/ld-linux-x86-64.so.2";
#[cfg(not(target_env = "gnu"))]
const LINKER: &[u8] = b"/ld-musl-x86_64.so.1";
/// The names of the libraries of AddressSanitizer and similar tools, and a symbol of each.
const MARKS: [&[u8]; 6] = [
    b"libasan.so",
    b"libtsan.so",
    b"libmsan.so",
    b"\0__asan_init\0",
    b"\0__tsan_init\0",
    b"\0__msan_init\0",
];
const OVERLAP: usize = 16;
const MOST_ENTRIES: u64 = 256;
const MOST_STRINGS: u64 = 1 << 20;
const DT_NULL: u64 = 0;
const DT_STRTAB: u64 = 5;
const DT_STRSZ: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_can_be_loaded_into_and_a_text_is_none() {
        assert_eq!(program(c"/proc/self/exe"), Program::Loadable);
        assert_eq!(program(c"/proc/self/status"), Program::Loadable);
        assert_eq!(program(c"/nowhere"), Program::Loadable);
    }

    /// Returns the kind of a program with one header, which names this dynamic linker.
    fn naming(linker: &CStr) -> Program {
        let name = linker.to_bytes_with_nul();
        let mut program = vec![0; 64 + 56];
        program[..5].copy_from_slice(b"\x7fELF\x02");
        program[32] = 64; // e_phoff
        program[56] = 1; // e_phnum
        program[64] = libc::PT_INTERP as u8;
        program[64 + 8] = 120; // p_offset
        program[64 + 32] = name.len() as u8; // p_filesz
        program.extend(name);
        program.resize(256, 0);
        // SAFETY: a name, a buffer and its length; the descriptor is our own.
        unsafe {
            let fd = libc::memfd_create(c"program".as_ptr(), 0);
            assert_eq!(libc::write(fd, program.as_ptr().cast(), program.len()), 256);
            let kind = File(fd).kind();
            libc::close(fd);
            kind
        }
    }

    #[test]
    fn the_dynamic_linker_is_known_by_its_name_wherever_it_is() {
        assert_eq!(naming(c"/lib64/ld-linux-x86-64.so.2"), Program::Loadable);
        let far =
            c"/nix/store/0123456789abcdfghijklmnpqrsvwxyz-glibc-2.40-66/lib/ld-linux-x86-64.so.2";
        assert_eq!(naming(far), Program::Loadable);
        assert_eq!(naming(c"/lib/ld-musl-x86_64.so.1"), Program::OtherLinker);
        assert_eq!(naming(c"/ld.so"), Program::OtherLinker);
    }

    #[test]
    fn numbers_are_read_the_lowest_octet_first() {
        assert_eq!(number(&[0, 1, 2, 0], 1, 2), 0x201);
        assert_eq!(number(&[1], 1, 8), 0);
    }
}
