//! Puts the object and the jumps into a program that stands still.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use libc::pid_t;

use crate::journal::{JournalError, Patch};
use crate::layout::Shared;
use crate::object::{Cells, Object};
use crate::program::{Program, Shape, Site};
use crate::shape::MUSL_CANCELLABLE;
use crate::shared::{Mapping, Settings};
use crate::threads::Threads;
use crate::tracee::{Tracee, number_inside};

/// Why nothing was put into a process.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// The kernel refused something.
    #[error("{doing}: {error}")]
    Kernel {
        /// What.
        doing: &'static str,
        /// Why.
        error: io::Error,
    },
    /// What is in memory is not what is in the file.
    #[error("the program's code in memory is not that of its file")]
    Differs,
    /// It must not be changed.
    #[error("{0}")]
    Unfit(&'static str),
    /// It may not be traced, and why.
    #[error("{0}")]
    Untraceable(String),
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// There is no room within two gigabytes of the code.
    #[error("there is no room for the code near the program's own")]
    NoRoom,
}

fn doing<T>(doing: &'static str, result: io::Result<T>) -> Result<T, Failed> {
    result.map_err(|error| Failed::Kernel { doing, error })
}

/// What lies ready in a process.
#[derive(Debug)]
pub(crate) struct Planted {
    /// The shared memory.
    pub(crate) mapping: Mapping,
    /// Where it is in the process, and its length.
    pub(crate) shared: (u64, u64),
    /// Where the code is, and its length.
    pub(crate) code: (u64, u64),
    /// The jumps that lead to the code, which have not been written yet.
    pub(crate) jumps: Vec<Patch>,
    /// Places within the jumps, each with the place in the code where a thread goes on that is there.
    pub(crate) moved: Vec<(u64, u64)>,
}

/// Maps the rule's memory and code in the process that `tracee` has stopped; `scratch` is executable
/// code of its. Nothing of the program is changed yet.
pub(crate) fn plant(
    tracee: &Tracee,
    scratch: u64,
    pidfd: &OwnedFd,
    program: &Program,
    bias: u64,
    object: &Object,
) -> Result<Planted, Failed> {
    verify(tracee, program, bias)?;
    let (mapping, shared) = share(tracee, pidfd, scratch)?;
    // Behind the code a page of its own, which is never executable.
    let thunks = object.octets.len() as u64;
    let needed = thunks + (program.sites.len() * THUNK) as u64;
    let executable = needed.next_multiple_of(PAGE);
    let length = executable + PAGE;
    let here = map_near(tracee, scratch, program, bias, length)?;
    let code = object.with(cells(program, bias, shared, here + executable));
    doing("writing code", tracee.write(here, &code))?;
    let read_execute = (libc::PROT_READ | libc::PROT_EXEC) as u64;
    let call = |number, arguments| tracee.call(scratch, number, arguments);
    doing(
        "protecting code",
        call(
            libc::SYS_mprotect,
            [here, executable, read_execute, 0, 0, 0],
        ),
    )?;
    let wipe = libc::MADV_WIPEONFORK as u64;
    doing(
        "telling children apart",
        call(libc::SYS_madvise, [here + executable, PAGE, wipe, 0, 0, 0]),
    )?;
    let alive = tracee.write(here + executable, &1_u64.to_le_bytes());
    doing("telling children apart", alive)?;
    let mut jumps = Vec::new();
    let mut moved = Vec::new();
    for (index, site) in program.sites.iter().enumerate() {
        let from = site.address + bias;
        let thunk = here + thunks + (index * THUNK) as u64;
        let to = match site.shape {
            Shape::GoSyscall => here + object.go_syscall,
            Shape::GoFutex => here + object.go_futex,
            Shape::GoUsleep => here + object.go_usleep,
            Shape::MuslSyscall => here + object.musl_syscall,
            Shape::MuslCancellable(_) => here + object.musl_cancellable,
            Shape::GlibcSyscall(_) | Shape::GlibcLoads(..) | Shape::GlibcRead => thunk,
        };
        if to == thunk {
            let octets = thunk_of(*site, from, thunk, here + object.glibc_syscall);
            doing("writing code", tracee.write(thunk, &octets))?;
        }
        if site.shape == Shape::GlibcRead {
            let own = thunk + OWN_SYSCALL;
            moved.extend([(from + 2, own), (from + 4, own + 2)]);
        }
        let mut after = jump(from, to);
        if matches!(site.shape, Shape::MuslCancellable(_)) {
            after[0] = CALL;
        }
        jumps.push(Patch {
            address: from,
            before: site.shape.octets()[..JUMP].to_vec(),
            after: after.to_vec(),
        });
    }
    Ok(Planted {
        jumps,
        moved,
        mapping,
        shared: (shared, size_of::<Shared>() as u64),
        code: (here, length),
    })
}

