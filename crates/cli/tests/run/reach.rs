//! What the library reaches and what it does not, where it is stored, and which arguments are
//! accepted.

use std::path::Path;

use tinygram_host::hand::Hand;

use crate::programs::{compile, text, tinygram};

#[test]
fn what_cannot_be_reached_is_refused_with_a_reason_and_an_alternative() {
    let folder = tempfile::tempdir().unwrap();
    let hello = folder.path().join("hello.c");
    std::fs::write(&hello, "int main(void) { return 0; }").unwrap();
    for (flags, reason) in [
        (&["-m32"][..], "is a 32-bit program"),
        (&["-fsanitize=address"], "is built with AddressSanitizer"),
        (
            &["-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"],
            "uses another C library",
        ),
        (
            &["-Wl,--section-start=.note.go.buildid=0x10000000", "-DGO"],
            "has 0 places that look like Go's Syscall6",
        ),
    ] {
        let source = if flags.contains(&"-DGO") {
            let go = folder.path().join("go.c");
            std::fs::write(&go, "__attribute__((section(\".note.go.buildid\"), used)) const char id[4] = \"Go\"; int main(void) { return 0; }").unwrap();
            go
        } else {
            hello.clone()
        };
        let program = folder.path().join("program");
        if !compile(&source, &program, flags) {
            eprintln!("skipped: the C compiler here cannot build with {flags:?}");
            continue;
        }
        refused(&program, reason);
        let script = folder.path().join("script");
        std::fs::write(&script, format!("#!{}\n", program.display())).unwrap();
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        refused(&script, reason);
    }
}

fn refused(program: &Path, reason: &str) {
    let output = tinygram()
        .args(["run", "--"])
        .arg(program)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains(reason) && said.contains("--cgroup") && said.lines().count() == 1,
        "{said}"
    );
}

#[test]
fn bad_arguments_are_one_line_and_nothing_runs() {
    for (arguments, accepted) in [
        (&["--policy", "nagle"][..], "cork-until-block"),
        (&["--watchdog", "5"], "0.1ms to 100ms"),
        (&["--watchdog", "1s"], "0.1ms to 100ms"),
        (&["--hold-below", "0"], "1..=65536"),
        (&["--only", "70000"], "a port from 1 to 65535"),
        (&["--stats=xml"], "json"),
        (&["--stats-to", "x"], "--stats"),
        (&["--cgroup", "--stats"], "--stats"),
        (&["sh"], "run [OPTIONS] [-- <PROGRAM>...]"),
    ] {
        let output = tinygram()
            .arg("run")
            .args(arguments)
            .args(["--", "sh", "-c", "echo ran"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(
            output.stdout.is_empty() && said.lines().count() == 1 && said.contains(accepted),
            "{arguments:?}: {said}"
        );
    }
}

#[test]
fn programs_that_escape_are_named() {
    for program in ["/bin/true", "true"] {
        let said = shell(&format!("env -i {program}; exit 0"), &[]);
        assert!(
            said.contains("not covered: true (started without LD_PRELOAD"),
            "{said}"
        );
    }
}

/// The sanitizer's library refuses to load behind another one; such a child runs without our
/// library and is named.
#[test]
fn a_child_with_a_sanitizer_runs_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("hello.c");
    std::fs::write(
        &source,
        "#include <stdio.h>\nint main(void) { return puts(\"hello\") < 0; }",
    )
    .unwrap();
    let program = folder.path().join("sanitized");
    if !compile(&source, &program, &["-fsanitize=address"]) {
        eprintln!("skipped: the C compiler here has no AddressSanitizer");
        return;
    }
    let said = shell(&format!("{}; echo ended $?", program.display()), &[]);
    assert!(said.contains("hello\nended 0"), "{said}");
    assert!(
        said.contains("not covered: sanitized (built with a sanitizer"),
        "{said}"
    );
}

/// As after a chroot: the dynamic linker prints nothing, and the child is named.
#[test]
fn a_child_that_cannot_find_the_library_runs_in_silence_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let said = shell(&format!("rm -r {path}; env true"), &["--library-dir", path]);
    assert!(!said.contains("ld.so"), "{said}");
    assert!(
        said.contains("not covered: env (in another root directory"),
        "{said}"
    );
}

