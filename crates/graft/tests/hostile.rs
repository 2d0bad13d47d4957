//! The watchdog reads memory that the program can write. Whatever stands there, all it ever does is to set
//! `TCP_NODELAY` on TCP sockets.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering::SeqCst;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tinygram_graft::layout::{HELD, Inert, Shared};
use tinygram_graft::shared::{Mapping, Settings};
use tinygram_graft::watchdog::Watchdog;

/// Everything that a descriptor can be.
struct Open {
    listener: TcpListener,
    client: TcpStream,
    server: TcpStream,
    udp: UdpSocket,
    unix: (UnixStream, UnixStream),
    file: File,
    pipe: (OwnedFd, OwnedFd),
}

impl Open {
    fn all() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        let mut ends = [0; 2];
        // SAFETY: writes two descriptors.
        assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
        // SAFETY: nobody else has them.
        let pipe = unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) };
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        file.rewind().unwrap();
        Self {
            listener,
            client,
            server,
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            unix: UnixStream::pair().unwrap(),
            file,
            pipe,
        }
    }

    fn tcp(&self) -> [RawFd; 3] {
        [
            self.listener.as_raw_fd(),
            self.client.as_raw_fd(),
            self.server.as_raw_fd(),
        ]
    }

    fn others(&self) -> [RawFd; 6] {
        [
            self.udp.as_raw_fd(),
            self.unix.0.as_raw_fd(),
            self.unix.1.as_raw_fd(),
            self.file.as_raw_fd(),
            self.pipe.0.as_raw_fd(),
            self.pipe.1.as_raw_fd(),
        ]
    }

    /// Returns what can be read of every descriptor but `TCP_NODELAY`.
    fn state(&self) -> Vec<(RawFd, &'static str, i64, i64)> {
        let mut state = Vec::new();
        for fd in self.tcp().into_iter().chain(self.others()) {
            for (level, name, option) in OPTIONS {
                state.push((fd, name, option.into(), value(fd, level, option)));
            }
            // SAFETY: asks for flags.
            state.push((
                fd,
                "flags",
                0,
                unsafe { libc::fcntl(fd, libc::F_GETFL) }.into(),
            ));
            // SAFETY: a seek by nothing.
            state.push((fd, "offset", 0, unsafe {
                libc::lseek(fd, 0, libc::SEEK_CUR)
            }));
        }
        state
    }
}

/// Returns an option's value, or -1 if it has none.
fn value(fd: RawFd, level: i32, option: i32) -> i64 {
    let mut value = 0_i32;
    let mut length = size_of_val(&value) as u32;
    // SAFETY: writes one integer and its length.
    let result = unsafe {
        let at = (&raw mut value).cast();
        libc::getsockopt(fd, level, option, at, &raw mut length)
    };
    if result == 0 { value.into() } else { -1 }
}

fn nodelay(fd: RawFd) -> i64 {
    value(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY)
}