/// Returns what the stubs must know; 0 tells them that there is none.
fn cells(program: &Program, bias: u64, shared: u64, alive: u64) -> Cells {
    let mut cells = Cells {
        shared,
        alive,
        ..Cells::default()
    };
    for site in &program.sites {
        let start = site.address + bias;
        match site.shape {
            Shape::GoSyscall => {
                cells.syscall = start + 12;
                cells.syscall_made = start + 14;
            }
            Shape::GoFutex => cells.futex = start + 5,
            Shape::GoUsleep => cells.usleep = start + 5,
            Shape::MuslSyscall => cells.musl = start + 23,
            Shape::MuslCancellable(_) => cells.musl = start.wrapping_add(site.shape.called()),
            Shape::GlibcSyscall(_) | Shape::GlibcLoads(..) | Shape::GlibcRead => {}
        }
    }
    cells
}

/// Makes sure that the process has at each site what the file has there.
fn verify(tracee: &Tracee, program: &Program, bias: u64) -> Result<(), Failed> {
    for site in &program.sites {
        let called = match site.shape {
            Shape::MuslCancellable(_) => MUSL_CANCELLABLE,
            _ => &[],
        };
        let address = site.address + bias;
        for (at, expected) in [
            (address, &*site.shape.octets()),
            (address.wrapping_add(site.shape.called()), called),
        ] {
            let mut there = vec![0; expected.len()];
            doing("reading its code", tracee.read(at, &mut there))?;
            if there != expected {
                return Err(Failed::Differs);
            }
        }
    }
    Ok(())
}

/// Writes the jumps.
pub(crate) fn write_jumps(tracee: &Tracee, jumps: &[Patch]) -> Result<(), Failed> {
    for jump in jumps {
        doing("writing a jump", tracee.write(jump.address, &jump.after))?;
    }
    Ok(())
}

