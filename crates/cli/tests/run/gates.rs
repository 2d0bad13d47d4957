//! When the rule is put into a Go program, when not, and what it leaves alone: each on a program that looks
//! like one of Go's (`lookalike.c`), where every mistake can be made on purpose.

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::grafted::{Server, in_go, segments_of, segments_per_answer, started};
use crate::programs::{compile, copy_program_to, text, tinygram};

/// Compiles the program.
pub(super) fn lookalike(folder: &Path, flags: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run/lookalike.c");
    let program = folder.join("lookalike");
    let flags = [&["-O2"], flags].concat();
    assert!(compile(&source, &program, &flags), "it takes a C compiler");
    program
}

/// Runs the program under `run`, asks it over one connection, and ends it. Returns the segments of an
/// answer, and what is said of it in the statistics.
fn told(program: &Path, kind: &str) -> (f64, String) {
    let shown = program.with_extension("json");
    let _ = std::fs::remove_file(&shown);
    let mut command = tinygram();
    command.args(["run", "--stats=json", "--stats-to"]);
    command.arg(&shown).arg("--").arg(program).env("KIND", kind);
    let (server, address) = started(command);
    let segments = segments_per_answer(&address);
    drop(server);
    (segments, statistics(&shown))
}

/// Returns the programs that were not covered, as the statistics show them.
pub(super) fn statistics(shown: &Path) -> String {
    for _ in 0..200 {
        let text = std::fs::read_to_string(shown).unwrap_or_default();
        if let Ok(document) = serde_json::from_str::<serde_json::Value>(&text) {
            return document["counts"]["programs_not_covered"].to_string();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("no statistics")
}

#[test]
fn a_program_whose_registers_are_gos_is_covered() {
    let folder = tempfile::tempdir().unwrap();
    let (segments, said) = told(&lookalike(folder.path(), &[]), "");
    assert!(segments < 1.5, "{segments}");
    assert_eq!(said, "[]");
}

/// The first call looks at what the code believes of registers and stack. If that is wrong, everything
/// passes through for good, without a fault.
#[test]
fn a_program_whose_registers_are_others_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let program = lookalike(folder.path(), &[]);
    for kind in ["stack", "unmapped", "other"] {
        let (segments, said) = told(&program, kind);
        assert!(segments > 7.9, "{kind}: {segments}");
        assert!(said.contains("registers are not those"), "{kind}: {said}");
    }
}

/// What sandboxes itself is left alone from then on; rings and other programs are named.
#[test]
fn what_ends_or_escapes_the_rule_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let program = lookalike(folder.path(), &[]);
    let (segments, said) = told(&program, "seccomp");
    assert!(segments > 7.9, "{segments}");
    assert!(said.contains("sandboxed itself"), "{said}");
    let (segments, said) = told(&program, "ring");
    assert!(segments < 1.5, "{segments}");
    assert!(said.contains("io_uring"), "{said}");
    let shown = folder.path().join("executed.json");
    let output = tinygram()
        .args(["run", "--stats=json", "--stats-to"])
        .arg(&shown)
        .arg("--")
        .arg(&program)
        .env("KIND", "exec")
        .output()
        .unwrap();
    assert_eq!(text(&output), "executed\n");
    let said = statistics(&shown);
    assert!(said.contains("what the program executed"), "{said}");
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn a_version_of_go_that_was_not_tried_takes_try() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["-DVERSION=\"go1.99.0\""];
    let program = lookalike(folder.path(), &flags);
    let output = tinygram()
        .args(["run", "--"])
        .arg(&program)
        .output()
        .unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.lines().count() == 1 && said.contains("go1.99.0, which was not tried"),
        "{said}"
    );
    assert!(said.contains("--try"), "{said}");
    let run = |kind: &str| {
        let mut command = tinygram();
        command.args(["run", "--try", "--"]).arg(&program);
        command.env("KIND", kind).stderr(Stdio::piped());
        let (server, address) = started(command);
        // Its first calls are looked at before anything is changed.
        segments_of(20, &address);
        std::thread::sleep(Duration::from_millis(2_500));
        (server, segments_per_answer(&address))
    };
    let (server, segments) = run("");
    assert!(segments < 1.5, "{segments}");
    drop(server);
    let (mut server, segments) = run("other");
    assert!(segments > 7.9, "{segments}");
    let mut said = String::new();
    let errors = server.0.stderr.take();
    drop(server);
    errors.unwrap().read_to_string(&mut said).unwrap();
    assert!(
        said.contains("the program runs as it is: its registers are not those"),
        "{said}"
    );
}

