//! Hooks for stdio streams, which write and read inside the C library, where no other hook sees
//! them.

use libc::{FILE, c_char, c_int, c_void, size_t, ssize_t};

use crate::hooks::descriptors;
use crate::keeper;
use crate::next::interpose;
use crate::page::Cause;
use crate::table::{self, Identity, Kind};
use crate::thread;

interpose! {
    /// Sets `TCP_NODELAY`: a stream's own buffer coalesces what it writes, so that leaves at once.
    fn fdopen(fd: c_int, mode: *const c_char) -> *mut FILE {
        keeper::flush(fd, Cause::Program);
        let stream = unsafe { fdopen::next(fd, mode) };
        if !stream.is_null() && table::identity(fd).kind() == Kind::Tcp {
            table::amend(fd, Identity::STREAM, true);
        }
        stream
    }

    /// Settles the descriptor, which the C library closes itself.
    fn fclose(stream: *mut FILE) -> c_int {
        unsafe {
            if !stream.is_null() {
                descriptors::before_end(libc::fileno(stream));
            }
            fclose::next(stream)
        }
    }

    fn fgets(line: *mut c_char, room: c_int, stream: *mut FILE) -> *mut c_char {
        before_reading(stream);
        unsafe { fgets::next(line, room, stream) }
    }

    fn getline(line: *mut *mut c_char, room: *mut size_t, stream: *mut FILE) -> ssize_t {
        before_reading(stream);
        unsafe { getline::next(line, room, stream) }
    }

    fn getdelim(
        line: *mut *mut c_char, room: *mut size_t, end: c_int, stream: *mut FILE,
    ) -> ssize_t {
        before_reading(stream);
        unsafe { getdelim::next(line, room, end, stream) }
    }

    fn __getdelim(
        line: *mut *mut c_char, room: *mut size_t, end: c_int, stream: *mut FILE,
    ) -> ssize_t {
        before_reading(stream);
        unsafe { __getdelim::next(line, room, end, stream) }
    }

    fn fread(buffer: *mut c_void, size: size_t, count: size_t, stream: *mut FILE) -> size_t {
        before_reading(stream);
        unsafe { fread::next(buffer, size, count, stream) }
    }

    fn fgetc(stream: *mut FILE) -> c_int {
        before_reading(stream);
        unsafe { fgetc::next(stream) }
    }

    fn getc(stream: *mut FILE) -> c_int {
        before_reading(stream);
        unsafe { getc::next(stream) }
    }
}

/// Flushes before a read of a stream, as for the papers' Telnet client, which has written to its
/// socket and waits for the keyboard. The stream's buffer cannot be asked whether it still has
/// bytes; a stream over a file needs no flush.
#[inline(always)]
fn before_reading(stream: *mut FILE) {
    if !thread::this().is_clean() && !stream.is_null() {
        // SAFETY: the program's own stream.
        keeper::incoming(unsafe { libc::fileno(stream) }, libc::MSG_WAITALL);
    }
}