const OPTIONS: [(i32, &str, i32); 20] = [
    (libc::SOL_SOCKET, "socket", libc::SO_REUSEADDR),
    (libc::SOL_SOCKET, "socket", libc::SO_BROADCAST),
    (libc::SOL_SOCKET, "socket", libc::SO_SNDBUF),
    (libc::SOL_SOCKET, "socket", libc::SO_RCVBUF),
    (libc::SOL_SOCKET, "socket", libc::SO_KEEPALIVE),
    (libc::SOL_SOCKET, "socket", libc::SO_OOBINLINE),
    (libc::SOL_SOCKET, "socket", libc::SO_PRIORITY),
    (libc::SOL_SOCKET, "socket", libc::SO_PASSCRED),
    (libc::SOL_SOCKET, "socket", libc::SO_RCVLOWAT),
    (libc::SOL_SOCKET, "socket", libc::SO_MARK),
    (libc::IPPROTO_TCP, "tcp", libc::TCP_CORK),
    (libc::IPPROTO_TCP, "tcp", libc::TCP_KEEPIDLE),
    (libc::IPPROTO_TCP, "tcp", libc::TCP_KEEPINTVL),
    (libc::IPPROTO_TCP, "tcp", libc::TCP_KEEPCNT),
    (libc::IPPROTO_TCP, "tcp", libc::TCP_SYNCNT),
    (libc::IPPROTO_TCP, "tcp", libc::TCP_LINGER2),
    (libc::IPPROTO_TCP, "tcp", libc::TCP_DEFER_ACCEPT),
    (libc::IPPROTO_TCP, "tcp", libc::TCP_USER_TIMEOUT),
    (libc::IPPROTO_IP, "ip", libc::IP_TTL),
    (libc::IPPROTO_IP, "ip", libc::IP_TOS),
];

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Fills the memory with random words, but for the one that ends the watchdog.
fn scramble(memory: &File, random: &mut SplitMix64) {
    let end = std::mem::offset_of!(Shared, inert);
    let words = size_of::<Shared>() / 8;
    let octets: Vec<u8> = (0..words)
        .flat_map(|_| random.next_u64().to_ne_bytes())
        .collect();
    memory.write_all_at(&octets[..end], 0).unwrap();
    memory
        .write_all_at(&octets[end + 4..], end as u64 + 4)
        .unwrap();
}

/// Marks a descriptor as one that octets have been held on since the beginning of time.
fn mark(shared: &Shared, fd: RawFd) {
    let fd = fd as usize;
    shared.highest.fetch_max(fd as u64, SeqCst);
    shared.sockets[fd].since_ns.store(0, SeqCst);
    shared.sockets[fd].mark.store(HELD, SeqCst);
    shared.marked[fd / 64].fetch_or(1 << (fd % 64), SeqCst);
}

#[test]
fn whatever_the_memory_says_only_nodelay_of_tcp_sockets_is_set() {
    let mut open = Open::all();
    let (state, count) = (open.state(), descriptors());
    let memory = tempfile::tempfile().unwrap();
    memory.set_len(size_of::<Shared>() as u64).unwrap();
    let shared = Mapping::of(&memory).unwrap();
    shared.set_up(&Settings::default(), std::process::id(), std::process::id());
    // SAFETY: returns a new descriptor or fails.
    let process = unsafe { libc::syscall(libc::SYS_pidfd_open, std::process::id(), 0) };
    assert!(process >= 0);
    // SAFETY: nobody else has it.
    let process = unsafe { OwnedFd::from_raw_fd(process as RawFd) };
    let bound_ns = 100_000;
    let seed = std::env::var("SEED").map_or(35, |seed| seed.parse().unwrap());
    let mut random = SplitMix64::seed_from_u64(seed);
    std::thread::scope(|scope| {
        scope.spawn(|| Watchdog::new(&shared, &process, std::process::id(), bound_ns).run());
        for _ in 0..ROUNDS {
            scramble(&memory, &mut random);
            for fd in open.tcp().into_iter().chain(open.others()) {
                mark(&shared, fd);
            }
            std::thread::sleep(std::time::Duration::from_millis(random.next_u64() % 60));
        }
        // The last memory marks each descriptor, and the watchdog is awake sooner or later.
        let all_set = (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            open.tcp().map(nodelay) == [1; 3]
        });
        shared.inert.store(Inert::Told as u32, SeqCst);
        assert!(all_set, "seed {seed}: {:?}", open.tcp().map(nodelay));
    });
    assert_eq!(open.state(), state, "seed {seed}");
    drop(shared);
    // The pidfd and the memory's file.
    assert_eq!(descriptors(), count + 2, "seed {seed}: a copy stayed open");
    open.client.write_all(b"still").unwrap();
    let mut there = [0; 5];
    open.server.read_exact(&mut there).unwrap();
    assert_eq!(&there, b"still");
}

const ROUNDS: u32 = 30;
