//! `--attach` and `--detach`: the rule comes into a Go program that runs, and leaves it again, under
//! load; and what was there is put back, also after its keeper was killed.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crate::gates::lookalike;
use crate::grafted::{Server, in_go, keeper_of, segments_over, segments_per_answer, started};
use crate::programs::{copy_program_to, tinygram};
use crate::untraceable::filtered;

/// A server of a test, and the journal's folder.
struct Case {
    folder: tempfile::TempDir,
    server: Server,
    address: String,
    program: PathBuf,
}

impl Case {
    /// Starts a server as it is; `None` if there is no Go here, or this user may not trace.
    fn begin() -> Option<Self> {
        Self::begin_with(|_| ())
    }

    /// As [`Self::begin`], with what the server's command has besides.
    fn begin_with(change: impl FnOnce(&mut Command)) -> Option<Self> {
        // SAFETY: no arguments, cannot fail.
        if unsafe { libc::geteuid() } != 0 {
            eprintln!("skipped: it takes root to trace a process that is no child");
            return None;
        }
        let (folder, program) = in_go()?;
        let mut command = Command::new(&program);
        change(&mut command);
        let (server, address) = started(command);
        Some(Self {
            folder,
            server,
            address,
            program,
        })
    }

    fn pid(&self) -> u32 {
        self.server.0.id()
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join("journal")
    }

    fn run(&self, verb: &str) -> Output {
        run(verb, self.pid(), &self.journal())
    }

    fn attach(&self) {
        let output = self.run("--attach");
        assert!(output.status.success(), "{output:?}");
    }

    fn detach(&self) {
        let output = self.run("--detach");
        assert!(output.status.success(), "{output:?}");
    }

    /// On a busy machine a thread may have no processor for longer than threads are kept waiting. Then nothing is
    /// changed, and the call can be made again.
    fn insist(&self, verb: &str) {
        for _ in 0..MOST_CALLS {
            let output = self.run(verb);
            if output.status.success() {
                return;
            }
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains("did not stop within"), "{said}");
        }
        panic!("{verb} was refused {MOST_CALLS} times");
    }

    fn segments(&self) -> f64 {
        segments_per_answer(&self.address)
    }

    /// Kills the keeper, and waits until it is gone.
    fn kill_keeper(&self) {
        let keeper = keeper_of(&self.pid().to_string()).expect("a keeper");
        // SAFETY: a process of this test's.
        unsafe { libc::kill(keeper, libc::SIGKILL) };
        while Path::new(&format!("/proc/{keeper}")).exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns whether the program's code in memory is that of its file.
    fn is_as_it_was(&self) -> bool {
        use object::{Object, ObjectSection};
        use std::os::unix::fs::FileExt;
        let file = std::fs::read(&self.program).unwrap();
        let parsed = object::File::parse(&*file).unwrap();
        let text = parsed.section_by_name(".text").unwrap();
        let memory = std::fs::File::open(format!("/proc/{}/mem", self.pid())).unwrap();
        let mut there = vec![0; text.size() as usize];
        memory.read_exact_at(&mut there, text.address()).unwrap();
        there == text.data().unwrap()
    }
}

const MOST_CALLS: u32 = 50;

fn run(verb: &str, pid: u32, journal: &Path) -> Output {
    tinygram()
        .args(["run", verb, &pid.to_string(), "--journal"])
        .arg(journal)
        .output()
        .unwrap()
}

#[test]
fn the_rule_comes_into_a_running_program_and_leaves_it() {
    let Some(case) = Case::begin() else { return };
    assert!(case.segments() > 6.0);
    case.attach();
    assert!(case.segments() < 1.5);
    assert!(!case.is_as_it_was());
    let again = case.run("--attach");
    let said = String::from_utf8_lossy(&again.stderr);
    assert_eq!(again.status.code(), Some(2));
    assert!(said.contains("is covered already"), "{said}");
    case.detach();
    assert!(case.is_as_it_was());
    assert!(case.segments() > 6.0);
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", case.pid())).unwrap();
    assert!(!maps.contains("tngraft"), "{maps}");
    // The record is gone, too.
    let again = case.run("--detach");
    let said = String::from_utf8_lossy(&again.stderr);
    assert_eq!(again.status.code(), Some(2));
    assert!(said.contains("nothing was put into it"), "{said}");
}

/// Nagle's algorithm is the program's choice: what the rule made of it goes with the rule.
#[test]
fn a_connection_that_stands_is_as_its_program_set_it() {
    let nagle = |command: &mut Command| {
        command.env("NAGLE", "yes");
    };
    for (change, without) in [(nagle as fn(&mut Command), 2.0), (|_| (), 8.0)] {
        let Some(case) = Case::begin_with(change) else {
            return;
        };
        let stream = TcpStream::connect(&case.address).unwrap();
        stream.set_nodelay(true).unwrap();
        let is_as_it_was = || (segments_over(&stream, 20) - without).abs() < 1.5;
        assert!(is_as_it_was());
        case.insist("--attach");
        assert!(segments_over(&stream, 100) < 1.5);
        case.insist("--detach");
        assert!(is_as_it_was());
    }
}

#[test]
fn what_a_killed_keeper_left_is_put_back() {
    let Some(case) = Case::begin() else { return };
    case.attach();
    case.kill_keeper();
    assert!(!case.is_as_it_was());
    case.detach();
    assert!(case.is_as_it_was());
    assert!(case.segments() > 6.0);
}

