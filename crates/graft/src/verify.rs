//! `--verify`: whether a program writes or waits anywhere else than where its calls are known to pass; and
//! whether its registers are what the injected code takes them for.

use std::collections::BTreeMap;
use std::io;
use std::ops::{ControlFlow, Range};
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use libc::{pid_t, user_regs_struct};

use crate::layout::{HELD, Shared};
use crate::plant::Planted;
use crate::program::{Program, Shape};
use crate::threads::Threads;
use crate::trace::follow;
use crate::tracee::Tracee;
use crate::watchdog::is_tcp;

/// How long a program is verified.
pub const VERIFIED_FOR: Duration = Duration::from_secs(1);

/// What was seen of a program's calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Writes and waits that passed through the known places.
    pub known: u64,
    /// Writes elsewhere on what is no TCP socket, and waits elsewhere of threads that held nothing.
    pub harmless: u64,
    /// The others.
    pub unknown: Vec<Unknown>,
}

impl Verified {
    /// Returns it as text, a line for each unknown place after the counts.
    pub(crate) fn encode(&self) -> String {
        let mut text = format!("{} {}", self.known, self.harmless);
        for one in &self.unknown {
            let is_write = u8::from(one.kind == Kind::Write);
            let more = format!("\n{} {is_write} {} {}", one.address, one.call, one.times);
            text.push_str(&more);
        }
        text
    }

    /// Reads what [`Self::encode`] has written.
    pub(crate) fn decode(text: &str) -> Option<Self> {
        let mut lines = text.lines().map(|line| {
            let numbers = line.split(' ').map(|word| word.parse().ok());
            numbers.collect::<Option<Vec<u64>>>()
        });
        let [known, harmless] = lines.next()??[..] else {
            return None;
        };
        let unknown = lines.map(|line| {
            let [address, is_write, call, times] = line?[..] else {
                return None;
            };
            let kind = if is_write == 1 {
                Kind::Write
            } else {
                Kind::Wait
            };
            Some(Unknown {
                address,
                kind,
                call,
                times,
            })
        });
        Some(Self {
            known,
            harmless,
            unknown: unknown.collect::<Option<_>>()?,
        })
    }
}

/// A place where the rule does not see a call that matters to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unknown {
    /// What follows the call, as an address of the running program.
    pub address: u64,
    /// The call.
    pub kind: Kind,
    /// Its number.
    pub call: u64,
    /// How often it was made.
    pub times: u64,
}

/// Why a call matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It writes to a TCP socket: it is not held.
    Write,
    /// It may wait while its thread holds octets: they leave by the watchdog.
    Wait,
}

/// Compares the calls of all threads with the places that are known, for [`VERIFIED_FOR`].
pub(crate) fn verify(
    threads: Threads,
    planted: &Planted,
    program: &Program,
    bias: u64,
    process: &OwnedFd,
) -> io::Result<Verified> {
    let mut seen = Seen {
        // What a thunk calls by a SYSCALL of its own is in the code.
        known: program
            .sites
            .iter()
            .map(|site| site.address + bias + site.shape.after())
            .collect(),
        code: planted.code.0..planted.code.0 + planted.code.1,
        shared: &planted.mapping,
        process,
        verified: Verified::default(),
        unknown: BTreeMap::new(),
    };
    follow(threads, VERIFIED_FOR, |tid, registers| {
        seen.look_at(tid, registers);
        ControlFlow::Continue(())
    })?;
    Ok(seen.verified())
}

struct Seen<'a> {
    /// What follows the SYSCALL of each place.
    known: Vec<u64>,
    /// The injected code.
    code: Range<u64>,
    shared: &'a Shared,
    process: &'a OwnedFd,
    verified: Verified,
    unknown: BTreeMap<(u64, Kind, u64), u64>,
}

impl Seen<'_> {
    fn look_at(&mut self, tid: pid_t, registers: &user_regs_struct) {
        let Some((kind, fd)) = kind_of(registers) else {
            return;
        };
        if self.known.contains(&registers.rip) || self.code.contains(&registers.rip) {
            self.verified.known += 1;
            return;
        }
        let matters = match kind {
            Kind::Write => is_tcp(self.process, fd).unwrap_or(false),
            Kind::Wait => holds(self.shared, tid),
        };
        if matters {
            let key = (registers.rip, kind, registers.orig_rax);
            *self.unknown.entry(key).or_default() += 1;
        } else {
            self.verified.harmless += 1;
        }
    }

    fn verified(self) -> Verified {
        let unknown = self.unknown.into_iter();
        Verified {
            unknown: unknown
                .map(|((address, kind, call), times)| Unknown {
                    address,
                    kind,
                    call,
                    times,
                })
                .collect(),
            ..self.verified
        }
    }
}