/// Writes the jumps into a process that runs, once no thread is in their octets; returns how long the
/// threads stood still.
pub(crate) fn jump_in(
    pid: pid_t,
    program: &Program,
    bias: u64,
    planted: &Planted,
) -> Result<Duration, Failed> {
    let mut longest = Duration::ZERO;
    for _ in 0..MOST_TRIES {
        let threads = doing("stopping its threads", Threads::stop(pid))?;
        let moved = threads.go_on_elsewhere(&planted.moved);
        doing("moving a thread", moved)?;
        let mut is_free = true;
        for site in &program.sites {
            let inside = interior(site.shape, site.address + bias);
            let free = threads.step_out_of(&inside);
            is_free &= doing("stepping out of the octets", free)?;
        }
        if is_free {
            let tracee = doing("stopping its threads", threads.one())?;
            write_jumps(&tracee, &planted.jumps)?;
            return Ok(longest.max(threads.go_on()));
        }
        longest = longest.max(threads.go_on());
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(Failed::Unfit(
        "a thread of its does not leave the octets that are to be replaced",
    ))
}

/// Returns the addresses at which no thread may be when the first octets of a place become a jump.
fn interior(shape: Shape, address: u64) -> std::ops::Range<u64> {
    match shape {
        // Three octets, then the second instruction.
        Shape::GoSyscall | Shape::MuslSyscall => address + 1..address + JUMP as u64,
        // One instruction of five octets.
        Shape::GoFutex
        | Shape::GoUsleep
        | Shape::MuslCancellable(_)
        | Shape::GlibcSyscall(_)
        | Shape::GlibcLoads(..) => address + 1..address + 1,
        // A thread that waits for something to read stands in it, and was moved.
        Shape::GlibcRead => address + 1..address + JUMP as u64,
    }
}

impl Planted {
    /// Sets the rules. The threads need not stand still for it.
    pub(crate) fn set_up(&self, settings: &Settings, pid: i32) {
        let inside = number_inside(&pid.to_string()).unwrap_or(0);
        self.mapping.set_up(settings, pid as u32, inside);
    }
}

/// Returns what is to be added to the file's addresses.
pub(crate) fn bias(pid: i32, program: &Program) -> Result<u64, Failed> {
    let exe = doing("reading its name", fs::metadata(format!("/proc/{pid}/exe")))?;
    let maps = doing(
        "reading its maps",
        fs::read_to_string(format!("/proc/{pid}/maps")),
    )?;
    use std::os::unix::fs::MetadataExt;
    let start = maps.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (range, offset, inode) = (words.next()?, words.nth(1)?, words.nth(1)?);
        let is_first = inode.parse() == Ok(exe.ino()) && u64::from_str_radix(offset, 16) == Ok(0);
        let start = range.split('-').next()?;
        u64::from_str_radix(start, 16).ok().filter(|_| is_first)
    });
    let start = start.ok_or(Failed::Differs)?;
    // The kernel maps whole pages.
    Ok(start.wrapping_sub(program.base & !0xfff))
}

/// Makes the shared memory in the process's name, so that no path and no namespace matters, and maps
/// it on both sides.
fn share(tracee: &Tracee, pidfd: &OwnedFd, scratch: u64) -> Result<(Mapping, u64), Failed> {
    let call = |number, arguments| tracee.call(scratch, number, arguments);
    // The name is the code at the scratch address up to its first zero octet; any name will do. (It
    // is followed by the kernel's limit of 249, so it is read from where a zero octet is: the stack.)
    let stack = doing("reading registers", tracee.registers())?.rsp;
    let name = stack & !7;
    let mut there = [0; 8];
    doing("reading its stack", tracee.read(name, &mut there))?;
    doing("writing a name", tracee.write(name, b"tngraft\0"))?;
    // Never executable, which some hosts demand (`vm.memfd_noexec`); Linux before 6.3 has no such flag.
    let plain = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    let make = |flags: u32| call(libc::SYS_memfd_create, [name, flags.into(), 0, 0, 0, 0]);
    let made = make(plain | MFD_NOEXEC_SEAL).or_else(|_| make(plain));
    doing("putting its stack back", tracee.write(name, &there))?;
    let fd = doing("making shared memory", made)?;
    let length = size_of::<Shared>() as u64;
    doing(
        "making shared memory",
        call(libc::SYS_ftruncate, [fd, length, 0, 0, 0, 0]),
    )?;
    let read_write = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    let shared = libc::MAP_SHARED as u64;
    let address = doing(
        "mapping shared memory",
        call(libc::SYS_mmap, [0, length, read_write, shared, fd, 0]),
    )?;
    let ours = doing(
        "sharing memory by pidfd_getfd",
        descriptor_of(pidfd, fd as i32),
    )?;
    doing("sharing memory", call(libc::SYS_close, [fd, 0, 0, 0, 0, 0]))?;
    doing("sharing memory", seal(&ours))?;
    let mapping = doing("sharing memory", Mapping::of(&File::from(ours)))?;
    Ok((mapping, address))
}