/// Without its watchdog the code must not hold for long: within two seconds of its first hold it finds out, and rests
/// for good. (The keeper may have been asleep when it was killed; then that hold is the first to call it.) Then the next call puts back what was there and begins anew.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn without_its_keeper_a_program_is_as_without_us_until_the_next_call() {
    let Some(case) = Case::begin() else { return };
    case.attach();
    assert!(case.segments() < 1.5);
    case.kill_keeper();
    case.segments();
    std::thread::sleep(Duration::from_millis(2_500));
    case.segments();
    assert!(case.segments() > 6.0, "it rests");
    case.attach();
    assert!(case.segments() < 1.5);
    case.detach();
    assert!(case.is_as_it_was());
}

/// The code of a program that holds nothing does not notice that its keeper was killed.
#[test]
fn after_its_keeper_was_killed_a_quiet_program_can_be_attached_to_anew() {
    let Some(case) = Case::begin() else { return };
    case.attach();
    let again = case.run("--attach");
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(said.contains("is covered already"), "{said}");
    case.kill_keeper();
    case.attach();
    assert!(case.segments() < 1.5);
    case.detach();
    assert!(case.is_as_it_was());
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn a_program_under_load_survives_ten_attachments() {
    under_load(10);
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn a_program_under_load_survives_two_hundred_attachments() {
    under_load(200);
}

/// Asks over four connections at once, with all octets compared, while the rule comes and goes.
fn under_load(times: u32) {
    let Some(case) = Case::begin() else { return };
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Also if an assertion fails: the scope waits for its threads.
        let _over = Over(&is_over);
        let askers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    while !is_over.load(Relaxed) {
                        segments_per_answer(&case.address);
                    }
                })
            })
            .collect();
        for time in 0..times {
            case.insist("--attach");
            // Between 0 and 30 ms, always another time.
            std::thread::sleep(Duration::from_millis(u64::from(time * 7 % 31)));
            case.insist("--detach");
            assert!(case.is_as_it_was());
        }
        is_over.store(true, Relaxed);
        for asker in askers {
            asker.join().unwrap();
        }
    });
    assert!(TcpStream::connect(&case.address).is_ok());
}

/// Says at its end that it is over.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Each is refused with one line, and is left as it is.
#[test]
fn what_must_not_be_touched_is_refused() {
    let Some(case) = Case::begin() else { return };
    let journal = case.journal();
    let refused = |output: Output, why: &str| {
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(why) && said.lines().count() == 1, "{said}");
    };
    refused(
        run("--attach", std::process::id(), &journal),
        "is neither a Go program nor statically linked",
    );
    refused(
        run("--attach", u32::MAX / 2, &journal),
        "there is no process",
    );
    // Of another user, whom tracing root's programs is denied.
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    let binary = case.folder.path().join("tinygram");
    copy_program_to(&binary);
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(case.folder.path(), open).unwrap();
    command
        .arg(&binary)
        .args(["run", "--attach", &case.pid().to_string()]);
    refused(command.output().unwrap(), "may not be traced");
    // One that somebody traces already.
    let pid = case.pid() as i32;
    // SAFETY: a process of this test's.
    assert_eq!(unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) }, 0);
    refused(case.run("--attach"), "is traced already");
    // SAFETY: as above; it must stop before it can be let go.
    unsafe {
        libc::ptrace(libc::PTRACE_INTERRUPT, pid, 0, 0);
        libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL);
        libc::ptrace(libc::PTRACE_DETACH, pid, 0, 0);
    }
    assert!(case.is_as_it_was());
    assert!(case.segments() > 6.0);
}

#[test]
fn a_filter_that_forbids_us_to_trace_is_named() {
    let Some(case) = Case::begin() else { return };
    let mut command = tinygram();
    command
        .args(["run", "--attach", &case.pid().to_string(), "--journal"])
        .arg(case.journal());
    filtered(
        &mut command,
        libc::SYS_ptrace,
        libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
    );
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let why = "may not be traced: a filter of system calls (seccomp) forbids ptrace";
    assert!(said.contains(why) && said.lines().count() == 1, "{said}");
    assert!(case.is_as_it_was());
}

/// Calls made in the name of a process whose calls are filtered might end it, and what leaves by a ring passes by.
#[test]
fn what_is_filtered_or_has_a_ring_is_refused() {
    // SAFETY: no arguments, cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("skipped: it takes root to trace a process that is no child");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = lookalike(folder.path(), &[]);
    for (kind, why) in [
        ("filtered", "are filtered (seccomp)"),
        ("ringed", "uses io_uring"),
    ] {
        let mut command = Command::new(&program);
        command.env("KIND", kind);
        let (server, address) = started(command);
        let pid = server.0.id();
        let open = std::fs::read_dir(format!("/proc/{pid}/fd"))
            .unwrap()
            .flatten();
        let has_ring = open.filter_map(|entry| std::fs::read_link(entry.path()).ok());
        let has_ring = { has_ring }.any(|target| target.to_string_lossy().contains("io_uring"));
        if kind == "ringed" && !has_ring {
            eprintln!("skipped: this kernel gives nobody a ring");
            continue;
        }
        let output = run("--attach", pid, &folder.path().join("journal"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{kind}: {said}");
        assert!(
            said.contains(why) && said.lines().count() == 1,
            "{kind}: {said}"
        );
        assert!(segments_per_answer(&address) > 7.9, "{kind} was touched");
    }
}
