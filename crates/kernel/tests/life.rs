//! What becomes of connections: the window stays the base's, nothing stays held, and nothing stays behind.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::io::{Read, Write};
use std::mem;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tinygram_host::namespace::Namespace;
use tinygram_kernel::{Base, Loaded, list};

/// Two ends on loopback with an MSS of 1000; the first has this congestion control and TCP_NODELAY.
fn pair(congestion: &str) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    set(&listener, libc::TCP_MAXSEG, &1000_i32.to_ne_bytes());
    let server = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    set(&server, libc::TCP_CONGESTION, congestion.as_bytes());
    server.set_nodelay(true).unwrap();
    (server, listener.accept().unwrap().0)
}

fn set(socket: &impl AsRawFd, option: i32, value: &[u8]) {
    let (fd, length) = (socket.as_raw_fd(), value.len() as u32);
    // SAFETY: a live descriptor and value.
    let failed =
        unsafe { libc::setsockopt(fd, libc::IPPROTO_TCP, option, value.as_ptr().cast(), length) };
    assert_eq!(
        failed,
        0,
        "option {option}: {}",
        std::io::Error::last_os_error()
    );
}

fn info(socket: &TcpStream) -> libc::tcp_info {
    // SAFETY: plain numbers, which the kernel writes over.
    unsafe {
        let mut info: libc::tcp_info = mem::zeroed();
        let mut length = size_of::<libc::tcp_info>() as u32;
        let into = (&raw mut info).cast();
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            into,
            &raw mut length,
        );
        info
    }
}

fn congestion(socket: &TcpStream) -> String {
    let mut name = [0_u8; 16];
    let mut length = 16_u32;
    // SAFETY: a live descriptor, and room for the name.
    unsafe {
        let into = name.as_mut_ptr().cast();
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            into,
            &raw mut length,
        );
    }
    String::from_utf8_lossy(&name)
        .trim_end_matches('\0')
        .to_owned()
}

/// Makes exchanges whose answer takes two writes, and returns the server's window behind them. The client's
/// acknowledgments come at once, so a hold is short.
fn exchanges(congestion: &str, count: u32) -> u32 {
    let (mut server, mut client) = pair(congestion);
    let mut octets = vec![0; 4000];
    for _ in 0..count {
        client.write_all(b"?").unwrap();
        server.read_exact(&mut octets[..1]).unwrap();
        server.write_all(&[b'a'; 2500]).unwrap();
        server.write_all(&[b'b'; 300]).unwrap();
        let mut missing = 2800;
        while missing > 0 {
            set(&client, libc::TCP_QUICKACK, &1_i32.to_ne_bytes());
            missing -= client.read(&mut octets[..missing]).unwrap();
        }
    }
    info(&server).tcpi_snd_cwnd
}

/// A window that is lowered for each hold looks full to the kernel at each of them.
#[test]
fn after_many_exchanges_the_window_is_the_bases() {
    for base in [Base::Cubic, Base::Reno] {
        let Some(loaded) = common::load("strict-nagle", base) else {
            return;
        };
        let (with, without) = (
            exchanges(loaded.name(), 10_000),
            exchanges(base.name(), 10_000),
        );
        assert_eq!(with, without, "{base}");
    }
}

/// Writes of random sizes, read and compared. A hold lasts until an acknowledgment, a loss probe or the retransmission
/// timer, so nothing is on its way for longer than those.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn nothing_stays_held() {
    for policy in [
        "nagle",
        "strict-nagle",
        "minshall",
        "msmv",
        "e+m+m",
        "borman",
        "doupnik",
        "mss-outstanding",
    ] {
        let Some(loaded) = common::load(policy, Base::Cubic) else {
            return;
        };
        let (mut server, mut client) = pair(loaded.name());
        client.set_read_timeout(Some(BOUND)).unwrap();
        let mut dice = 0x9e37_79b9_7f4a_7c15_u64;
        let mut roll = move |sides: u64| {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            dice % sides
        };
        let (mut next, mut expected, mut read) = (0_u64, 0_u64, vec![0; 1 << 16]);
        for burst in 0..2000 {
            let mut written = 0;
            for _ in 0..=roll(5) {
                let length = 1 + roll(if burst % 10 == 0 { 20_000 } else { 1_500 });
                let data: Vec<u8> = (next..next + length).map(pattern).collect();
                server.write_all(&data).unwrap();
                (next, written) = (next + length, written + length as usize);
            }
            while written > 0 {
                if burst % 50 != 0 {
                    // Else an acknowledgment is delayed now and then.
                    set(&client, libc::TCP_QUICKACK, &1_i32.to_ne_bytes());
                }
                let got = client.read(&mut read[..written.min(1 << 16)]);
                let got = got.unwrap_or_else(|error| {
                    panic!("{policy}: octet {expected} stayed away: {error}")
                });
                assert!(
                    read[..got]
                        .iter()
                        .copied()
                        .eq((expected..).take(got).map(pattern)),
                    "{policy}"
                );
                (expected, written) = (expected + got as u64, written - got);
            }
        }
    }
}

