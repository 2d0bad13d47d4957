//! Tests which function (and which line, if it can be known) makes the write that is held, for
//! programs in C, Rust, Go, Python and JavaScript that send a request in two writes.

mod common;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard};

use common::Watched;
use tinygram_watch::kernel::SourceOptions;
use tinygram_watch::site::CallSite;

#[test]
fn c_names_its_function_and_its_line() {
    let Some(program) = built("c", "cc", &["-O2", "-g", "-o"]) else {
        return;
    };
    let Some(site) = site(&mut Command::new(program)) else {
        return;
    };
    assert_eq!(site.function, "ask_in_two_writes", "{site:#?}");
    assert_eq!(site.line, Some(line_here("asks.c")), "{site:#?}");
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn c_without_debugging_information_names_its_function() {
    let Some(program) = built("plain", "cc", &["-O2", "-fomit-frame-pointer", "-o"]) else {
        return;
    };
    let Some(site) = site(&mut Command::new(program)) else {
        return;
    };
    assert_eq!(site.function, "ask_in_two_writes", "{site:#?}");
}

/// If the program has no names, the finding has the program's file and the place in it.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn stripped_c_names_the_program_and_the_place_in_it() {
    let Some(program) = built("stripped", "cc", &["-O2", "-s", "-o"]) else {
        return;
    };
    let Some(site) = site(&mut Command::new(&program)) else {
        return;
    };
    let name = program.file_name().expect("a name").to_string_lossy();
    assert!(
        site.function.starts_with(&format!("{name}+0x")),
        "{site:#?}"
    );
    assert!(site.stack.len() > 2, "{site:#?}");
}

/// Both are linked statically, so the code of one is at the addresses where the other's was.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn a_process_that_executes_another_program_is_named_anew() {
    let renamed = "-Dask_in_two_writes=ask_once_more";
    let (Some(first), Some(second)) = (
        built("first", "cc", &["-O2", "-static", "-no-pie", "-o"]),
        built(
            "second",
            "cc",
            &["-O2", "-static", "-no-pie", renamed, "-o"],
        ),
    ) else {
        return;
    };
    let Some(site) = site(Command::new(first).arg(second)) else {
        return;
    };
    assert_eq!(site.function, "ask_once_more", "{site:#?}");
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn a_release_build_of_rust_names_its_function() {
    let Some(program) = built("rust", "rustc", &["-O", "--edition=2021", "-o"]) else {
        return;
    };
    let Some(site) = site(&mut Command::new(program)) else {
        return;
    };
    assert_eq!(site.function, "asks::ask_in_two_writes", "{site:#?}");
}

#[test]
fn go_names_its_function_and_its_line() {
    let Some(program) = built("go", "go", &["build", "-o"]) else {
        return;
    };
    let Some(site) = site(&mut Command::new(program)) else {
        return;
    };
    assert_eq!(site.function, "main.askInTwoWrites", "{site:#?}");
    assert_eq!(site.line, Some(line_here("asks.go")), "{site:#?}");
}

/// Go's own tables remain in a program without symbols and debugging information.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn stripped_go_names_its_function_and_its_line() {
    let ways = [
        ("go-stripped", &["build", "-ldflags=-s -w", "-o"][..]),
        (
            "go-pie",
            &["build", "-buildmode=pie", "-ldflags=-s -w", "-o"],
        ),
        ("go-symbols", &["build", "-ldflags=-w", "-o"]),
    ];
    for (name, options) in ways {
        let Some(program) = built(name, "go", options) else {
            return;
        };
        let Some(site) = site(&mut Command::new(program)) else {
            return;
        };
        assert_eq!(site.function, "main.askInTwoWrites", "{name}: {site:#?}");
        assert_eq!(site.line, Some(line_here("asks.go")), "{name}: {site:#?}");
        // A function that the compiler inlined into its caller stands by itself.
        let names: Vec<&str> = site.stack.iter().map(|f| f.function.as_str()).collect();
        let main = names.iter().position(|name| *name == "main.main");
        assert!(
            main.is_some_and(|at| names[at - 1] == "main.askOften"),
            "{name}: {names:?}"
        );
    }
}

#[test]
fn python_names_its_function_and_its_line() {
    let mut tried = 0;
    for python in ["python3.11", "python3.12", "python3.13"] {
        let Ok(output) = Command::new(python).arg("-c").arg("pass").output() else {
            continue;
        };
        if !output.status.success() {
            continue;
        }
        let Some(site) = site(Command::new(python).arg(source("asks.py"))) else {
            return;
        };
        assert_eq!(
            site.function, "Asker.ask_in_two_writes",
            "{python}: {site:#?}"
        );
        assert_eq!(site.line, Some(line_here("asks.py")), "{python}: {site:#?}");
        tried += 1;
    }
    if tried == 0 {
        println!("skipped: no Python from 3.11 to 3.13 is installed");
    }
}