/// Returns why a call matters, with its descriptor; `None` if it neither writes nor waits.
fn kind_of(registers: &user_regs_struct) -> Option<(Kind, i32)> {
    let number = registers.orig_rax as i64;
    let fd = match number {
        libc::SYS_splice => registers.rdx,
        _ => registers.rdi,
    };
    let kind = match number {
        libc::SYS_write
        | libc::SYS_writev
        | libc::SYS_sendto
        | libc::SYS_sendmsg
        | libc::SYS_sendmmsg
        | libc::SYS_sendfile
        | libc::SYS_splice => Kind::Write,
        libc::SYS_futex => match registers.rsi as i32 & libc::FUTEX_CMD_MASK {
            libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET | libc::FUTEX_LOCK_PI => Kind::Wait,
            _ => return None,
        },
        libc::SYS_read
        | libc::SYS_readv
        | libc::SYS_recvfrom
        | libc::SYS_recvmsg
        | libc::SYS_recvmmsg
        | libc::SYS_poll
        | libc::SYS_ppoll
        | libc::SYS_select
        | libc::SYS_pselect6
        | libc::SYS_epoll_wait
        | libc::SYS_epoll_pwait
        | libc::SYS_epoll_pwait2
        | libc::SYS_nanosleep
        | libc::SYS_clock_nanosleep
        | libc::SYS_wait4
        | libc::SYS_waitid
        | libc::SYS_accept
        | libc::SYS_accept4
        | libc::SYS_connect
        | libc::SYS_pause
        | libc::SYS_rt_sigsuspend
        | libc::SYS_rt_sigtimedwait => Kind::Wait,
        _ => return None,
    };
    Some((kind, fd as i32))
}

/// Returns whether a thread holds octets now.
fn holds(shared: &Shared, tid: pid_t) -> bool {
    shared.marked.iter().enumerate().any(|(word, bits)| {
        let bits = bits.load(Relaxed);
        (0..64).filter(|bit| bits >> bit & 1 != 0).any(|bit| {
            let socket = &shared.sockets[word * 64 + bit];
            socket.mark.load(Relaxed) & HELD != 0 && socket.tid.load(Relaxed) == tid as u32
        })
    })
}

/// Checks the first calls of a Go program whose version was not tried: whether R14 is a goroutine on whose
/// stack the call is made, and whose thread is where it is taken to be.
///
/// # Errors
/// The kernel's.
pub(crate) fn check_registers(
    threads: Threads,
    program: &Program,
    bias: u64,
) -> io::Result<Result<(), &'static str>> {
    let Some(site) = program.sites.iter().find(|s| s.shape == Shape::GoSyscall) else {
        return Ok(Ok(()));
    };
    let after = site.address + bias + site.shape.after();
    let memory = threads.one()?;
    let mut checked = 0;
    let mut result = Ok(());
    follow(threads, CHECKED_FOR, |_, registers| {
        if registers.rip != after {
            return ControlFlow::Continue(());
        }
        checked += 1;
        if !is_goroutine(&memory, registers) {
            result = Err("its registers are not those of the versions of Go that were tried");
        }
        if checked == CALLS_CHECKED || result.is_err() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    if checked == 0 {
        result = Err("none of its calls passed through the place that was found");
    }
    Ok(result)
}

/// Returns whether the registers at a call are those of a goroutine, as `inside/thread.rs` takes them.
fn is_goroutine(memory: &Tracee, registers: &user_regs_struct) -> bool {
    let word = |address: u64| {
        let mut octets = [0; 8];
        let read = memory.read(address, &mut octets);
        read.is_ok().then(|| u64::from_le_bytes(octets))
    };
    let looked_at = || {
        let goroutine = registers.r14;
        let (low, high) = (word(goroutine)?, word(goroutine + 8)?);
        let thread = word(goroutine.checked_add(ITS_M)?)?;
        let first = word(thread)?;
        let of_first = word(first.checked_add(ITS_M)?)?;
        Some((low..high).contains(&registers.rsp) && of_first == thread)
    };
    looked_at().unwrap_or(false)
}

/// `runtime.g`: its `m`.
const ITS_M: u64 = 0x30;
/// How many calls are checked.
const CALLS_CHECKED: u32 = 16;
/// The longest to wait for them.
const CHECKED_FOR: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    fn registers(number: i64) -> user_regs_struct {
        // SAFETY: integers.
        let mut registers: user_regs_struct = unsafe { std::mem::zeroed() };
        registers.orig_rax = number as u64;
        (registers.rdi, registers.rdx) = (3, 4);
        registers
    }

    #[test]
    fn a_call_that_neither_writes_nor_waits_does_not_matter() {
        assert_eq!(kind_of(&registers(libc::SYS_getpid)), None);
        let mut wakes = registers(libc::SYS_futex);
        wakes.rsi = libc::FUTEX_WAKE as u64;
        assert_eq!(kind_of(&wakes), None);
        wakes.rsi = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as u64;
        assert_eq!(kind_of(&wakes), Some((Kind::Wait, 3)));
    }

    #[test]
    fn what_the_keeper_saw_is_told_whole() {
        let one = |kind| Unknown {
            address: 0x1234,
            kind,
            call: 20,
            times: 3,
        };
        let verified = Verified {
            known: 5,
            harmless: 6,
            unknown: vec![one(Kind::Write), one(Kind::Wait)],
        };
        assert_eq!(Verified::decode(&verified.encode()), Some(verified));
        assert_eq!(Verified::decode(""), None);
    }

    #[test]
    fn splice_writes_to_its_third_argument() {
        let (kind, fd) = kind_of(&registers(libc::SYS_splice)).unwrap();
        assert_eq!((kind, fd), (Kind::Write, 4));
    }
}