/// The real thing, with another number in its build information.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn a_real_go_program_of_another_version_is_covered_with_try() {
    let Some((_folder, program)) = in_go() else {
        return;
    };
    let mut octets = std::fs::read(&program).unwrap();
    let marker = b"\xff Go buildinf:";
    let at = octets.windows(marker.len()).position(|w| w == marker);
    let version = at.unwrap() + 33;
    assert_eq!(&octets[version..version + 4], b"go1.");
    octets[version + 4..version + 6].copy_from_slice(b"99");
    std::fs::write(&program, octets).unwrap();
    // Some are about to make a thread at the moment at which their calls are no longer looked at.
    for _ in 0..4 {
        let mut command = tinygram();
        command.args(["run", "--try", "--"]).arg(&program);
        let (_server, address) = started(command);
        std::thread::sleep(Duration::from_millis(2_500));
        let segments = segments_per_answer(&address);
        assert!(segments < 1.5, "{segments}");
    }
}

/// Asks for answers while the program's calls are traced, and returns what is said of them.
fn verified(program: &Path, kind: &str) -> String {
    let mut command = tinygram();
    command.args(["run", "--verify", "--"]).arg(program);
    command.env("KIND", kind).stderr(Stdio::piped());
    let (mut server, address) = started(command);
    segments_of(50, &address);
    std::thread::sleep(Duration::from_millis(1_500));
    let mut errors = server.0.stderr.take().unwrap();
    drop(server);
    let mut said = String::new();
    errors.read_to_string(&mut said).unwrap();
    said
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn verify_names_the_places_past_the_rule() {
    let folder = tempfile::tempdir().unwrap();
    let program = lookalike(folder.path(), &[]);
    let said = verified(&program, "elsewhere");
    assert!(
        said.contains("wrote to a TCP socket") && said.contains("write at "),
        "{said}"
    );
    assert!(said.contains("times past the rule"), "{said}");
    // All its calls that matter pass through the known place.
    let said = verified(&program, "");
    assert_eq!(said.lines().count(), 1, "{said}");
    let Some((_folder, program)) = in_go() else {
        return;
    };
    let said = verified(&program, "");
    assert_eq!(said.lines().count(), 1, "{said}");
    let known = said.split(" in 1 s ").nth(1).unwrap();
    let known: u64 = known.split(' ').next().unwrap().parse().unwrap();
    // A traced program on a busy machine does not give all answers within the second.
    assert!(known > 9, "{said}");
}

/// Returns the lines of a process's memory map that can be written and executed.
fn writable_code(pid: u32) -> Vec<String> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    assert!(maps.contains("tngraft"), "{maps}");
    let both = |line: &&str| line.split(' ').nth(1).is_some_and(|how| how.contains("wx"));
    maps.lines().filter(both).map(str::to_owned).collect()
}

#[test]
fn no_code_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let program = lookalike(folder.path(), &[]);
    let mut command = tinygram();
    command.args(["run", "--"]).arg(&program);
    let (server, address) = started(command);
    segments_of(50, &address);
    assert_eq!(writable_code(server.0.id()), Vec::<String>::new());
    drop(server);
    let (server, address) = started(Command::new(&program));
    let journal = folder.path().join("journal");
    let pid = server.0.id().to_string();
    let mut command = tinygram();
    command.args(["run", "--attach", &pid, "--journal"]);
    let output = command.arg(journal).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    segments_of(50, &address);
    assert_eq!(writable_code(server.0.id()), Vec::<String>::new());
}

