//! A host keeps its behaviour while `watch` comes and goes on it: programs attach and end under load, a killed `watch`
//! leaves nothing attached, namespaces end, and process IDs are used again. Needs root; without it, the tests say so
//! and pass.

mod watching;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

use watching::Running;

#[test]
fn a_killed_watch_leaves_nothing_attached() {
    let _alone = alone();
    let Some(mut watch) = watch() else { return };
    let of_watch = numbers(watch.running.0.id());
    assert!(
        of_watch.len() >= 8,
        "programs and their links: {of_watch:?}"
    );
    assert!(of_watch.iter().all(Number::exists), "{of_watch:?}");
    watch.kill();
    // The kernel frees them a little later.
    let gone = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        !of_watch.iter().any(Number::exists)
    });
    assert!(gone, "{of_watch:?}");
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn programs_come_and_go_under_load() {
    come_and_go(10);
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn programs_come_and_go_two_hundred_times_under_load() {
    come_and_go(200);
}

/// Every second time `watch` is killed, else it ends by itself.
fn come_and_go(times: u32) {
    let _alone = alone();
    let load = Load::begin();
    let mut left = Vec::new();
    for time in 0..times {
        let Some(mut watch) = watch() else { return };
        left.extend(numbers(watch.running.0.id()));
        let before = load.exchanges();
        while load.exchanges() < before + 50 {
            std::thread::sleep(Duration::from_millis(1));
        }
        match time % 2 {
            0 => watch.kill(),
            _ => watch.end(),
        }
    }
    let exchanges = load.end();
    assert!(exchanges >= u64::from(times) * 50, "{exchanges} exchanges");
    let gone = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        !left.iter().any(Number::exists)
    });
    assert!(gone, "of {} programs and links some are left", left.len());
}

/// A process in a network namespace of its own stalls there and ends, namespace and all, again and again.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn namespaces_come_and_go() {
    let _alone = alone();
    let Some(watch) = watch() else { return };
    let stalls = 12;
    let mut pids = Vec::new();
    for _ in 0..stalls {
        let mut talk = Command::new("unshare");
        talk.args([
            "--net",
            "sh",
            "-c",
            "ip link set lo up && exec python3 -c \"$0\"",
            STALLS,
        ]);
        let mut talk = talk.spawn().expect("unshare starts");
        pids.push(talk.id());
        assert!(talk.wait().expect("it ends").success());
    }
    let told = watch.told();
    let mut namespaces = std::collections::HashSet::new();
    for pid in pids {
        let of_pid: Vec<_> = told
            .iter()
            .filter(|stall| stall["process"]["pid"] == pid)
            .collect();
        assert!(
            of_pid.len() >= 3,
            "{} stalls of process {pid}",
            of_pid.len()
        );
        namespaces.insert(of_pid[0]["network_namespace"].as_u64());
    }
    // Numbers are used again, too; but not by the host's own.
    let own = fs::read_link("/proc/self/ns/net").expect("a link");
    for namespace in namespaces {
        let namespace = namespace.expect("a number");
        assert_ne!(own.to_string_lossy(), format!("net:[{namespace}]"));
    }
}

/// Two programs of one interpreter have the same process ID, one after the other.
#[test]
fn a_process_id_that_is_used_again_is_another_process() {
    let _alone = alone();
    let Some(watch) = watch() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let scripts = ["first.py", "second.py"].map(|name| {
        let function = name.trim_end_matches(".py");
        let path = folder.path().join(name);
        fs::write(&path, STALLS.replace("ask(", &format!("ask_{function}("))).expect("a file");
        path
    });
    let first = Command::new("python3").arg(&scripts[0]).spawn();
    let mut first = first.expect("python3 starts");
    let pid = first.id();
    assert!(first.wait().expect("it ends").success());
    // Others may be quicker to take the number.
    let reused = (0..200).any(|_| {
        let before = (pid - 1).to_string();
        if fs::write("/proc/sys/kernel/ns_last_pid", before).is_err() {
            return false;
        }
        let mut second = Command::new("python3")
            .arg(&scripts[1])
            .spawn()
            .expect("python3 starts");
        let is_same = second.id() == pid;
        if !is_same {
            let _ = second.kill();
        }
        let well = second.wait().expect("it ends").success();
        assert!(well || !is_same);
        is_same
    });
    let told = watch.told();
    if !reused {
        println!("skipped: the process ID could not be had again");
        return;
    }
    for script in ["first", "second"] {
        let name = format!("{script}.py");
        let of_script: Vec<_> = told
            .iter()
            .filter(|stall| {
                stall["process"]["pid"] == pid && stall["process"]["script"] == name.as_str()
            })
            .collect();
        assert!(of_script.len() >= 3, "{script}: {told:#?}");
        let function = format!("ask_{script}");
        let named = |stall: &&&Value| stall["call_site"]["function"] == function.as_str();
        assert!(
            of_script.iter().filter(named).count() >= 2,
            "{of_script:#?}"
        );
        let misnamed = |stall: &&&Value| !stall["call_site"].is_null() && !named(stall);
        assert_eq!(
            of_script.iter().filter(misnamed).count(),
            0,
            "{of_script:#?}"
        );
    }
}

