//! `tinygram set` on the knobs of network namespaces and routes, in namespaces of these tests' own.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::hosting::{Place, Program, SERVICE, may_make_namespaces, may_set, said, tinygram};
use tinygram_host::knob::Knob;
use tinygram_host::namespace::Namespace;
use tinygram_host::route::Route;

/// A service and its client in one network namespace, which is nobody else's.
struct Scene {
    server: Program,
    _client: Program,
    folder: tempfile::TempDir,
}

impl Scene {
    fn start() -> Option<Self> {
        if !may_set() || !may_make_namespaces() {
            return None;
        }
        let mut server = Program::start(SERVICE, &["serve", "127.0.0.1", "100"], Place::New);
        server.ip("link set lo up");
        server.tell("");
        let port = server.line();
        let beside = Place::Of(server.pid());
        let mut client = Program::start(SERVICE, &["ask", "2"], beside);
        client.tell(&format!("127.0.0.1 {port}"));
        assert_eq!(client.line(), "asking");
        Some(Self {
            server,
            _client: client,
            folder: tempfile::tempdir().unwrap(),
        })
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn set(&self, words: &[&str]) -> std::process::Output {
        let pid = self.server.pid().to_string();
        let words = words.iter().map(|word| match *word {
            "PID" => pid.as_str(),
            word => word,
        });
        let words: Vec<_> = ["set"].into_iter().chain(words).collect();
        tinygram(&self.journal(), &words)
    }

    fn read(&self, knob: Knob) -> u32 {
        let namespace = Namespace::of(self.server.pid()).unwrap();
        let read = namespace.within(|| match knob {
            Knob::Quickack => {
                let here = "127.0.0.1".parse().unwrap();
                Ok(u32::from(Route::between(here, here).unwrap().quickack()))
            }
            knob => knob.read(),
        });
        read.unwrap().unwrap()
    }

    /// Sets a namespace's knob as its administrator does.
    fn write(&self, knob: Knob, value: u32) {
        let namespace = Namespace::of(self.server.pid()).unwrap();
        namespace.within(|| knob.write(value)).unwrap().unwrap();
    }
}

#[test]
fn knobs_are_turned_in_their_namespace_alone_listed_and_put_back() {
    let Some(scene) = Scene::start() else { return };
    let own = Knob::Pingpong.read().unwrap();
    let output = scene.set(&["PID", "pingpong=7", "autocorking=off", "quickack=on"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let text = said(&output);
    // The server's socket is meant; the client's is in the same namespace, and is not.
    assert!(text.contains("pingpong=7 in network namespace"), "{text}");
    assert!(
        text.contains("was 1; touches 2 connections, 1 of them not meant"),
        "{text}"
    );
    assert!(
        text.contains("quickack=on for the route 127.0.0.1 table local: was off"),
        "{text}"
    );
    let all = [Knob::Pingpong, Knob::Autocorking, Knob::Quickack];
    assert_eq!(all.map(|knob| scene.read(knob)), [7, 0, 1]);
    assert_eq!(
        Knob::Pingpong.read().unwrap(),
        own,
        "this namespace has its own"
    );

    let list = said(&scene.set(&["--list"]));
    assert!(list.contains("pingpong=7 in network namespace"), "{list}");
    assert!(
        list.contains("for the route 127.0.0.1 table local"),
        "{list}"
    );
    let undone = scene.set(&["--undo"]);
    assert_eq!(undone.status.code(), Some(0), "{}", said(&undone));
    assert_eq!(all.map(|knob| scene.read(knob)), [1, 1, 0]);
    assert!(said(&scene.set(&["--list"])).contains("No change"));
    // What is so already is not changed, and nothing is to be put back.
    let again = said(&scene.set(&["PID", "autocorking=on"]));
    assert!(again.contains("it was so already"), "{again}");
    assert!(said(&scene.set(&["--list"])).contains("No change"));
}

/// The process is killed while it has turned two knobs.
#[test]
fn a_killed_set_is_undone_by_the_next() {
    let Some(scene) = Scene::start() else { return };
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    let pid = scene.server.pid().to_string();
    command.args([
        "set",
        &pid,
        "pingpong=9",
        "quickack=on",
        "--for",
        "1h",
        "--journal",
    ]);
    command.arg(scene.journal()).stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    while scene.read(Knob::Quickack) == 0 {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        [Knob::Pingpong, Knob::Quickack].map(|knob| scene.read(knob)),
        [9, 1]
    );
    let undone = scene.set(&["--undo"]);
    assert_eq!(undone.status.code(), Some(0), "{}", said(&undone));
    assert_eq!(
        [Knob::Pingpong, Knob::Quickack].map(|knob| scene.read(knob)),
        [1, 0]
    );
}

#[test]
fn a_knob_that_somebody_else_has_turned_since_is_left_alone() {
    let Some(scene) = Scene::start() else { return };
    scene.set(&["PID", "pingpong=7"]);
    scene.write(Knob::Pingpong, 5);
    let undone = said(&scene.set(&["--undo"]));
    assert!(undone.contains("1 left alone"), "{undone}");
    assert_eq!(scene.read(Knob::Pingpong), 5);
}

/// Two changes of one knob, undone in the order in which they were made.
#[test]
fn two_changes_do_not_undo_each_other() {
    let Some(scene) = Scene::start() else { return };
    scene.set(&["PID", "pingpong=7"]);
    scene.set(&["PID", "pingpong=9"]);
    let first = said(&scene.set(&["--undo", "1"]));
    assert!(first.contains("1 left to a later change"), "{first}");
    assert_eq!(scene.read(Knob::Pingpong), 9);
    scene.set(&["--undo", "2"]);
    assert_eq!(scene.read(Knob::Pingpong), 1);
}

#[test]
fn what_names_no_namespace_is_refused_in_one_line() {
    for (words, part) in [
        (&["65000", "pingpong=3"][..], "names none"),
        (&["65000", "pingpong=300"], "from 1 to 255"),
        (&["65000", "autocorking=maybe"], "on or off"),
        (&["65000", "pingpong=3", "pingpong=4"], "twice"),
        (
            &["65000", "pingpong=3", "--follow"],
            "holds for connections to come",
        ),
        (
            &["65000", "pingpong=3", "--peer", ":80"],
            "whatever its other end",
        ),
    ] {
        if part == "names none" && !may_set() {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let all: Vec<_> = ["set"].iter().chain(words).copied().collect();
        let output = tinygram(&folder.path().join("state"), &all);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(part) && said.lines().count() == 1, "{said}");
    }
}