/// Each connection has a thread of its own, of which nobody knows at its first held write that it runs Python. By the time
/// that its frames are read it has gone on, and of what `Thread.run` called nothing may be left: `Thread.run` wrote nothing.
#[test]
fn of_a_new_thread_who_wrote_is_named_or_nobody() {
    let Some(python) = python() else { return };
    let _alone = alone();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || answer(&listener));
    let Some(mut watched) = Watched::open(&SourceOptions::default()) else {
        return;
    };
    let mut command = Command::new(python);
    command
        .arg(source("asks_in_threads.py"))
        .arg(port.to_string());
    let (_, findings) = watched.during(&mut [command]);
    let ours = findings
        .iter()
        .filter(|finding| finding.connection.remote.port() == port);
    let sites: Vec<_> = ours.map(|finding| finding.call.as_deref()).collect();
    assert!(sites.len() >= 60, "{}", sites.len());
    let named: Vec<_> = sites.iter().flatten().collect();
    assert!(
        named.len() * 2 > sites.len(),
        "{} of {}",
        named.len(),
        sites.len()
    );
    for site in named {
        assert_eq!(site.function, "ask_in_two_writes", "{site:#?}");
    }
}

/// V8's map says where a function begins, but not where in it the call is.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn node_names_its_function_by_the_map_of_its_code() {
    if Command::new("node").arg("--version").output().is_err() {
        println!("skipped: node is not installed");
        return;
    }
    let script = source("asks.js");
    let mut node = Command::new("node");
    // With Sparkplug there is compiled code to name from the first call on.
    node.args(["--perf-basic-prof", "--sparkplug", "--always-sparkplug"])
        .args(["--no-logfile-per-isolate", "--logfile=v8.log"])
        .arg(&script)
        // V8 puts its log into this folder.
        .current_dir(env!("CARGO_TARGET_TMPDIR"));
    let Some(site) = site(&mut node) else {
        return;
    };
    assert_eq!(site.function, "askInTwoWrites", "{site:#?}");
    assert_eq!(site.file.as_deref(), script.to_str(), "{site:#?}");
    assert_eq!(site.line, Some(line_here("asks.js")), "{site:#?}");
}

/// Processes that ask twice and end: their only hold is their first, and they end when it does. A C function may have a
/// name that means something in C++'s notation.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn processes_that_end_soon_are_named() {
    let options = ["-O2", "-DTIMES=2", "-Dask_in_two_writes=h", "-o"];
    let Some(program) = built("short", "cc", &options) else {
        return;
    };
    let Some(sites) = short_lived(|port| {
        let mut command = Command::new(&program);
        command.arg(port);
        command
    }) else {
        return;
    };
    let named = sites.iter().flatten().filter(|site| site.function == "h");
    assert!(named.count() >= 20, "{sites:#?}");
    let Some(python) = python() else { return };
    let sites = short_lived(|port| {
        let mut command = Command::new(python);
        command.arg(source("asks.py")).args([port, "2"]);
        command
    });
    // Without the line: nobody knew at the write that this was Python.
    let sites = sites.expect("as before");
    let named = sites
        .iter()
        .flatten()
        .filter(|site| site.function == "Asker.ask_in_two_writes");
    assert!(named.count() >= 20, "{sites:#?}");
}

/// Returns the sites of the stalls of 25 processes, five at a time; `None` for those that are not known.
fn short_lived(command: impl Fn(&str) -> Command) -> Option<Vec<Option<CallSite>>> {
    let _alone = alone();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || answer(&listener));
    let mut watched = Watched::open(&SourceOptions::default())?;
    let mut sites = Vec::new();
    for _ in 0..5 {
        let mut commands: Vec<_> = (0..5).map(|_| command(&port.to_string())).collect();
        let (_, findings) = watched.during(&mut commands);
        let ours = findings
            .iter()
            .filter(|f| f.connection.remote.port() == port);
        sites.extend(ours.map(|finding| finding.call.as_deref().cloned()));
    }
    assert!(sites.len() >= 20, "{sites:#?}");
    Some(sites)
}

