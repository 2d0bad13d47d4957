//! Puts the object and the jumps into a program that stands still.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::journal::{JournalError, Patch};
use crate::layout::Shared;
use crate::object::{Cells, Object};
use crate::program::{Program, Shape};
use crate::shared::{Mapping, Settings};
use crate::tracee::Tracee;

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
}

/// Maps the rule's memory and code in the process that `tracee` has stopped; `scratch` is executable
/// code of its. Nothing of the program is changed yet.
pub(crate) fn plant(
    tracee: &Tracee,
    scratch: u64,
    pidfd: &OwnedFd,
    program: &Program,
    object: &Object,
) -> Result<Planted, Failed> {
    let bias = bias(tracee.pid, program)?;
    for site in &program.sites {
        let expected = site.shape.octets();
        let mut there = vec![0; expected.len()];
        doing(
            "reading its code",
            tracee.read(site.address + bias, &mut there),
        )?;
        if there != expected {
            return Err(Failed::Differs);
        }
    }
    let (mapping, shared) = share(tracee, pidfd, scratch)?;
    let at = |shape: Shape| {
        let site = program.sites.iter().find(|site| site.shape == shape);
        site.map_or(0, |site| site.address + bias)
    };
    let (syscall, futex) = (at(Shape::GoSyscall), at(Shape::GoFutex));
    // Behind the code a page of its own, which is never executable.
    let executable = (object.octets.len() as u64).next_multiple_of(PAGE);
    let length = executable + PAGE;
    let here = map_near(tracee, scratch, program, bias, length)?;
    let code = object.with(Cells {
        shared,
        syscall: syscall + 12,
        syscall_made: syscall + 14,
        futex: futex + 5,
        musl: at(Shape::MuslSyscall) + 23,
        alive: here + executable,
    });
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
    let jumps = program.sites.iter().map(|site| {
        let from = site.address + bias;
        let to = here
            + match site.shape {
                Shape::GoSyscall => object.go_syscall,
                Shape::GoFutex => object.go_futex,
                Shape::MuslSyscall => object.musl_syscall,
            };
        Patch {
            address: from,
            before: site.shape.octets()[..JUMP].to_vec(),
            after: jump(from, to).to_vec(),
        }
    });
    Ok(Planted {
        jumps: jumps.collect(),
        mapping,
        shared: (shared, size_of::<Shared>() as u64),
        code: (here, length),
    })
}

/// Writes the jumps.
pub(crate) fn write_jumps(tracee: &Tracee, jumps: &[Patch]) -> Result<(), Failed> {
    for jump in jumps {
        doing("writing a jump", tracee.write(jump.address, &jump.after))?;
    }
    Ok(())
}

impl Planted {
    /// Sets the rules. The threads need not stand still for it.
    pub(crate) fn set_up(&self, settings: &Settings, pid: i32) {
        self.mapping.set_up(settings, pid as u32, own_number(pid));
    }
}

/// Returns the number of a process in its own namespace.
fn own_number(tid: i32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("NStgid:"));
    let last = line.and_then(|line| line.split_ascii_whitespace().next_back());
    last.and_then(|number| number.parse().ok()).unwrap_or(0)
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
    let made = call(
        libc::SYS_memfd_create,
        [name, libc::MFD_CLOEXEC.into(), 0, 0, 0, 0],
    );
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
    let ours = doing("sharing memory", descriptor_of(pidfd, fd as i32))?;
    doing("sharing memory", call(libc::SYS_close, [fd, 0, 0, 0, 0, 0]))?;
    let mapping = doing("sharing memory", Mapping::of(&File::from(ours)))?;
    Ok((mapping, address))
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

/// Returns a jump of five octets.
fn jump(from: u64, to: u64) -> [u8; JUMP] {
    let distance = to.wrapping_sub(from + 5) as u32;
    let [a, b, c, d] = distance.to_le_bytes();
    [0xe9, a, b, c, d]
}

/// The kernel's page on x86-64, in octets.
const PAGE: u64 = 4096;
/// The octets of a jump.
pub(crate) const JUMP: usize = 5;
/// How far apart the addresses are that are tried, from the far end on: near the program is where its
/// heap grows.
const APART: u64 = 64 << 20;
/// The kernel keeps the lowest addresses free (`vm.mmap_min_addr`).
const LOWEST: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_leads_forth_and_back() {
        assert_eq!(jump(0x1000, 0x1005), [0xe9, 0, 0, 0, 0]);
        assert_eq!(jump(0x1000, 0x1000), [0xe9, 0xfb, 0xff, 0xff, 0xff]);
    }
}
