//! Why connections show no process and no options.

use std::fs;
use std::os::unix::fs::MetadataExt;

use tinygram_host::lacking::takes;

use super::table::Table;

/// Says why something is not shown, and what would show it.
pub(super) fn why(table: &Table) -> Vec<String> {
    let ownerless = table.connections.iter().filter(|one| one.owners.is_empty());
    let ownerless = ownerless.count() as u64;
    let hidden = table.hidden_processes.len() as u64;
    let mut lines = Vec::new();
    if fs::metadata("/proc/self/fd").is_err() {
        lines.push(
            "there is no /proc here, from which processes are read: connections show no process, and ? for options. Mount it \
             (`mount -t proc proc /proc`)"
                .to_owned(),
        );
    } else if ownerless > 0 && !sees_every_process() {
        lines.push(format!(
            "{} no process that can be seen here: this is a PID namespace of its own, where the host's processes are not in \
             sight. They are with the host's PID namespace (`hostPID: true` of a pod, `--pid=host` of a container, `kubectl \
             debug node/...`); --host-root then says where the host's files are",
            match ownerless {
                1 => "1 connection has".to_owned(),
                count => format!("{count} connections have"),
            }
        ));
    }
    if hidden > 0 {
        let takes = takes(&["CAP_SYS_PTRACE"]);
        lines.push(format!(
            "{} may not be looked into: their connections show no process, and ? for options. {}{} (for other users' processes \
             CAP_DAC_READ_SEARCH, too){}",
            match hidden {
                1 => "1 process".to_owned(),
                count => format!("{count} processes"),
            },
            takes[..1].to_uppercase(),
            &takes[1..],
            yama()
        ));
    }
    lines
}

/// Returns whether this is the PID namespace that the kernel began with.
fn sees_every_process() -> bool {
    fs::metadata("/proc/self/ns/pid").is_ok_and(|about| about.ino() == FIRST)
}

/// Returns Yama's restriction in words: a user may read their own processes unless Yama forbids it.
fn yama() -> String {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    match scope.trim() {
        "" | "0" => String::new(),
        scope => {
            format!(" (for processes of your own too, as kernel.yama.ptrace_scope is {scope})")
        }
    }
}

/// include/linux/proc_ns.h, `PROC_PID_INIT_INO`.
const FIRST: u64 = 0xEFFF_FFFC;