/// Fixes the length of shared memory for good: a program that made it shorter would end the keeper,
/// which reads it.
fn seal(memory: &OwnedFd) -> io::Result<()> {
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: integers, no memory.
    if unsafe { libc::fcntl(memory.as_raw_fd(), libc::F_ADD_SEALS, seals) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Returns a copy of another process's descriptor.
pub(crate) fn descriptor_of(pidfd: &OwnedFd, fd: i32) -> io::Result<OwnedFd> {
    // SAFETY: returns a new descriptor or fails.
    let copy = unsafe { libc::syscall(libc::SYS_pidfd_getfd, pidfd.as_raw_fd(), fd, 0) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy as i32) })
}

/// Maps room for the code within reach of a jump from the program's own.
fn map_near(
    tracee: &Tracee,
    scratch: u64,
    program: &Program,
    bias: u64,
    length: u64,
) -> Result<u64, Failed> {
    let (low, high) = (program.span.0 + bias, program.span.1 + bias);
    let above = (1..30).map(|step| (high + step * APART) & !0xfff);
    let below = (1..30).filter_map(|step| Some(low.checked_sub(step * APART)? & !0xfff));
    let read_write = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    for address in above.rev().chain(below) {
        let reach = address.abs_diff(low).max(address.abs_diff(high)) + length;
        if reach >= i32::MAX as u64 || address < LOWEST {
            continue;
        }
        let arguments = [address, length, read_write, flags as u64, u64::MAX, 0];
        match tracee.call(scratch, libc::SYS_mmap, arguments) {
            Ok(mapped) if mapped == address => return Ok(mapped),
            _ => {}
        }
    }
    Err(Failed::NoRoom)
}

/// Returns what a place of glibc leads to: the instruction that the jump replaced, the loads behind it, where the
/// SYSCALL is, and a jump to the stub. The SYSCALL of `read` was replaced, too, so its thunk has one.
fn thunk_of(site: Site, from: u64, thunk: u64, stub: u64) -> Vec<u8> {
    let octets = site.shape.octets();
    let (moved, call) = match site.shape {
        Shape::GlibcRead => (2, thunk + OWN_SYSCALL),
        // The number's move, and the loads behind it.
        _ => (octets.len() - 2, from + site.shape.after() - 2),
    };
    let mut code = octets[..moved].to_vec();
    // lea r11,[rip + distance]
    code.extend([0x4c, 0x8d, 0x1d]);
    let next = thunk + code.len() as u64 + 4;
    code.extend((call.wrapping_sub(next) as u32).to_le_bytes());
    code.extend(jump(thunk + code.len() as u64, stub));
    if site.shape == Shape::GlibcRead {
        code.extend(&octets[moved..]);
        let back = from + octets.len() as u64;
        code.extend(jump(thunk + code.len() as u64, back));
    }
    code
}

/// Returns the places in the code where a thread may stand that waits in this `read` of glibc, each with the
/// place in the program where it goes on once the jump is gone; none for other places.
pub(crate) fn moved_back(patch: &Patch) -> Vec<(u64, u64)> {
    let [0xe9, a, b, c, d] = patch.after[..] else {
        return Vec::new();
    };
    if !Shape::GlibcRead.octets().starts_with(&patch.before) {
        return Vec::new();
    }
    let distance = i64::from(i32::from_le_bytes([a, b, c, d]));
    let thunk = (patch.address + JUMP as u64).wrapping_add_signed(distance);
    let own = thunk.wrapping_add(OWN_SYSCALL);
    vec![(own, patch.address + 2), (own + 2, patch.address + 4)]
}

/// Returns a jump of five octets.
fn jump(from: u64, to: u64) -> [u8; JUMP] {
    let distance = to.wrapping_sub(from + 5) as u32;
    let [a, b, c, d] = distance.to_le_bytes();
    [0xe9, a, b, c, d]
}

