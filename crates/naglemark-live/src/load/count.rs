//! What an end did: the segments of its connections, and the time of its threads.

use std::io;
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::unix::thread::JoinHandleExt;
use std::thread::JoinHandle;

use tinygram_link::tcp_info::tcp_info;
use tinygram_naglemark::Duration;
use tinygram_naglemark::load::EndWork;

/// Returns what these threads and connections have done since they began.
pub(super) fn work(threads: &[&JoinHandle<()>], connections: &[TcpStream]) -> io::Result<EndWork> {
    let mut work = EndWork::default();
    for thread in threads {
        work.worked += worked(thread)?;
    }
    for connection in connections {
        let info = tcp_info(connection).ok_or_else(|| io::Error::other("TCP_INFO is missing"))?;
        work.data_segments += u64::from(info.data_segs_out);
        work.empty_segments += u64::from(info.segs_out.saturating_sub(info.data_segs_out));
    }
    Ok(work)
}

/// Returns the processor time of a thread, interrupts that it was interrupted by included.
fn worked<T>(thread: &JoinHandle<T>) -> io::Result<Duration> {
    let mut clock = MaybeUninit::uninit();
    // SAFETY: the thread is not joined yet, for there is its handle; the call writes a clock's number.
    let failed = unsafe { libc::pthread_getcpuclockid(thread.as_pthread_t(), clock.as_mut_ptr()) };
    if failed != 0 {
        return Err(io::Error::from_raw_os_error(failed));
    }
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the clock's number was written above; the call writes a time.
    let failed = unsafe { libc::clock_gettime(clock.assume_init(), time.as_mut_ptr()) };
    if failed != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has written it.
    let time = unsafe { time.assume_init() };
    let nanos = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
    Ok(Duration::from_nanos(nanos))
}
