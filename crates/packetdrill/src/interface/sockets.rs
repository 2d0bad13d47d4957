//! All calls except reading and writing: opening and closing sockets, their options, readiness, the
//! device and the clock.

use std::ffi::{c_int, c_longlong, c_uint, c_ulong, c_void};
use std::sync::Arc;

use libc::{pollfd, size_t, sockaddr, socklen_t, timeval};

use super::address;
use super::caller::{answer, drill, slice};
use crate::call::{Call, Outcome};
use crate::world::{Drill, World};

pub(super) unsafe extern "C" fn free(userdata: *mut c_void) {
    drop(unsafe { Arc::from_raw(userdata as *const Drill) });
}

pub(super) unsafe extern "C" fn socket(
    user: *mut c_void,
    domain: c_int,
    kind: c_int,
    _: c_int,
) -> c_int {
    answer(unsafe { drill(user) }.with(|world| world.socket(domain, kind))) as c_int
}

pub(super) unsafe extern "C" fn bind(
    user: *mut c_void,
    fd: c_int,
    address: *const sockaddr,
    len: socklen_t,
) -> c_int {
    let address = unsafe { address::read(address, len) };
    answer(unsafe { drill(user) }.with(|world| world.bind(fd, address?))) as c_int
}

pub(super) unsafe extern "C" fn listen(user: *mut c_void, fd: c_int, backlog: c_int) -> c_int {
    answer(unsafe { drill(user) }.with(|world| world.listen(fd, backlog))) as c_int
}

pub(super) unsafe extern "C" fn accept(
    user: *mut c_void,
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    let drill = unsafe { drill(user) };
    let accepted = drill.call(fd, 0, Call::Accept { fd });
    if let Ok(Outcome { value, .. }) = &accepted {
        let (peer, v6) = drill.with(|world| world.peer(*value as c_int));
        if let Some(peer) = peer {
            unsafe { address::write(peer, v6, address, len) };
        }
    }
    answer(accepted.map(|outcome| outcome.value)) as c_int
}

pub(super) unsafe extern "C" fn connect(
    user: *mut c_void,
    fd: c_int,
    address: *const sockaddr,
    len: socklen_t,
) -> c_int {
    let drill = unsafe { drill(user) };
    let address = unsafe { address::read(address, len) };
    let begun = drill.with(|world| world.connect(fd, address?));
    let outcome = match begun {
        Ok(true) => drill
            .call(fd, 0, Call::Connect { fd })
            .map(|outcome| outcome.value),
        Ok(false) => Ok(0),
        Err(errno) => Err(errno),
    };
    answer(outcome) as c_int
}

pub(super) unsafe extern "C" fn fcntl(
    user: *mut c_void,
    fd: c_int,
    command: c_int,
    value: c_ulong,
) -> c_int {
    answer(unsafe { drill(user) }.with(|world| world.fcntl(fd, command, value))) as c_int
}

pub(super) unsafe extern "C" fn ioctl(
    user: *mut c_void,
    fd: c_int,
    request: c_ulong,
    value: *mut c_int,
) -> c_int {
    let asked = unsafe { drill(user) }.with(|world| world.ioctl(fd, request));
    if let Ok(count) = asked {
        unsafe { value.write(count) };
    }
    answer(asked.map(|_| 0)) as c_int
}

pub(super) unsafe extern "C" fn close(user: *mut c_void, fd: c_int) -> c_int {
    let drill = unsafe { drill(user) };
    let outcome = match drill.with(|world| world.close(fd)) {
        Ok(Some(lingering)) => drill.call(fd, 0, lingering).map(|_| 0),
        Ok(None) => Ok(0),
        Err(errno) => Err(errno),
    };
    answer(outcome) as c_int
}

pub(super) unsafe extern "C" fn shutdown(user: *mut c_void, fd: c_int, how: c_int) -> c_int {
    answer(unsafe { drill(user) }.with(|world| world.shutdown(fd, how))) as c_int
}