/// Asks five times in two writes and so stalls four times. It stays a while, so that a busy `watch` finds it.
const STALLS: &str = r#"
import socket, threading, time
listener = socket.create_server(("127.0.0.1", 0))
def serve():
    end, _ = listener.accept()
    while end.recv(300, socket.MSG_WAITALL):
        end.sendall(b"!")
threading.Thread(target=serve).start()
end = socket.create_connection(listener.getsockname())
def ask():
    end.sendall(b"h" * 100)
    end.sendall(b"b" * 200)
    end.recv(1)
for _ in range(5):
    ask()
time.sleep(1)
end.close()
"#;

/// Four connections on which a client asks without end. Each answer must be its request.
struct Load {
    stop: Arc<AtomicBool>,
    exchanges: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    fn begin() -> Self {
        let (stop, exchanges) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut threads = Vec::new();
        for number in 0..4_u8 {
            let (stop, exchanges) = (Arc::clone(&stop), Arc::clone(&exchanges));
            let mut client = TcpStream::connect(address).expect("a connection");
            let (mut server, _) = listener.accept().expect("a connection");
            client.set_nodelay(true).expect("an option");
            threads.push(std::thread::spawn(move || {
                let mut answer = [0; 64];
                for round in (0..=u8::MAX).cycle() {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let request = [round ^ number; 64];
                    client.write_all(&request).expect("the server reads");
                    client.read_exact(&mut answer).expect("the server answers");
                    assert_eq!(answer, request);
                    exchanges.fetch_add(1, Ordering::Relaxed);
                }
            }));
            threads.push(std::thread::spawn(move || {
                let mut request = [0; 64];
                while server.read_exact(&mut request).is_ok() {
                    server.write_all(&request).expect("the client reads");
                }
            }));
        }
        Self {
            stop,
            exchanges,
            threads,
        }
    }

    fn exchanges(&self) -> u64 {
        self.exchanges.load(Ordering::Relaxed)
    }

    fn end(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("each answer was its request");
        }
        self.exchanges.load(Ordering::Relaxed)
    }
}

/// A BPF program or a link, by its number in the kernel.
#[derive(Debug)]
struct Number {
    /// The command of bpf(2) that opens it.
    command: libc::c_long,
    number: u32,
}

impl Number {
    fn exists(&self) -> bool {
        // The number, and two words that are zero.
        let mut attributes = [self.number, 0, 0];
        let length = size_of_val(&attributes);
        // SAFETY: the kernel reads the attributes, which live until it returns.
        let opened =
            unsafe { libc::syscall(libc::SYS_bpf, self.command, attributes.as_mut_ptr(), length) };
        if opened >= 0 {
            // SAFETY: opened above, by us.
            unsafe { libc::close(opened as libc::c_int) };
        }
        opened >= 0
    }
}

/// Returns the programs and links that a process has open.
fn numbers(pid: u32) -> Vec<Number> {
    const OPEN_PROGRAM: libc::c_long = 13;
    const OPEN_LINK: libc::c_long = 30;
    let mut numbers = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fdinfo")).expect("it runs") {
        let text = fs::read_to_string(entry.expect("an entry").path()).unwrap_or_default();
        for (field, command) in [("link_id:", OPEN_LINK), ("prog_id:", OPEN_PROGRAM)] {
            let value = text.lines().find_map(|line| line.strip_prefix(field));
            if let Some(number) = value.and_then(|value| value.trim().parse().ok()) {
                numbers.push(Number { command, number });
            }
        }
    }
    numbers
}

/// A watch of the kernel, and what it prints.
struct Watch {
    running: Running,
    said: File,
}

/// Returns a watch that has begun to look.
fn watch() -> Option<Watch> {
    let said = tempfile::tempfile().expect("a file");
    let stdout = said.try_clone().expect("a file").into();
    let running = watching::watch(&["--source", "kernel", "--json"], stdout)?;
    Some(Watch { running, said })
}

impl Watch {
    /// Ends it, and returns the stalls that it told.
    fn told(mut self) -> Vec<Value> {
        // What the kernel said last is read.
        std::thread::sleep(Duration::from_millis(500));
        self.end();
        self.said.rewind().expect("a file");
        let lines = BufReader::new(self.said).lines();
        lines
            .map(|line| serde_json::from_str::<Value>(&line.expect("text")).expect("JSON"))
            .filter(|line| line["event"] == "stall")
            .collect()
    }

    fn end(&mut self) {
        // SAFETY: our own child, which has not been waited for.
        unsafe { libc::kill(self.running.0.id() as libc::pid_t, libc::SIGINT) };
        assert!(self.running.0.wait().expect("it ends").success());
    }

    fn kill(&mut self) {
        self.running.0.kill().expect("it runs");
        self.running.0.wait().expect("it ends");
    }
}

/// Each test has the host for itself.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}