/// `MFD_NOEXEC_SEAL` of Linux 6.3, which the C library's headers here do not all have.
const MFD_NOEXEC_SEAL: u32 = 8;
/// How often the threads are stopped until none is where it must not be.
const MOST_TRIES: u32 = 100;
/// The kernel's page on x86-64, in octets.
const PAGE: u64 = 4096;
/// The most octets of what a place of glibc leads to.
const THUNK: usize = 40;
/// Where the SYSCALL is in what a `read` of glibc leads to.
const OWN_SYSCALL: u64 = 14;
/// The octets of a jump.
const JUMP: usize = 5;
/// The first octet of a call, which has the length of a jump.
const CALL: u8 = 0xe8;
/// How far apart the addresses are that are tried, from the far end on: near the program is where its
/// heap grows.
const APART: u64 = 64 << 20;
/// The kernel keeps the lowest addresses free (`vm.mmap_min_addr`).
const LOWEST: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Loads;

    /// The thunks of both shapes, octet by octet.
    #[test]
    fn a_thunk_makes_what_the_jump_replaced() {
        let at = |shape| Site {
            shape,
            address: 0x1000,
        };
        let write = thunk_of(at(Shape::GlibcSyscall(1)), 0x1000, 0x3000, 0x2000);
        // mov eax,1; lea r11,[rip+0x1005-0x300c]; jmp 0x2000
        let expected = b"\xb8\x01\x00\x00\x00\x4c\x8d\x1d\xf9\xdf\xff\xff\xe9\xef\xef\xff\xff";
        assert_eq!(write, expected);
        let read = thunk_of(at(Shape::GlibcRead), 0x1000, 0x3000, 0x2000);
        assert_eq!(read.len(), 27);
        // xor eax,eax; lea r11,[rip+5]; jmp 0x2000; syscall; cmp rax,-4096; jmp 0x100a
        let own = OWN_SYSCALL as usize;
        assert_eq!(read[..own - 5], *b"\x31\xc0\x4c\x8d\x1d\x05\x00\x00\x00");
        assert_eq!(read[own..own + 8], *b"\x0f\x05\x48\x3d\x00\xf0\xff\xff");
        assert_eq!(read[own + 8..], jump(0x3000 + 22, 0x100a));
        assert!(read.len() <= THUNK && write.len() <= THUNK);
        let loads = Loads::of(b"\x8b\x7c\x24\x0c").unwrap();
        let sendto = thunk_of(at(Shape::GlibcLoads(44, loads)), 0x1000, 0x3000, 0x2000);
        // mov eax,44; mov edi,[rsp+12]; lea r11,[rip+0x1009-0x3010]; jmp 0x2000
        let expected =
            b"\xb8\x2c\x00\x00\x00\x8b\x7c\x24\x0c\x4c\x8d\x1d\xf9\xdf\xff\xff\xe9\xeb\xef\xff\xff";
        assert_eq!(sendto, expected);
        // A thread that waits in it goes on in the program.
        let patch = Patch {
            address: 0x1000,
            before: Shape::GlibcRead.octets()[..JUMP].to_vec(),
            after: jump(0x1000, 0x3000).to_vec(),
        };
        let own = 0x3000 + OWN_SYSCALL;
        assert_eq!(moved_back(&patch), [(own, 0x1002), (own + 2, 0x1004)]);
        let before = Shape::GlibcSyscall(1).octets()[..JUMP].to_vec();
        assert_eq!(moved_back(&Patch { before, ..patch }), []);
    }

    #[test]
    fn a_jump_leads_forth_and_back() {
        assert_eq!(jump(0x1000, 0x1005), [0xe9, 0, 0, 0, 0]);
        assert_eq!(jump(0x1000, 0x1000), [0xe9, 0xfb, 0xff, 0xff, 0xff]);
    }
}
