//! The places of programs that glibc is linked into statically. Each function of its that calls the kernel
//! has one of its own, of one shape: the call's number is moved to EAX, an instruction of five octets that
//! a jump can replace, and SYSCALL follows, or arguments are loaded from the stack before it. `read`'s number is 0,
//! which takes two octets; what follows it is replaced, too.

use crate::shape::{Loads, Shape, Site};

/// A place where a program may wait whose shape is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnknownWait {
    /// Where its SYSCALL is.
    pub(crate) address: u64,
    /// The call.
    pub(crate) number: u32,
}

/// Finds the places in a segment of code that is loaded at `start`.
///
/// # Errors
/// A place where the program may wait whose shape is another: what is held would not leave before it.
pub(crate) fn sites(start: u64, code: &[u8]) -> Result<Vec<Site>, UnknownWait> {
    let mut found = Vec::new();
    for (at, _) in code
        .windows(SYSCALL.len())
        .enumerate()
        .filter(|(_, two)| *two == SYSCALL)
    {
        let (before, behind) = (&code[..at], &code[at..]);
        let shape = shape(before, behind);
        if let Some((shape, length)) = shape {
            if is_wanted(shape) {
                let address = start + (at - length) as u64;
                found.push(Site { shape, address });
            }
        } else if let Some(number) = number_above(before)
            && WAITS.contains(&number)
        {
            return Err(UnknownWait {
                address: start + at as u64,
                number,
            });
        }
    }
    Ok(found)
}

/// Returns what stands around a SYSCALL, if it is known, and how many octets of it are before the SYSCALL.
fn shape(before: &[u8], behind: &[u8]) -> Option<(Shape, usize)> {
    if let Some([0xb8, a, b, c, d]) = before.last_chunk() {
        let number = u32::from_le_bytes([*a, *b, *c, *d]);
        return (number < MOST_NUMBER).then_some((Shape::GlibcSyscall(number), 5));
    }
    let near = &before[before.len().saturating_sub(LOOKED_AT)..];
    for at in (0..near.len()).rev() {
        let Some((&[0xb8, a, b, c, d], rest)) = near[at..].split_first_chunk() else {
            continue;
        };
        let number = u32::from_le_bytes([a, b, c, d]);
        if let Some(loads) = Loads::of(rest)
            && number < MOST_NUMBER
        {
            return Some((Shape::GlibcLoads(number, loads), near.len() - at));
        }
    }
    let read = Shape::GlibcRead.octets();
    let is_read = before.ends_with(&read[..2]) && behind.starts_with(&read[2..]);
    is_read.then_some((Shape::GlibcRead, 2))
}

/// Returns the last number that is moved to EAX in the octets before a SYSCALL.
fn number_above(before: &[u8]) -> Option<u32> {
    let near = &before[before.len().saturating_sub(LOOKED_AT)..];
    let moves = near.windows(5).rev().filter_map(|five| match *five {
        [0xb8, a, b, c, d] => Some(u32::from_le_bytes([a, b, c, d])),
        _ => None,
    });
    // A `read` whose SYSCALL does not follow its number.
    let is_read =
        |at: &usize| near[*at..].starts_with(&READ) && Loads::of(&near[at + 2..]).is_some();
    if (0..near.len()).any(|at| is_read(&at)) {
        return Some(libc::SYS_read as u32);
    }
    moves.into_iter().find(|number| *number < MOST_NUMBER)
}

fn is_wanted(shape: Shape) -> bool {
    match shape {
        Shape::GlibcSyscall(number) | Shape::GlibcLoads(number, _) => {
            WAITS.contains(&number) || OTHERS.contains(&number)
        }
        _ => true,
    }
}

/// Returns whether there is a place from which something can be held.
pub(crate) fn can_hold(sites: &[Site]) -> bool {
    let holds = |site: &Site| {
        let number = |number: &i64| match site.shape {
            Shape::GlibcSyscall(its) | Shape::GlibcLoads(its, _) => i64::from(its) == *number,
            _ => false,
        };
        [libc::SYS_write, libc::SYS_sendto].iter().any(number)
    };
    sites.iter().any(holds)
}

const SYSCALL: [u8; 2] = [0x0f, 0x05];
/// `xor eax,eax`: the number of `read`.
const READ: [u8; 2] = [0x31, 0xc0];
/// Linux has fewer calls.
const MOST_NUMBER: u32 = 600;
/// How many octets before a SYSCALL are searched for its number.
const LOOKED_AT: usize = 32;