/// One changed octet of the places, and nothing is put in.
#[test]
fn code_in_memory_that_is_not_the_files_is_left_alone() {
    use object::{Object, ObjectSymbol};
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().unwrap();
    let program = lookalike(folder.path(), &["-static"]);
    let file = std::fs::read(&program).unwrap();
    let parsed = object::File::parse(&*file).unwrap();
    let futex = parsed.symbols().find(|one| one.name() == Ok("futex"));
    let futex = futex.unwrap().address();
    let (server, _) = started(Command::new(&program));
    let pid = server.0.id();
    let memory = std::fs::OpenOptions::new()
        .write(true)
        .open(format!("/proc/{pid}/mem"))
        .unwrap();
    // Behind the five octets of the jump.
    memory.write_all_at(&[0x90], futex + 20).unwrap();
    let mut command = tinygram();
    command.args(["run", "--attach", &pid.to_string(), "--journal"]);
    let output = command.arg(folder.path().join("journal")).output().unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("code in memory is not that of its file"),
        "{said}"
    );
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    assert!(!maps.contains("tngraft"), "{maps}");
}

/// Asks a server whose command runs in namespaces of its own.
fn in_namespaces(words: &[&str], program: &Path) -> f64 {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command.arg(env!("CARGO_BIN_EXE_tinygram"));
    command.args(["run", "--"]).arg(program);
    let (_server, address) = started(command);
    segments_per_answer(&address)
}

#[test]
fn other_namespaces_are_no_obstacle() {
    // SAFETY: no arguments, cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("skipped: it takes root to make namespaces of every kind");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).unwrap();
    let program = lookalike(folder.path(), &["-static"]);
    for words in [
        &["unshare", "--mount", "--ipc", "--uts"][..],
        &["unshare", "--user", "--map-root-user"],
        // /proc stays that of the host, whose numbers mean other processes.
        &["unshare", "--pid", "--fork", "--kill-child"],
        &["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"],
    ] {
        let segments = in_namespaces(words, &program);
        assert!(segments < 1.5, "{words:?}: {segments}");
    }
}

/// A user without privileges, whose own programs are covered as root's are.
#[test]
fn any_user_may_run_a_program() {
    // SAFETY: no arguments, cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("skipped: it takes root to become another user");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let open = || std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open()).unwrap();
    let program = lookalike(folder.path(), &["-static"]);
    let binary = folder.path().join("tinygram");
    copy_program_to(&binary);
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.arg(&binary).args(["run", "--"]).arg(&program);
    let (_server, address) = started(command);
    let segments = segments_per_answer(&address);
    assert!(segments < 1.5, "{segments}");
}

/// As the first process of a container the program has the keeper beside it, and no child that has ended
/// and that nobody waits for.
#[test]
fn as_the_first_process_of_a_container_it_leaves_no_zombie() {
    // SAFETY: no arguments, cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("skipped: it takes root to make a PID namespace");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = lookalike(folder.path(), &["-static"]);
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "--mount-proc"]);
    command.arg(env!("CARGO_BIN_EXE_tinygram"));
    command.args(["run", "--"]).arg(&program);
    let (server, address) = started(command);
    segments_of(50, &address);
    let children = |pid: u32| {
        let path = format!("/proc/{pid}/task/{pid}/children");
        let text = std::fs::read_to_string(path).unwrap();
        text.split_ascii_whitespace()
            .map(|pid| pid.parse().unwrap())
            .collect::<Vec<u32>>()
    };
    let [first] = children(server.0.id())[..] else {
        panic!("unshare has one child")
    };
    assert_eq!(
        std::fs::read_link(format!("/proc/{first}/exe")).unwrap(),
        program.canonicalize().unwrap()
    );
    let states: Vec<String> = children(first)
        .into_iter()
        .map(|pid| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            let line = status.lines().find(|line| line.starts_with("State:"));
            line.unwrap().to_owned()
        })
        .collect();
    assert!(
        states.len() == 1 && !states[0].contains('Z'),
        "only the keeper: {states:?}"
    );
}