pub(super) unsafe extern "C" fn getsockopt(
    user: *mut c_void,
    fd: c_int,
    level: c_int,
    name: c_int,
    to: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    let asked = unsafe { drill(user) }.with(|world| world.option(fd, level, name));
    if let Ok(octets) = &asked {
        unsafe {
            let some = octets.len().min(*len as usize);
            std::ptr::copy_nonoverlapping(octets.as_ptr(), to.cast(), some);
            *len = some as socklen_t;
        }
    }
    answer(asked.map(|_| 0)) as c_int
}

pub(super) unsafe extern "C" fn setsockopt(
    user: *mut c_void,
    fd: c_int,
    level: c_int,
    name: c_int,
    from: *const c_void,
    len: socklen_t,
) -> c_int {
    let octets = unsafe { slice(from.cast::<u8>(), len as usize) };
    answer(unsafe { drill(user) }.with(|world| world.set_option(fd, level, name, octets))) as c_int
}

pub(super) unsafe extern "C" fn poll(
    user: *mut c_void,
    set: *mut pollfd,
    count: libc::nfds_t,
    timeout: c_int,
) -> c_int {
    let set = if count == 0 {
        &mut []
    } else {
        unsafe { std::slice::from_raw_parts_mut(set, count as usize) }
    };
    let asked = set.iter().map(|one| (one.fd, one.events)).collect();
    let answered = unsafe { drill(user) }.wait_for(timeout, |until| Call::Poll { asked, until });
    if let Ok(outcome) = &answered {
        for (one, (_, events)) in set.iter_mut().zip(&outcome.ready) {
            one.revents = *events as i16;
        }
    }
    answer(answered.map(|outcome| outcome.value)) as c_int
}

pub(super) unsafe extern "C" fn netdev_send(
    user: *mut c_void,
    from: *const c_void,
    len: size_t,
) -> c_int {
    let packet = unsafe { slice(from.cast::<u8>(), len) };
    unsafe { drill(user) }.with(|world| world.on_packet(packet));
    0
}

pub(super) unsafe extern "C" fn netdev_receive(
    user: *mut c_void,
    to: *mut c_void,
    len: *mut size_t,
    at: *mut c_longlong,
) -> c_int {
    let (micros, packet) = unsafe { drill(user) }.next_packet();
    unsafe {
        let some = packet.len().min(*len);
        std::ptr::copy_nonoverlapping(packet.as_ptr(), to.cast(), some);
        *len = some;
        *at = micros;
    }
    0
}

pub(super) unsafe extern "C" fn usleep(user: *mut c_void, micros: c_uint) -> c_int {
    unsafe { drill(user) }.sleep(u64::from(micros));
    0
}

pub(super) unsafe extern "C" fn gettimeofday(
    user: *mut c_void,
    to: *mut timeval,
    _: *mut c_void,
) -> c_int {
    let micros = unsafe { drill(user) }.look_at_the_clock();
    unsafe {
        to.write(timeval {
            tv_sec: (micros / 1_000_000) as _,
            tv_usec: (micros % 1_000_000) as _,
        });
    }
    0
}

pub(super) unsafe extern "C" fn epoll_create(user: *mut c_void, _: c_int) -> c_int {
    answer(unsafe { drill(user) }.with(World::epoll_create)) as c_int
}

pub(super) unsafe extern "C" fn epoll_ctl(
    user: *mut c_void,
    epoll: c_int,
    operation: c_int,
    fd: c_int,
    event: *mut libc::epoll_event,
) -> c_int {
    let event = unsafe { event.as_ref() }.map(|event| (event.events, event.u64));
    answer(unsafe { drill(user) }.with(|world| world.epoll_ctl(epoll, operation, fd, event)))
        as c_int
}

pub(super) unsafe extern "C" fn epoll_wait(
    user: *mut c_void,
    epoll: c_int,
    events: *mut libc::epoll_event,
    most: c_int,
    timeout: c_int,
) -> c_int {
    let most = most.max(0) as usize;
    let answered =
        unsafe { drill(user) }.wait_for(timeout, |until| Call::Epoll { epoll, most, until });
    if let Ok(outcome) = &answered {
        for (at, (data, ready)) in outcome.ready.iter().enumerate() {
            let event = libc::epoll_event {
                events: *ready,
                u64: *data,
            };
            unsafe { events.add(at).write_unaligned(event) };
        }
    }
    answer(answered.map(|outcome| outcome.value)) as c_int
}
