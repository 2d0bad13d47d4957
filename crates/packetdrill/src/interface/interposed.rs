//! Functions that packetdrill calls in the C library instead of its interface. If this object is
//! loaded before the C library (`LD_PRELOAD`), they work on this stack's descriptors; the kernel
//! handles all others.

use std::ffi::{c_int, c_long, c_void};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Weak};

use libc::{SYS_getsockopt, SYS_sendfile, SYS_times, off_t, size_t, socklen_t, ssize_t};

use super::caller::answer;
use super::sockets;
use crate::call::{Call, Message};
use crate::world::Drill;

pub(super) static DRILL: Mutex<Weak<Drill>> = Mutex::new(Weak::new());

fn ours(fd: c_int) -> Option<Arc<Drill>> {
    let drill = DRILL.lock().ok()?.upgrade()?;
    drill.with(|world| world.knows(fd)).then_some(drill)
}

/// # Safety
///
/// That of the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    to: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    match ours(fd) {
        Some(drill) => {
            let userdata = Arc::as_ptr(&drill) as *mut c_void;
            unsafe { sockets::getsockopt(userdata, fd, level, name, to, len) }
        }
        None => (unsafe { libc::syscall(SYS_getsockopt, fd, level, name, to, len) }) as c_int,
    }
}

/// # Safety
///
/// That of the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn sendfile(
    to: c_int,
    from: c_int,
    offset: *mut off_t,
    count: size_t,
) -> ssize_t {
    let Some(drill) = ours(to) else {
        return (unsafe { libc::syscall(SYS_sendfile, to, from, offset, count) }) as ssize_t;
    };
    let mut octets = vec![0_u8; count];
    let got = unsafe {
        match offset.as_mut() {
            Some(at) => {
                let got = libc::pread(from, octets.as_mut_ptr().cast(), count, *at);
                *at += got.max(0) as off_t;
                got
            }
            None => libc::read(from, octets.as_mut_ptr().cast(), count),
        }
    };
    if got < 0 {
        return got;
    }
    octets.truncate(got as usize);
    let message = Message {
        octets,
        damaged: false,
        to: None,
    };
    let sent = drill.call(to, 0, Call::write(to, message, 0));
    answer(sent.map(|outcome| outcome.value)) as ssize_t
}

/// packetdrill waits for ten ticks of the kernel's clock before a script begins. In virtual time
/// that has no use.
///
/// # Safety
///
/// That of the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn times(to: *mut c_void) -> c_long {
    static TICKS: AtomicI64 = AtomicI64::new(0);
    if DRILL.lock().is_ok_and(|drill| drill.strong_count() > 0) && to.is_null() {
        return TICKS.fetch_add(1, Relaxed);
    }
    (unsafe { libc::syscall(SYS_times, to) }) as c_long
}
