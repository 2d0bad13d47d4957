//! Why the kernel refuses that a process is traced, and what helps.

use std::fs;

/// Returns why this process may not be traced, after the kernel said `error` to the one that was to trace it; it said
/// nothing if the kernel ended that one.
pub(crate) fn of_this_process(error: &str) -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    why(&status, scope.trim(), error)
}

/// Returns the same by what `/proc` says: the status of the process that was to be traced, and Yama's scope.
fn why(status: &str, scope: &str, error: &str) -> String {
    let tracer = field(status, "TracerPid:");
    if !matches!(tracer, "0" | "") {
        return format!("it is traced already, by process {tracer} (a debugger or strace)");
    }
    let reason = match scope {
        "2" => "kernel.yama.ptrace_scope is 2, which takes root with CAP_SYS_PTRACE",
        "3" => "kernel.yama.ptrace_scope is 3, which allows nobody until the machine starts anew",
        _ if field(status, "Seccomp:") == "2" => {
            "a filter of system calls (seccomp) forbids ptrace, as a container's may; it must be let through"
        }
        _ => "",
    };
    let parts = ["it may not be traced", reason, error];
    let said = parts.into_iter().filter(|part| !part.is_empty());
    said.collect::<Vec<_>>().join(": ")
}

/// Returns a field of `/proc/PID/status`; nothing if it is not there.
pub(crate) fn field<'a>(status: &'a str, name: &str) -> &'a str {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.map_or("", str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: &str = "TracerPid:\t0\nSeccomp:\t0\n";
    const EPERM: &str = "Operation not permitted (os error 1)";

    #[test]
    fn whoever_forbids_it_is_named() {
        let traced = "TracerPid:\t17\nSeccomp:\t0\n";
        assert!(why(traced, "1", EPERM).contains("traced already, by process 17"));
        for scope in ["2", "3"] {
            let said = why(FREE, scope, EPERM);
            assert!(
                said.contains(&format!("ptrace_scope is {scope},")),
                "{said}"
            );
        }
        let filtered = "TracerPid:\t0\nSeccomp:\t2\n";
        // Yama's stricter scopes forbid it with and without a filter.
        assert!(why(filtered, "2", EPERM).contains("ptrace_scope is 2,"));
        for scope in ["", "0", "1"] {
            assert!(why(filtered, scope, "").contains("(seccomp) forbids ptrace"));
            assert_eq!(
                why(FREE, scope, EPERM),
                format!("it may not be traced: {EPERM}")
            );
        }
    }
}
