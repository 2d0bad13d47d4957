//! Hooks for socket options and descriptor flags: those that matter are noted, and one is hidden.

use libc::{c_int, c_ulong, c_void, socklen_t};

use crate::hooks::descriptors::fcntl_dup;
use crate::keeper::{self, Taken};
use crate::next::interpose;
use crate::page::Cause;
use crate::table::{self, Identity, Kind};
use crate::{errno, kernel, sockets};

interpose! {
    fn setsockopt(
        fd: c_int, level: c_int, name: c_int, value: *const c_void, len: socklen_t,
    ) -> c_int {
        let taken = keeper::taking(fd, Cause::Program);
        if (level, name) == (libc::IPPROTO_TCP, libc::TCP_NODELAY) {
            known(fd);
        }
        let result = unsafe { setsockopt::next(fd, level, name, value, len) };
        if result == 0 && table::identity(fd).kind() == Kind::Tcp {
            let value = if len as usize >= size_of::<c_int>() {
                // SAFETY: the kernel has just read the same bytes.
                unsafe { value.cast::<c_int>().read_unaligned() }
            } else {
                0
            };
            note(fd, taken, level, name, value);
        }
        result
    }

    /// Returns for `TCP_NODELAY` what the program would see without the library.
    fn getsockopt(
        fd: c_int, level: c_int, name: c_int, value: *mut c_void, len: *mut socklen_t,
    ) -> c_int {
        let result = unsafe { getsockopt::next(fd, level, name, value, len) };
        if result == 0 && (level, name) == (libc::IPPROTO_TCP, libc::TCP_NODELAY) {
            let identity = known(fd);
            // SAFETY: the kernel has just written there, and tells how much.
            let whole = unsafe { *len } as usize == size_of::<c_int>();
            if whole && identity.has(Identity::NODELAY_SET) {
                // Another program may have set it meanwhile.
                let by_program = match identity.has(Identity::SIGNED) {
                    true => !errno::kept(|| sockets::is_signed(fd)),
                    false => identity.has(Identity::PROGRAM_NODELAY),
                };
                let shown = c_int::from(by_program);
                unsafe { value.cast::<c_int>().write_unaligned(shown) };
            }
        }
        result
    }

    fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int {
        unsafe { control(fd, command, argument, || fcntl::next(fd, command, argument)) }
    }

    fn fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int {
        unsafe { control(fd, command, argument, || fcntl64::next(fd, command, argument)) }
    }

    fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
        let result = unsafe { ioctl::next(fd, request, argument) };
        if matches!(request as u32, FIONBIO | FIONREAD)
            && result == 0
            && table::identity(fd).kind() == Kind::Tcp
        {
            // SAFETY: the kernel has just read or written the same integer.
            let value = unsafe { argument.cast::<c_int>().read_unaligned() };
            if request as u32 == FIONBIO {
                table::amend(fd, Identity::NONBLOCKING, value != 0);
            } else if value == 0 {
                keeper::found_no_event();
            }
        }
        result
    }
}

/// Returns what a descriptor is, asking the kernel if need be: the program may have inherited it.
fn known(fd: c_int) -> Identity {
    let identity = table::identity(fd);
    if identity.kind() == Kind::Unknown && table::has_room_for(fd) {
        sockets::classify(fd)
    } else {
        identity
    }
}

/// Notes that a program set an option of a TCP socket.
fn note(fd: c_int, taken: Taken, level: c_int, name: c_int, value: c_int) {
    let on = value != 0;
    match (level, name) {
        (libc::IPPROTO_TCP, libc::TCP_NODELAY) => {
            table::amend(fd, Identity::PROGRAM_NODELAY, on);
            if table::identity(fd).has(Identity::SIGNED) {
                sockets::sign_anew(fd, on);
            }
            if on {
                // Setting it flushes, as the program may have intended.
                keeper::took_along(fd, taken);
            } else if table::identity(fd).has(Identity::NODELAY_SET) {
                errno::kept(|| kernel::set_option(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1));
            }
        }
        (libc::IPPROTO_TCP, libc::TCP_CORK | libc::TCP_ULP | libc::TCP_REPAIR)
        | (libc::SOL_SOCKET, libc::SO_TIMESTAMPING | libc::SO_ZEROCOPY) => {
            keeper::flush(fd, Cause::Program);
            table::amend(fd, Identity::ALONE, true);
        }
        // A buffer without room for two segments needs the acknowledgments that many small segments
        // cause: coalesced into one, they would wait for the receiver's delayed acknowledgment.
        (libc::SOL_SOCKET, libc::SO_SNDBUF | libc::SO_SNDBUFFORCE) if value < TWO_SEGMENTS => {
            keeper::flush(fd, Cause::Program);
            table::amend(fd, Identity::ALONE, true);
        }
        (libc::SOL_SOCKET, libc::SO_RCVLOWAT) => table::amend(fd, Identity::ALL_OR_NOTHING, true),
        _ => {}
    }
}

unsafe fn control(fd: c_int, command: c_int, argument: usize, ask: impl Fn() -> c_int) -> c_int {
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => unsafe { fcntl_dup(fd, command, argument) },
        libc::F_SETFL => {
            let result = ask();
            if result == 0 && table::identity(fd).kind() == Kind::Tcp {
                table::amend(
                    fd,
                    Identity::NONBLOCKING,
                    argument & libc::O_NONBLOCK as usize != 0,
                );
            }
            result
        }
        libc::F_SETLKW | libc::F_OFD_SETLKW => {
            keeper::before_sleep();
            ask()
        }
        _ => ask(),
    }
}

/// The requests of `ioctl` that matter. The C libraries disagree on the type (`unsigned long` in glibc, `int` in musl),
/// and the kernel looks at 32 bits.
const FIONBIO: u32 = libc::FIONBIO as u32;
const FIONREAD: u32 = libc::FIONREAD as u32;
/// Twice the largest possible segment, that of the loopback interface.
const TWO_SEGMENTS: c_int = 2 * 65_536;
