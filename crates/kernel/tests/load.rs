//! Each policy loads on each base, is there while its value lives, and leaves nothing.
#![cfg(target_os = "linux")]

mod common;

use tinygram_kernel::{Base, BpfPolicy, list};

#[test]
fn each_policy_loads_on_each_base() {
    let mut names = Vec::new();
    for policy in BpfPolicy::all() {
        for base in Base::ALL {
            if policy.name == "timed-coalescing" && base == Base::Bbr {
                continue;
            }
            let Some(loaded) = common::load(policy.name, base) else {
                return;
            };
            let name = loaded.name().to_owned();
            let listed = list().unwrap();
            let run = listed.iter().find(|run| run.registered == name).unwrap();
            assert_eq!(
                (run.policy.as_str(), run.base.as_str()),
                (policy.name, base.name())
            );
            assert_eq!(run.loader_pid, std::process::id());
            assert!(run.is_registered && run.groups.is_empty());
            names.push(name);
        }
    }
    let left: Vec<_> = list().unwrap();
    assert!(
        left.iter().all(|run| !names.contains(&run.registered)),
        "{left:?}"
    );
}
