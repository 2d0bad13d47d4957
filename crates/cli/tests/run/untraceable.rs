//! Where the kernel lets nobody trace, as in some containers: one line says so, and the program is not started.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::gates::{lookalike, refused};
use crate::programs::{text, tinygram};

/// Puts a command under a filter of system calls that answers one of them with `action`.
pub(super) fn filtered(command: &mut Command, number: i64, action: u32) {
    let statement = |code: u32, k: u32, skipped: u8| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: skipped,
        k,
    };
    // The first word of what a filter sees is the call's number.
    let load = statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0);
    let is_it = statement(
        libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
        number as u32,
        1,
    );
    let answer = |action| statement(libc::BPF_RET | libc::BPF_K, action, 0);
    let mut filter = [load, is_it, answer(action), answer(libc::SECCOMP_RET_ALLOW)];
    let install = move || {
        let program = libc::sock_fprog {
            len: filter.len() as u16,
            filter: filter.as_mut_ptr(),
        };
        // SAFETY: the kernel reads the filter.
        let result = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            )
        };
        if result == 0 {
            Ok(())
        } else {
            Err(std::io::Error::last_os_error())
        }
    };
    // SAFETY: between fork and exec only system calls are made.
    unsafe { command.pre_exec(install) };
}

#[test]
fn a_filter_that_forbids_ptrace_is_named_and_nothing_starts() {
    let folder = tempfile::tempdir().unwrap();
    let program = lookalike(folder.path(), &[]);
    let refusal = |errno: i32| libc::SECCOMP_RET_ERRNO | errno as u32;
    for action in [
        refusal(libc::EPERM),
        refusal(libc::ENOSYS),
        libc::SECCOMP_RET_KILL_PROCESS,
    ] {
        let mut command = tinygram();
        command
            .args(["run", "--"])
            .arg(&program)
            .env("KIND", "exec");
        filtered(&mut command, libc::SYS_ptrace, action);
        let output = command.output().unwrap();
        refused(
            &output,
            "was not started: it may not be traced: a filter of system calls (seccomp) forbids ptrace",
        );
    }
}

/// What is refused after the program has begun costs a line, not the program.
#[test]
fn a_filter_that_forbids_the_memory_leaves_the_program_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let program = lookalike(folder.path(), &[]);
    for (number, doing) in [
        (libc::SYS_memfd_create, "making shared memory"),
        (libc::SYS_pidfd_getfd, "sharing memory by pidfd_getfd"),
    ] {
        let mut command = tinygram();
        command
            .args(["run", "--"])
            .arg(&program)
            .env("KIND", "exec");
        let action = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
        filtered(&mut command, number, action);
        let said = text(&command.output().unwrap());
        let line = format!(
            "executed\ntinygram run: the program runs as it is: {doing}: Operation not permitted"
        );
        assert!(
            said.starts_with(&line) && said.lines().count() == 2,
            "{said}"
        );
    }
}
