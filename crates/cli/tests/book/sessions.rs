//! Runs the commands of the book's part Mend and compares what they print.
//!
//! A page is one session: its `console` blocks are run in their order, in a folder of their own which has the files that
//! the book offers (`slow.py`, `slow.pcap`), and in a network namespace of its own, so that port 8080 is free there, with a
//! journal of its own. `$`
//! begins a command; one that ends in `&` goes on until the page ends. Of what is printed after it, each line must be
//! there in this order; a line `...` stands for any lines, `...` at a line's end for its rest, and a number for any
//! number, because times differ. Comments say what else a reader does not see:
//!
//! - `<!-- book: exact -->`: the next block's numbers are compared, too.
//! - `<!-- book: do: COMMAND -->`: a command that the session needs and the reader does not.
//! - `<!-- book: not run: REASON -->`: the next block is not run.
//! - `<!-- book: needs PROGRAM -->`: without this program the page is skipped.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::pages;

/// How long a page may take. A page takes some twenty seconds.
const LONGEST: Duration = Duration::from_secs(150);
/// The chapters that a reader follows, a test each.
const CHAPTERS: [&str; 5] = ["capture", "ci", "containers", "live-host", "unchangeable"];
/// The pages of single commands.
const IN_DEPTH: [&str; 9] = [
    "cure", "guard", "install", "mcp", "otlp", "pods", "set", "watch", "whatif",
];
/// A busy machine sometimes lets a short look miss what a page says.
const TRIES: usize = 3;

#[derive(Debug, Default)]
struct Session {
    steps: Vec<Step>,
    needs: Vec<String>,
    /// Why blocks are not run.
    left_out: Vec<String>,
}

#[derive(Debug)]
struct Step {
    command: String,
    /// `None` for what the reader does not see.
    prints: Option<Vec<String>>,
    is_exact: bool,
}