/// Interpreters know what nobody else does; their own functions are no call site.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn interpreters_say_that_they_hide_the_program() {
    let perl = "use IO::Socket::INET; my $s = IO::Socket::INET->new(PeerAddr => qq(127.0.0.1:$ARGV[0])); \
                for (1..40) { syswrite $s, 'h' x 40; syswrite $s, 'b' x 400; sysread $s, my $x, 1 }";
    let ruby = "require 'socket'; s = TCPSocket.new('127.0.0.1', ARGV[0].to_i); s.sync = true; \
                s.setsockopt(6, 1, 0); 40.times { s.write('h' * 40); s.write('b' * 400); s.readpartial(1) }";
    let php = "$s = stream_socket_client('tcp://127.0.0.1:'.$argv[1]); \
               for ($i = 0; $i < 40; $i++) { fwrite($s, str_repeat('h', 40)); fwrite($s, str_repeat('b', 400)); fread($s, 1); }";
    for (program, option, script, language) in [
        ("perl", "-e", perl, "Perl"),
        ("ruby", "-e", ruby, "Ruby"),
        ("php", "-r", php, "PHP"),
    ] {
        if Command::new(program).arg("-v").output().is_err() {
            println!("skipped: {program} is not installed");
            continue;
        }
        let Some(site) = site(Command::new(program).args([option, script])) else {
            return;
        };
        let begins = format!(
            "written in {language} code ({}",
            if language == "Ruby" {
                "libruby"
            } else {
                program
            }
        );
        assert!(site.written().starts_with(&begins), "{site:#?}");
        assert!(site.written().ends_with("), not resolved"), "{site:#?}");
        let why = site.unresolved.expect("it says why");
        assert!(!why.help.is_empty(), "{program}");
    }
}

/// Returns a Python whose frames can be read.
fn python() -> Option<&'static str> {
    let mut known = ["python3.11", "python3.12", "python3.13"].into_iter();
    let runs = |python: &&str| {
        let output = Command::new(python).arg("-c").arg("pass").output();
        output.is_ok_and(|output| output.status.success())
    };
    let python = known.find(runs);
    if python.is_none() {
        println!("skipped: no Python from 3.11 to 3.13 is installed");
    }
    python
}

/// Returns the call site of most held writes of a program. The program's argument is the port to
/// connect to.
fn site(command: &mut Command) -> Option<CallSite> {
    let _alone = alone();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || answer(&listener));
    let mut watched = Watched::open(&SourceOptions::default())?;
    command.arg(port.to_string());
    let (outputs, findings) = watched.during(std::slice::from_mut(command));
    let said = String::from_utf8_lossy(&outputs[0].stderr);
    assert!(outputs[0].status.success(), "{said}");
    let ours = findings
        .iter()
        .filter(|f| f.connection.remote.port() == port);
    let sites: Vec<CallSite> = ours
        .clone()
        .filter_map(|finding| finding.call.as_deref().cloned())
        .collect();
    // The first hold of a connection may be missed, and at the first hold of a Python program the line is not known.
    assert!(sites.len() >= 5, "{} of {}", sites.len(), ours.count());
    let last = sites.last().cloned();
    let same = sites.iter().filter(|site| Some(*site) == last.as_ref());
    assert!(same.count() >= 5, "{sites:#?}");
    last
}

/// Answers each request of 440 octets with one octet.
fn answer(listener: &TcpListener) {
    for connection in listener.incoming() {
        let mut connection = connection.expect("a connection");
        std::thread::spawn(move || {
            let mut request = [0; 440];
            while connection.read_exact(&mut request).is_ok() {
                if connection.write_all(b"!").is_err() {
                    break;
                }
            }
        });
    }
}

/// Each test has its own rings, but all share the kernel's budget of stacks, so tests run one at a
/// time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Returns the program built by `compiler`. Prints the reason and returns `None` if the compiler is
/// not installed.
fn built(name: &str, compiler: &str, options: &[&str]) -> Option<PathBuf> {
    let extension = match compiler {
        "go" => "go",
        "rustc" => "rs",
        _ => "c",
    };
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("asks-{name}"));
    let built = Command::new(compiler)
        // Shared with the tests of `run`, so that Go's own library is compiled once.
        .env("GOCACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/go"))
        .args(options)
        .arg(&program)
        .arg(source(&format!("asks.{extension}")))
        .output();
    match built {
        Ok(output) if output.status.success() => Some(program),
        Ok(output) => panic!("{compiler}: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            println!("skipped: {compiler}: {error}");
            None
        }
    }
}

fn source(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/sites")
        .join(file)
}

/// Returns the number of the line that says `here`.
fn line_here(file: &str) -> u32 {
    let text = std::fs::read_to_string(source(file)).expect("it is there");
    let at = text.lines().position(|line| line.contains("here"));
    at.expect("a line says so") as u32 + 1
}