/// Returns the output of a shell script and the statistics.
fn shell(script: &str, options: &[&str]) -> String {
    let mut run = tinygram();
    run.args(["run", "--stats"]).args(options);
    text(&run.args(["--", "sh", "-c", script]).output().unwrap())
}

#[test]
fn the_library_is_put_where_it_can_be_loaded_from() {
    let folder = tempfile::tempdir().unwrap();
    let spaced = folder.path().join("with a space");
    std::fs::create_dir(&spaced).unwrap();
    let run = |directory: &Path| {
        tinygram()
            .args(["run", "--library-dir"])
            .arg(directory)
            .args(["--", "sh", "-c", "echo $LD_PRELOAD"])
            .output()
            .unwrap()
    };
    let good = run(folder.path());
    assert!(
        String::from_utf8_lossy(&good.stdout).starts_with(folder.path().to_str().unwrap()),
        "{}",
        text(&good)
    );
    let bad = run(&spaced);
    assert_eq!(bad.status.code(), Some(2));
    assert!(
        text(&bad).contains("no path with a space"),
        "{}",
        text(&bad)
    );
    // Without a suitable home directory, the library is stored elsewhere.
    let elsewhere = tinygram()
        .env("HOME", &spaced)
        .env("XDG_CACHE_HOME", spaced.join("cache"))
        .args(["run", "--", "sh", "-c", "echo $LD_PRELOAD"])
        .output()
        .unwrap();
    assert!(
        text(&elsewhere).contains("/libtinygram-"),
        "{}",
        text(&elsewhere)
    );
    assert!(
        !text(&elsewhere).contains("with a space"),
        "{}",
        text(&elsewhere)
    );
}

/// Go's `SetNoDelay(false)`, in another language: the kernel's answer to `getsockopt` is what it
/// does with the next write.
#[test]
fn in_the_control_group_nodelay_stays_on_and_other_options_are_the_programs() {
    let turns_it_off = "
import socket
listener = socket.create_server(('127.0.0.1', 0))
near = socket.create_connection(listener.getsockname())
near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
near.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 77)
near.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 0)
print(*(near.getsockopt(*option) for option in (
    (socket.IPPROTO_TCP, socket.TCP_NODELAY),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE))))";
    let in_the_group = || {
        let output = tinygram()
            .args(["run", "--cgroup", "--", "python3", "-c", turns_it_off])
            .output()
            .unwrap();
        (text(&output), output.status.code())
    };
    let (said, code) = in_the_group();
    if code == Some(2) && said.contains("--cgroup") {
        eprintln!("skipped: {said}");
        return;
    }
    assert_eq!(said, "1 77 0\n");
    // A `tinygram cure` sees what every program of the host sets, and changes none of it.
    let mut hand = Hand::open().expect("as before");
    hand.give_way().expect("as before");
    assert_eq!(in_the_group().0, "1 77 0\n");
}

/// A run that is killed cannot remove its control group. The next one does, once nobody is in it.
#[test]
fn a_control_group_that_a_killed_run_left_goes_with_the_next_run() {
    let mut child = tinygram()
        .args([
            "run",
            "--cgroup",
            "--",
            "sh",
            "-c",
            "cat /proc/self/cgroup; exec sleep 60",
        ])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let name = format!("/tinygram-{}", child.id());
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let own = lines.find_map(|line| Some(line.ok()?.strip_prefix("0::")?.to_owned()));
    let Some(group) = own.filter(|group| group.ends_with(&name)) else {
        eprintln!("skipped: no control group can be made here");
        child.wait().unwrap();
        return;
    };
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "));
    let mount = mount.and_then(|line| line.split(' ').nth(4)).unwrap();
    let folder = Path::new(mount).join(group.trim_start_matches('/'));
    let members = std::fs::read_to_string(folder.join("cgroup.procs")).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    for pid in members.lines() {
        // SAFETY: processes that this test has started.
        unsafe { libc::kill(pid.parse().unwrap(), libc::SIGKILL) };
    }
    let is_empty = || {
        let events = std::fs::read_to_string(folder.join("cgroup.events")).unwrap_or_default();
        events.contains("populated 0")
    };
    while !is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(folder.exists(), "it was killed");
    let next = tinygram().args(["run", "--cgroup", "--", "true"]).status();
    assert!(next.unwrap().success());
    assert!(!folder.exists(), "{}", folder.display());
}