/// `Type=notify`: the message comes from the number that the manager has started.
#[test]
fn the_manager_is_notified_by_the_process_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let program = lookalike(folder.path(), &[]);
    let path = folder.path().join("notify");
    let socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    let on: libc::c_int = 1;
    // SAFETY: reads one integer.
    unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PASSCRED,
            (&raw const on).cast(),
            size_of_val(&on) as u32,
        );
    }
    let mut command = tinygram();
    command.args(["run", "--"]).arg(&program);
    command.env("KIND", "notify").env("NOTIFY_SOCKET", &path);
    let (server, _) = started(command);
    let mut said = [0_u8; 16];
    let mut room = [0_u64; 8];
    let mut part = libc::iovec {
        iov_base: said.as_mut_ptr().cast(),
        iov_len: said.len(),
    };
    // SAFETY: zeros are valid, and the fields point to locals.
    let credentials = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = room.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&room);
        assert_eq!(libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0), 7);
        let control = libc::CMSG_FIRSTHDR(&raw const message);
        libc::CMSG_DATA(control)
            .cast::<libc::ucred>()
            .read_unaligned()
    };
    assert_eq!(&said[..7], b"READY=1");
    assert_eq!(credentials.pid as u32, server.0.id());
}

/// A terminal: Ctrl-C reaches the program, which it ends; nothing else is in the foreground.
#[test]
fn a_key_of_the_terminal_ends_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let program = lookalike(folder.path(), &[]);
    let (mut ours, mut theirs) = (0, 0);
    // SAFETY: writes two descriptors.
    let opened = unsafe {
        libc::openpty(
            &raw mut ours,
            &raw mut theirs,
            std::ptr::null_mut(),
            std::ptr::null(),
            std::ptr::null(),
        )
    };
    assert_eq!(opened, 0);
    // SAFETY: nobody else has them.
    let (ours, theirs) = unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
    let mut command = tinygram();
    command.args(["run", "--"]).arg(&program).arg("8");
    let copy = || Stdio::from(theirs.try_clone().unwrap());
    command.stdin(copy()).stdout(copy()).stderr(copy());
    // SAFETY: three calls, between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            libc::ioctl(0, libc::TIOCSCTTY, 0);
            // A shell without job control has what it runs in the background ignore the key.
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
    let mut child = Server(command.spawn().unwrap());
    let mut terminal = std::fs::File::from(ours);
    let mut seen = [0; 64];
    let count = terminal.read(&mut seen).unwrap();
    assert!(seen[..count].starts_with(b"127.0.0.1:"), "{seen:?}");
    terminal.write_all(&[0x03]).unwrap();
    let status = ended(&mut child.0);
    assert_eq!(status.signal(), Some(libc::SIGINT), "{status:?}");
}

fn ended(child: &mut Child) -> std::process::ExitStatus {
    for _ in 0..200 {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("it goes on")
}

pub(super) fn refused(output: &Output, why: &str) {
    let said = text(output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.lines().count() == 1 && said.contains(why), "{said}");
}

/// What runs with the privileges of another user, and what somebody traces already, is refused in a line.
#[test]
fn what_may_not_be_traced_is_refused() {
    // SAFETY: no arguments, cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("skipped: it takes root to give a file away");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = lookalike(folder.path(), &["-static"]);
    std::os::unix::fs::chown(&program, Some(65534), None).unwrap();
    let setuid = std::fs::Permissions::from_mode(0o4755);
    std::fs::set_permissions(&program, setuid).unwrap();
    let run = || tinygram().args(["run", "--"]).arg(&program).output();
    refused(&run().unwrap(), "is setuid, and nothing may be put into");
    let plain = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&program, plain).unwrap();
    let mut command = Command::new("strace");
    command.args(["-o", "/dev/null", env!("CARGO_BIN_EXE_tinygram")]);
    command.args(["run", "--"]).arg(&program);
    match command.output() {
        Ok(output) => refused(&output, "was not started: it is traced already, by process"),
        Err(_) => eprintln!("skipped: there is no strace here"),
    }
}