/// Calls that wait, before which what is held must leave. Threads also wait for mutexes by futex(2), in
/// shapes of many kinds; the watchdog bounds that, as it does where the library is loaded.
const WAITS: [u32; 18] = [
    libc::SYS_read as u32,
    libc::SYS_readv as u32,
    libc::SYS_recvfrom as u32,
    libc::SYS_recvmsg as u32,
    libc::SYS_poll as u32,
    libc::SYS_ppoll as u32,
    libc::SYS_select as u32,
    libc::SYS_pselect6 as u32,
    libc::SYS_epoll_wait as u32,
    libc::SYS_epoll_pwait as u32,
    libc::SYS_nanosleep as u32,
    libc::SYS_clock_nanosleep as u32,
    libc::SYS_pause as u32,
    libc::SYS_accept as u32,
    libc::SYS_accept4 as u32,
    libc::SYS_connect as u32,
    libc::SYS_wait4 as u32,
    libc::SYS_waitid as u32,
];

/// Calls that write, or that change what a descriptor or the process is.
const OTHERS: [u32; 21] = [
    libc::SYS_write as u32,
    libc::SYS_writev as u32,
    libc::SYS_sendto as u32,
    libc::SYS_sendmsg as u32,
    libc::SYS_sendmmsg as u32,
    libc::SYS_sendfile as u32,
    libc::SYS_splice as u32,
    libc::SYS_close as u32,
    libc::SYS_dup2 as u32,
    libc::SYS_dup3 as u32,
    libc::SYS_shutdown as u32,
    libc::SYS_listen as u32,
    libc::SYS_setsockopt as u32,
    libc::SYS_getsockopt as u32,
    libc::SYS_fcntl as u32,
    libc::SYS_futex as u32,
    libc::SYS_execve as u32,
    libc::SYS_execveat as u32,
    libc::SYS_prctl as u32,
    libc::SYS_seccomp as u32,
    libc::SYS_io_uring_setup as u32,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_is_found_at_its_first_octet() {
        let write = b"\x90\xb8\x01\x00\x00\x00\x0f\x05\xc3";
        let code = [&write[..], &Shape::GlibcRead.octets()].concat();
        let at = |shape, address| Site { shape, address };
        let expected = [
            at(Shape::GlibcSyscall(1), 0x1001),
            at(Shape::GlibcRead, 0x1009),
        ];
        assert_eq!(sites(0x1000, &code), Ok(expected.to_vec()));
        for site in expected {
            let start = (site.address - 0x1000) as usize;
            let octets = site.shape.octets();
            assert_eq!(code[start..start + octets.len()], octets);
        }
    }

    /// A number that does not stand right before the SYSCALL: a wait there would not be seen.
    #[test]
    fn a_wait_of_another_shape_is_refused_and_other_calls_are_not() {
        let apart =
            |number: u8| [&[0xb8, number, 0, 0, 0, 0x31, 0xd2][..], &SYSCALL, &[0xc3]].concat();
        let refused = sites(0x1000, &apart(libc::SYS_poll as u8));
        let expected = UnknownWait {
            address: 0x1007,
            number: libc::SYS_poll as u32,
        };
        assert_eq!(refused, Err(expected));
        assert_eq!(sites(0x1000, &apart(libc::SYS_getpid as u8)), Ok(vec![]));
    }

    /// As glibc 2.36 has it in `recvfrom`, where it may be cancelled.
    #[test]
    fn arguments_may_be_loaded_behind_the_number() {
        let loads = b"\x48\x8b\x54\x24\x10\x48\x8b\x74\x24\x08";
        let number = [0xb8, libc::SYS_recvfrom as u8, 0, 0, 0];
        let code = [&b"\x90"[..], &number, loads, &SYSCALL, &[0xc3]].concat();
        let shape = Shape::GlibcLoads(libc::SYS_recvfrom as u32, Loads::of(loads).unwrap());
        let address = 0x1001;
        assert_eq!(sites(0x1000, &code), Ok(vec![Site { shape, address }]));
        assert_eq!(code[1..18], shape.octets());
    }

    #[test]
    fn a_read_with_loads_behind_its_number_is_refused() {
        let code = [&READ[..], b"\x8b\x3c\x24", &SYSCALL, &[0xc3]].concat();
        let expected = UnknownWait {
            address: 0x1005,
            number: libc::SYS_read as u32,
        };
        assert_eq!(sites(0x1000, &code), Err(expected));
    }

    #[test]
    fn calls_that_do_not_matter_stay_as_they_are() {
        let getpid = b"\xb8\x27\x00\x00\x00\x0f\x05\xc3";
        assert_eq!(sites(0x1000, getpid), Ok(vec![]));
    }
}
