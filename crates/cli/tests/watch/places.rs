//! Pods and containers by name: programs in control groups with the names that kubelet and the runtimes give, below a
//! host's root that has kubelet's folders of logs. Needs root and control groups of version 2; without them, the tests
//! say so and pass.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// A host's root with the logs of one pod, and a program that stalls in a container of it.
struct Pod {
    root: TempDir,
    program: Child,
    /// The control groups that were made, the innermost first.
    groups: Vec<PathBuf>,
}

impl Pod {
    /// Starts the program in the container's control group, below the one at which version 2 is mounted.
    fn start(group: &str, uid: &str, id: &str) -> Option<Self> {
        let mounted = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(Path::new);
        let Some(mounted) = mounted
            .iter()
            .find(|root| root.join("cgroup.controllers").exists())
        else {
            println!("skipped: there are no control groups of version 2");
            return None;
        };
        let mut groups = Vec::new();
        let mut folder = mounted.to_path_buf();
        for part in group.split('/') {
            folder.push(part);
            if folder.exists() {
                continue;
            }
            if let Err(error) = fs::create_dir(&folder) {
                println!("skipped: no control group can be made: {error}");
                return None;
            }
            groups.insert(0, folder.clone());
        }
        let root = tempfile::tempdir().unwrap();
        let logs = format!("var/log/pods/shop_cart-7d9f-x2x4z_{uid}/app");
        fs::create_dir_all(root.path().join(&logs)).unwrap();
        let links = root.path().join("var/log/containers");
        fs::create_dir_all(&links).unwrap();
        let link = links.join(format!("cart-7d9f-x2x4z_shop_app-{id}.log"));
        symlink(format!("/{logs}/0.log"), link).unwrap();
        let members = folder.join("cgroup.procs");
        let mut python = crate::stalling::asks_in_two_writes();
        // SAFETY: opens and writes a file; no other thread of the child exists.
        unsafe { python.pre_exec(move || fs::write(&members, "0")) };
        let program = python.spawn().expect("python3 starts");
        Some(Self {
            root,
            program,
            groups,
        })
    }

    fn tinygram(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
        let command = command.args(words).arg("--host-root").arg(self.root.path());
        command.output().unwrap()
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
        for group in &self.groups {
            let _ = fs::remove_dir(group);
        }
    }
}

const UID: &str = "8f0b6d52-1c2d-4e3f-9a8b-7c6d5e4f3a2b";
const OTHER_UID: &str = "1a2b3c4d-5e6f-4a8b-9c0d-8f0b6d521c2d";

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn the_drivers_of_containerd_and_cri_o_lead_to_the_same_names() {
    let slice = format!("kubepods-burstable-pod{}.slice", UID.replace('-', "_"));
    for (number, group) in [
        format!("kubepods.slice/kubepods-burstable.slice/{slice}/cri-containerd-ID.scope"),
        format!("kubepods.slice/kubepods-burstable.slice/{slice}/crio-ID.scope"),
        format!("kubepods/burstable/pod{UID}/ID"),
    ]
    .iter()
    .enumerate()
    {
        let id = format!("{number:x}fa1b2c4").repeat(8);
        let Some(pod) = Pod::start(&group.replace("ID", &id), UID, &id) else {
            return;
        };
        let watched = pod.tinygram(&["watch", "--once", "2s", "--json", "--namespace", "shop"]);
        let said = text(&watched.stderr);
        if !said.contains("asking the kernel") {
            println!("skipped: {said}");
            return;
        }
        let lines: Vec<Value> = text(&watched.stdout)
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let stalls: Vec<_> = lines
            .iter()
            .filter(|line| line["event"] == "stall")
            .collect();
        assert!(stalls.len() > 3, "{group}: {lines:#?}");
        for stall in stalls {
            let container = &stall["process"]["container"];
            assert_eq!(stall["process"]["pid"], pod.program.id());
            assert_eq!(container["namespace"], "shop");
            assert_eq!(container["pod"], "cart-7d9f-x2x4z");
            assert_eq!(container["container"], "app");
            assert_eq!(container["id"], id[..12]);
        }
        let listed = pod.tinygram(&["ps", "--pod", "cart-*", "--container", "app"]);
        let listed = text(&listed.stdout);
        assert!(listed.contains("@shop/cart-7d9f-x2x4z/app"), "{listed}");
        let others = pod.tinygram(&["ps", "--namespace", "bank"]);
        assert_eq!(others.status.code(), Some(1), "as grep says it");
    }
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn set_and_whatif_take_a_pod_and_leave_others_alone() {
    let id = "d0".repeat(32);
    let group = format!("nested/kubepods/burstable/pod{OTHER_UID}/{id}");
    let Some(pod) = Pod::start(&group, OTHER_UID, &id) else {
        return;
    };
    let recorded = pod.tinygram(&["whatif", "nodelay=on", "--pod", "cart-*", "--look", "2s"]);
    let said = text(&recorded.stderr);
    if said.contains("not permitted") || said.contains("BTF") {
        println!("skipped: {said}");
        return;
    }
    let told = text(&recorded.stdout);
    assert!(
        told.starts_with("pod cart-*: ") && told.contains("nodelay=on"),
        "{told}{said}"
    );
    // One that is not there yet is made as a journal must be: for its user alone.
    let journal = pod.root.path().join("journal");
    let journal = journal.to_str().unwrap();
    let set = |words: &[&str]| {
        let words = [&["set", "nodelay=on", "--journal", journal], words].concat();
        pod.tinygram(&words)
    };
    let meant = set(&[
        "--pod",
        "cart-7d9f-x2x4z",
        "--container",
        "app",
        "--dry-run",
        "--json",
    ]);
    let meant: Value = serde_json::from_slice(&meant.stdout).unwrap();
    let program = format!("python3 ({})", pod.program.id());
    assert_eq!(meant["sockets"], 2, "both ends: {meant}");
    assert_eq!(meant["programs"].as_array().unwrap().len(), 1, "{meant}");
    assert_eq!(meant["programs"][0]["program"], program.as_str());
    let done = text(&set(&["--namespace", "shop", "--for", "500ms"]).stdout);
    assert!(done.contains("nodelay=on: 2 changed, 2 from off"), "{done}");
    assert!(done.contains("2 put back"), "{done}");
    let none = set(&["--namespace", "bank"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(text(&none.stderr).contains("no connection of namespace bank"));
    let unseen = pod.tinygram(&["whatif", "--namespace", "bank", "--look", "500ms"]);
    assert_eq!(unseen.status.code(), Some(1), "{}", text(&unseen.stdout));
}

#[test]
fn what_is_typed_for_a_place_is_checked_before_any_work() {
    let empty = tempfile::tempdir().unwrap();
    let said = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
        let output = command.args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(output.stdout.is_empty());
        text(&output.stderr)
    };
    let root = empty.path().to_str().unwrap();
    let unnamed = said(&["ps", "--pod", "cart", "--host-root", root]);
    assert!(
        unnamed.contains("no names of pods can be read"),
        "{unnamed}"
    );
    let odd = said(&["watch", "--once", "1s", "--namespace", "a\nb"]);
    assert!(
        odd.contains("accepted") && odd.lines().count() == 1,
        "{odd}"
    );
    let missing = said(&["ps", "--container", "web", "--host-root", "/no/such/folder"]);
    assert!(missing.contains("there is no folder"), "{missing}");
}
