//! Puts back what was in a process before the rule was put into it.

use std::io;
use std::mem::offset_of;
use std::os::fd::OwnedFd;
use std::time::Duration;

use libc::pid_t;

use crate::journal::{Journal, Record};
use crate::launch::pidfd;
use crate::layout::{Inert, SOCKETS, Shared, Socket, class};
use crate::plant::{Failed, moved_back};
use crate::threads::{Place, Threads};
use crate::tracee::Tracee;
use crate::watchdog::{flush, set_nodelay};

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detached {
    /// The longest that its threads stood still.
    pub stood_still: Duration,
    /// Whether the code could be removed, too: no thread was in it.
    pub is_unmapped: bool,
}

/// Puts back the octets of a process by its record, sends what is held, and removes the code. It needs
/// no keeper, which ends by itself when it sees this.
///
/// # Errors
/// [`Failed`] if the octets are not those that were written, or the kernel refuses something.
pub fn detach(record: &Record, build: u32, journal: &Journal) -> Result<Detached, Failed> {
    let kernel = |doing| move |error| Failed::Kernel { doing, error };
    if record.build != build {
        return Err(Failed::Unfit("it runs another program now"));
    }
    let pid = record.pid as pid_t;
    let process = pidfd(pid).map_err(kernel("finding it"))?;
    let mut longest = Duration::ZERO;
    let mut is_unmapped = false;
    for _ in 0..MOST_TRIES {
        let threads = Threads::stop(pid).map_err(kernel("stopping its threads"))?;
        let tracee = threads.one().map_err(kernel("stopping its threads"))?;
        put_back(&tracee, record)?;
        is_unmapped =
            leave(&threads, &tracee, record, &process).map_err(kernel("removing the code"))?;
        longest = longest.max(threads.go_on());
        if is_unmapped {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    journal.forget(record.pid);
    Ok(Detached {
        stood_still: longest,
        is_unmapped,
    })
}

/// Puts the octets back, and tells the code that everything is to pass.
fn put_back(tracee: &Tracee, record: &Record) -> Result<(), Failed> {
    let kernel = |doing| move |error| Failed::Kernel { doing, error };
    let mut written = Vec::new();
    for patch in &record.patches {
        let mut there = vec![0; patch.after.len()];
        tracee
            .read(patch.address, &mut there)
            .map_err(kernel("reading its code"))?;
        if there == patch.after {
            written.push(patch);
        } else if there != patch.before {
            return Err(Failed::Differs);
        }
    }
    let told = (Inert::Told as u32).to_ne_bytes();
    let inert = record.shared.0 + offset_of!(Shared, inert) as u64;
    // Not there if the code was removed before.
    let _ = tracee.write(inert, &told);
    for patch in written {
        tracee
            .write(patch.address, &patch.before)
            .map_err(kernel("putting its code back"))?;
    }
    Ok(())
}

/// Sends everything that is held, and removes the code unless a thread is in it; returns whether it
/// was.
fn leave(
    threads: &Threads,
    tracee: &Tracee,
    record: &Record,
    process: &OwnedFd,
) -> io::Result<bool> {
    let code = record.code.0..record.code.0 + record.code.1;
    // A thread that was about to hold, in the program's own SYSCALL.
    let sites: Vec<u64> = record.patches.iter().map(|patch| patch.address).collect();
    let is_near_a_site = |rip: u64| sites.iter().any(|site| rip.wrapping_sub(*site) < 0x40);
    let is_holding = |registers: &libc::user_regs_struct| {
        registers.rax == libc::SYS_sendto as u64
            && registers.r10 & libc::MSG_MORE as u64 != 0
            && is_near_a_site(registers.rip)
    };
    // The code has some of its calls made by the program's own SYSCALL, which returns to it.
    let is_inside = |tracee: &Tracee, place: Place| {
        let returns_to_code = || {
            let mut there = [0; 8];
            let read = tracee.read(place.rsp, &mut there);
            read.is_ok() && code.contains(&u64::from_ne_bytes(there))
        };
        code.contains(&place.rip) || is_near_a_site(place.rip) && returns_to_code()
    };
    let back: Vec<_> = record.patches.iter().flat_map(moved_back).collect();
    threads.go_on_elsewhere(&back)?;
    if threads.any_in(is_inside, is_holding)? {
        return Ok(false);
    }
    flush_all(tracee, record, process);
    give_options_back(tracee, record, process);
    let scratch = sites.first().copied().unwrap_or_default();
    for (start, length) in [record.code, record.shared] {
        tracee.call(scratch, libc::SYS_munmap, [start, length, 0, 0, 0, 0])?;
    }
    Ok(true)
}

/// Sends what is held on every marked descriptor.
fn flush_all(tracee: &Tracee, record: &Record, process: &OwnedFd) {
    let mut marked = vec![0; SOCKETS / 8];
    let at = record.shared.0 + offset_of!(Shared, marked) as u64;
    if tracee.read(at, &mut marked).is_err() {
        return;
    }
    for (index, octet) in marked.iter().enumerate() {
        for bit in (0..8).filter(|bit| octet >> bit & 1 != 0) {
            let _ = flush(process, index * 8 + bit);
        }
    }
}

/// Takes `TCP_NODELAY` away from the sockets on which the program had not set it. Of a program whose `setsockopt` does not
/// pass, it is not known whether it has meanwhile; then it stays.
fn give_options_back(tracee: &Tracee, record: &Record, process: &OwnedFd) {
    if !record.sees_options() {
        return;
    }
    let Ok(open) = std::fs::read_dir(format!("/proc/{}/fd", record.pid)) else {
        return;
    };
    let numbers = open.flatten().filter_map(|entry| {
        let number = entry.file_name().to_str()?.parse::<usize>().ok()?;
        (number < SOCKETS).then_some(number)
    });
    let sockets = record.shared.0 + offset_of!(Shared, sockets) as u64;
    for number in numbers {
        let at = sockets + (number * size_of::<Socket>() + offset_of!(Socket, class)) as u64;
        let mut known = [0; 4];
        let read = tracee.read(at, &mut known);
        let known = u32::from_ne_bytes(known);
        if read.is_ok()
            && known & class::KIND == class::TCP
            && known & class::TAKEN_OVER != 0
            && known & class::PROGRAM_NODELAY == 0
        {
            let _ = set_nodelay(process, number, false);
        }
    }
}

/// How often the threads are stopped until none is in the code.
const MOST_TRIES: u32 = 100;