fn pattern(at: u64) -> u8 {
    (at.wrapping_mul(0x9e37_79b9) >> 24) as u8
}

/// A control group of version 2 that this process is in while the value lives.
struct Group {
    folder: PathBuf,
    before: PathBuf,
}

impl Group {
    fn join() -> Option<Self> {
        let root = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(Path::new);
        let root = root
            .into_iter()
            .find(|root| root.join("cgroup.controllers").exists());
        let Some(root) = root else {
            eprintln!("skipped: no control groups of version 2");
            return None;
        };
        let own = fs::read_to_string("/proc/self/cgroup").unwrap();
        let own = own
            .lines()
            .find_map(|line| line.strip_prefix("0::"))
            .unwrap_or("/");
        let folder = root.join(format!("tinygram-test-{}", std::process::id()));
        if let Err(error) =
            fs::create_dir(&folder).and_then(|()| fs::write(folder.join("cgroup.procs"), "0"))
        {
            eprintln!("skipped: no control group of one's own: {error}");
            return None;
        }
        let before = root.join(own.trim_start_matches('/'));
        Some(Self { folder, before })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::write(self.before.join("cgroup.procs"), "0");
        let _ = fs::remove_dir(&self.folder);
    }
}

fn connect() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (near, listener.accept().unwrap().0)
}

/// The whole life of a choice, and its end by a signal that nobody can catch. One test, because the group is the
/// process's.
#[test]
fn a_group_has_the_policy_while_its_loader_lives() {
    if let Ok(folder) = std::env::var(CHILD) {
        return load_and_wait(Path::new(&folder));
    }
    let Some(mut loaded) = common::load("minshall", Base::Cubic) else {
        return;
    };
    let Some(group) = Group::join() else {
        return;
    };
    let usual = congestion(&connect().0);
    let folder = fs::File::open(&group.folder).unwrap();
    loaded.choose_for(folder.as_fd()).unwrap();
    let (near, far) = connect();
    for end in [&near, &far] {
        assert_eq!(congestion(end), loaded.name());
        assert!(end.nodelay().unwrap());
    }
    let listed = list().unwrap();
    let run = listed
        .iter()
        .find(|run| run.registered == loaded.name())
        .unwrap();
    assert_eq!(
        (run.groups.len(), run.counts.holders, run.counts.chosen),
        (1, 2, 2)
    );

    // An end in order: the open ones have what they had, and the next ones, too.
    loaded.choose_for_none();
    loaded.give_back(&Namespace::own().unwrap()).unwrap();
    assert_eq!(loaded.counts().unwrap().given_back, 2);
    for end in [&near, &far, &connect().0] {
        assert_eq!(congestion(end), usual);
        assert!(!end.nodelay().unwrap());
    }
    drop(loaded);

    // An end without: the open ones keep it, and no other gets it.
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "a_group_has_the_policy_while_its_loader_lives",
            "--nocapture",
        ])
        .env(CHILD, &group.folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut from = child.stdout.take().unwrap();
    while !said.contains("ready ") || !said.ends_with('\n') {
        let mut octets = [0; 256];
        let got = from.read(&mut octets).unwrap();
        assert!(got > 0, "{said}");
        said += &String::from_utf8_lossy(&octets[..got]);
    }
    let (old, _far) = connect();
    let name = congestion(&old);
    assert!(
        name.starts_with("tg_") && said.contains(&name),
        "{name}: {said}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    // The kernel undoes what a process had after it has ended.
    let is_over = (0..250).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        congestion(&connect().0) == usual
    });
    assert!(is_over, "new connections still get it");
    assert_eq!(congestion(&old), name);
    let listed = list().unwrap();
    let run = listed.iter().find(|run| run.registered == name).unwrap();
    assert!(
        !run.is_registered && run.groups.is_empty() && run.counts.holders == 2,
        "{run:?}"
    );
}

fn load_and_wait(folder: &Path) {
    let mut loaded: Loaded = common::load("minshall", Base::Cubic).unwrap();
    loaded
        .choose_for(fs::File::open(folder).unwrap().as_fd())
        .unwrap();
    println!("ready {}", loaded.name());
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

const CHILD: &str = "TINYGRAM_KERNEL_TEST_GROUP";
/// Longer than a retransmission timeout on loopback, and what a busy machine adds.
const BOUND: Duration = Duration::from_secs(2);
