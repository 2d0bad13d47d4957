//! Scenes in each of which another remedy is the best one, in network namespaces of these tests' own: `tinygram cure` chooses
//! that one.
#![cfg(target_os = "linux")]

mod hosting;

use hosting::{Place, Program, SERVICE, may_make_namespaces, may_set, said, tinygram};

/// A service and its client.
struct Scene {
    server: Program,
    client: Program,
    folder: tempfile::TempDir,
}

impl Scene {
    /// In two namespaces with a link between them.
    fn on_a_link(asks: &[&str], size: &str) -> Option<Self> {
        let scene = Self::start("10.77.0.1", asks, size)?;
        let there = scene.client.pid();
        scene.server.ip(&format!(
            "link add end0 type veth peer name end1 netns {there}"
        ));
        for (program, device, address) in [
            (&scene.server, "end0", "10.77.0.1"),
            (&scene.client, "end1", "10.77.0.2"),
        ] {
            program.ip(&format!("addr add {address}/24 dev {device}"));
            program.ip(&format!("link set {device} up"));
        }
        Some(scene.begin("10.77.0.1"))
    }

    fn start(address: &str, asks: &[&str], size: &str) -> Option<Self> {
        if !may_set() || !may_make_namespaces() {
            return None;
        }
        let server = Program::start(SERVICE, &["serve", address, size], Place::New);
        let words: Vec<_> = ["ask"].iter().chain(asks).copied().collect();
        let client = Program::start(SERVICE, &words, Place::New);
        Some(Self {
            server,
            client,
            folder: tempfile::tempdir().unwrap(),
        })
    }

    fn begin(mut self, address: &str) -> Self {
        self.server.tell("");
        let port = self.server.line();
        self.client.tell(&format!("{address} {port}"));
        assert_eq!(self.client.line(), "asking");
        self
    }

    /// Cures the program, and returns what that says. What is kept is put back.
    fn cure(&self, program: &Program, words: &[&str]) -> String {
        let journal = self.folder.path().join("state");
        let pid = program.pid().to_string();
        let all = ["cure", &pid, "--look", "1s", "--seed", "7"];
        let all: Vec<_> = all.iter().chain(words).copied().collect();
        let text = said(&tinygram(&journal, &all));
        tinygram(&journal, &["set", "--undo"]);
        text
    }
}

/// Asserts that this setting was kept, and no other.
fn assert_kept(text: &str, setting: &str) {
    let mut of = "";
    let mut kept = Vec::new();
    for line in text.lines() {
        match line.split_once(" on ") {
            Some((name, rest)) if rest.contains(" periods of ") => of = name,
            _ => {}
        }
        if line.trim_start().starts_with("Kept") {
            kept.push(of);
        }
    }
    assert_eq!(kept, [setting], "{text}");
}

/// The program that stalls may be treated itself.
#[test]
fn nodelay_where_the_sender_holds_behind_one_write() {
    let Some(scene) = Scene::on_a_link(&["2"], "100") else {
        return;
    };
    assert_kept(&scene.cure(&scene.client, &[]), "nodelay=on");
}

/// NODELAY ends the stalls, and makes a flood of twelve segments a request of it; the receiver is elsewhere. Only holding
/// helps, and the command that does it is named.
#[test]
fn holding_where_nodelay_makes_a_flood_and_nothing_else_is_here() {
    let Some(scene) = Scene::on_a_link(&["12"], "600") else {
        return;
    };
    let text = scene.cure(&scene.client, &[]);
    assert_kept_nothing(&text);
    assert!(text.contains("`tinygram run` ends them without"), "{text}");
    assert!(text.contains("run --attach"), "{text}");
}

fn assert_kept_nothing(text: &str) {
    let is_kept = text
        .lines()
        .any(|line| line.trim_start().starts_with("Kept"));
    assert!(!is_kept, "{text}");
}

/// A program corks its socket and never takes that off.
#[test]
fn uncorking_where_the_program_leaves_its_cork_on() {
    let Some(scene) = Scene::on_a_link(&["1", "cork"], "50") else {
        return;
    };
    let text = scene.cure(&scene.client, &[]);
    assert_kept_nothing(&text);
    assert!(
        text.contains("cork=off") && text.contains("not tried without --uncork"),
        "{text}"
    );
    assert_kept(&scene.cure(&scene.client, &["--uncork"]), "cork=off");
}