#[test]
fn capture() {
    run("book/src/mend/capture.md");
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn live_host() {
    run("book/src/mend/live-host.md");
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn unchangeable() {
    run("book/src/mend/unchangeable.md");
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn containers() {
    run("book/src/mend/containers.md");
}

#[test]
fn ci() {
    run("book/src/mend/ci.md");
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn the_commands_in_depth() {
    for page in IN_DEPTH {
        run(&format!("book/src/mend/{page}.md"));
    }
}

#[test]
fn every_page_of_the_part_that_has_commands_is_run() {
    let has_commands = |page: &pages::Page| page.text.contains("```console");
    let pages = pages::book().into_iter().filter(has_commands);
    let of_the_part: Vec<String> = pages
        .filter_map(|page| {
            let name = page.name.strip_prefix("book/src/mend/")?;
            Some(name.trim_end_matches(".md").to_owned())
        })
        .collect();
    let mut run = [&CHAPTERS[..], &IN_DEPTH[..]].concat();
    run.sort_unstable();
    assert_eq!(of_the_part, run);
}

/// Runs a page's session until it prints what the page says, a few times at most.
fn run(name: &str) {
    let session = read(&pages::read(name).text);
    let has_commands = !session.steps.is_empty() || !session.left_out.is_empty();
    assert!(has_commands, "{name} has no commands");
    for why in &session.left_out {
        println!("not run in {name}: {why}");
    }
    let namespaces = Command::new("unshare")
        .args(["--net", "--mount", "true"])
        .output();
    if !namespaces.is_ok_and(|made| made.status.success()) {
        // CI has a job that runs as root, too.
        println!("skipped: {name}: it takes root to make namespaces and to ask the kernel");
        return;
    }
    if let Some(lacking) = lacking(&session) {
        assert!(std::env::var_os("CI").is_none(), "{name}: {lacking}");
        println!("skipped: {name}: {lacking}");
        return;
    }
    // The kernel is asked for the whole host: a session would see the practice service of another at the same port.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut last = String::new();
    for _ in 0..TRIES {
        match play(&session) {
            Ok(()) => return,
            Err(why) => last = why,
        }
    }
    panic!("{name}, {TRIES} times; at last:\n{last}");
}

/// Reads the commands of a page.
fn read(text: &str) -> Session {
    let mut session = Session::default();
    let (mut is_exact, mut is_left_out) = (false, false);
    let mut block: Option<&str> = None;
    let mut continued = String::new();
    for line in text.lines() {
        if let Some(directive) = line
            .strip_prefix("<!-- book: ")
            .and_then(|line| line.strip_suffix(" -->"))
        {
            if let Some(command) = directive.strip_prefix("do: ") {
                session.steps.push(Step {
                    command: command.to_owned(),
                    prints: None,
                    is_exact: false,
                });
            } else if let Some(program) = directive.strip_prefix("needs ") {
                session.needs.push(program.to_owned());
            } else if let Some(why) = directive.strip_prefix("not run: ") {
                session.left_out.push(why.to_owned());
                is_left_out = true;
            } else {
                assert_eq!(directive, "exact", "an unknown comment for the book's test");
                is_exact = true;
            }
        } else if let Some(language) = line.strip_prefix("```") {
            match block.take() {
                Some("console") => (is_exact, is_left_out) = (false, false),
                Some(_) => {}
                None => block = Some(language),
            }
        } else if block == Some("console") && !is_left_out {
            if let Some(command) = line
                .strip_prefix("$ ")
                .or(line.strip_prefix("> ").filter(|_| !continued.is_empty()))
            {
                continued.push_str(command);
                if continued.ends_with('\\') {
                    continued.pop();
                    continue;
                }
                let command = std::mem::take(&mut continued);
                session.steps.push(Step {
                    command,
                    prints: Some(Vec::new()),
                    is_exact,
                });
            } else {
                let step = session
                    .steps
                    .last_mut()
                    .expect("a command before what it prints");
                step.prints
                    .as_mut()
                    .expect("a command before what it prints")
                    .push(line.to_owned());
            }
        }
    }
    session
}

/// Says what this machine lacks for a session.
fn lacking(session: &Session) -> Option<String> {
    for program in ["python3", "unshare"]
        .into_iter()
        .chain(session.needs.iter().map(String::as_str))
    {
        let found = Command::new("sh")
            .args(["-c", "command -v \"$0\"", program])
            .output();
        if !found.is_ok_and(|found| found.status.success()) {
            return Some(format!("there is no {program}"));
        }
    }
    if session
        .steps
        .iter()
        .any(|step| step.command.contains("sudo tinygram"))
    {
        let looked = Command::new(env!("CARGO_BIN_EXE_tinygram"))
            .args(["watch", "--source", "kernel", "--once", "1s"])
            .output();
        let looked = looked.expect("tinygram starts");
        if !looked.status.success() {
            return Some(String::from_utf8_lossy(&looked.stderr).trim().to_owned());
        }
    }
    None
}

/// Plays a session once.
fn play(session: &Session) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a folder");
    for file in ["slow.py", "slow.pcap", "fast.pcap", "test_slow.py"] {
        let from = pages::project().join("book/src/mend").join(file);
        fs::copy(&from, folder.path().join(file))
            .unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    }
    fs::write(folder.path().join(".script"), script(session)).expect("a script");
    let log = File::create(folder.path().join(".log")).expect("a file");
    let program = Path::new(env!("CARGO_BIN_EXE_tinygram"))
        .parent()
        .expect("a folder");
    let path = std::env::var("PATH").expect("a PATH");
    let mut child = Command::new("unshare")
        .args(["--net", "--mount", "bash", ".script"])
        .current_dir(folder.path())
        .env("PATH", format!("{}:{path}", program.display()))
        .env_remove("CI")
        .env_remove("GITHUB_ACTIONS")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("COLUMNS", "120")
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a file"))
        .stderr(log)
        .process_group(0)
        .spawn()
        .expect("unshare starts");
    #[expect(clippy::disallowed_methods, reason = "the programs run in real time")]
    let began = Instant::now();
    let mut took_too_long = false;
    while child.try_wait().expect("a child").is_none() {
        if began.elapsed() > LONGEST {
            took_too_long = true;
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    // What ends in `&` ends with the page; the group is the session's own.
    let _ = Command::new("kill")
        .args(["-KILL", "--", &format!("-{}", child.id())])
        .stderr(Stdio::null())
        .status();
    let _ = child.wait();
    if took_too_long {
        let log = fs::read_to_string(folder.path().join(".log")).unwrap_or_default();
        return Err(format!("it took longer than {LONGEST:?}: {log}"));
    }
    for (number, step) in session.steps.iter().enumerate() {
        let Some(expected) = &step.prints else {
            continue;
        };
        let printed = fs::read_to_string(folder.path().join(format!(".out{number}")));
        let printed = printed.map_err(|_| format!("$ {}\nwas not reached", step.command))?;
        compare(expected, &printed, step.is_exact)
            .map_err(|why| format!("$ {}\n{why}\nall of it:\n{printed}", step.command))?;
    }
    Ok(())
}

/// Returns a session as a script of the shell, which keeps what each command prints.
fn script(session: &Session) -> String {
    let mut script = String::from(
        "ip link set lo up\nmkdir -pm 700 /var/lib/tinygram && mount -t tmpfs -o mode=0700 none /var/lib/tinygram\n\
         sudo() { \"$@\"; }\n",
    );
    for (number, Step { command, .. }) in session.steps.iter().enumerate() {
        if let Some(command) = command.strip_suffix('&') {
            writeln!(script, "{{ {command} ; }} > .out{number} 2>&1 &\nsleep 1").expect("a string");
        } else {
            writeln!(script, "{{ {command}\n}} > .out{number} 2>&1").expect("a string");
        }
    }
    script
}

/// Says which line of those expected was not printed.
fn compare(expected: &[String], printed: &str, is_exact: bool) -> Result<(), String> {
    let printed: Vec<String> = printed.lines().map(|line| plain(line, is_exact)).collect();
    let mut at = 0;
    let mut may_skip = false;
    for line in expected {
        if line == "..." {
            may_skip = true;
            continue;
        }
        let (wanted, is_whole) = line
            .strip_suffix("...")
            .map_or((line.as_str(), true), |start| (start, false));
        let wanted = plain(wanted, is_exact);
        let fits = |line: &String| {
            if is_whole {
                *line == wanted
            } else {
                line.starts_with(wanted.trim_end())
            }
        };
        let found = match printed[at..].iter().position(fits) {
            Some(0) => 0,
            Some(later) if may_skip => later,
            _ => {
                return Err(format!(
                    "expected next: {line}\nprinted next:  {}",
                    printed.get(at).map_or("", |line| line)
                ));
            }
        };
        at += found + 1;
        may_skip = false;
    }
    match printed.get(at) {
        Some(line) if !may_skip && !line.is_empty() => Err(format!("not expected: {line}")),
        _ => Ok(()),
    }
}

/// Returns a line without what differs from run to run: numbers, and the width that they give to columns.
fn plain(line: &str, is_exact: bool) -> String {
    if is_exact {
        return line.trim_end().to_owned();
    }
    let mut plain = String::new();
    for c in line.trim_end().chars() {
        let c = if c.is_ascii_digit() { '0' } else { c };
        let last = plain.chars().last();
        let repeats = matches!(c, '0' | ' ' | '─') && last == Some(c);
        if !repeats {
            plain.push(c);
        }
    }
    // 1.5, 12 and 1,200 are numbers all the same.
    for mark in ["0.0", "0,0"] {
        while plain.contains(mark) {
            plain = plain.replace(mark, "0");
        }
    }
    plain
}

#[test]
fn numbers_may_differ_and_words_may_not() {
    let lines = |text: &str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
    assert!(
        compare(
            &lines("4 stalls cost 173 ms"),
            "35 stalls cost 7.25 ms\n",
            false
        )
        .is_ok()
    );
    assert!(
        compare(
            &lines("4 stalls cost 173 ms"),
            "35 stalls cost 7.25 ms\n",
            true
        )
        .is_err()
    );
    assert!(compare(&lines("4 stalls"), "No stalls\n", false).is_err());
    assert!(compare(&lines("a\n...\nd"), "a\nb\nc\nd\n", false).is_ok());
    assert!(compare(&lines("a\nd"), "a\nb\nd\n", false).is_err());
    assert!(compare(&lines("a"), "a\nb\n", false).is_err());
    assert!(compare(&lines("a b..."), "a b c\n", false).is_ok());
    assert!(compare(&lines("a"), "", false).is_err());
}
