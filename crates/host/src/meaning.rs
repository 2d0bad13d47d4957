//! Whether a number means a process or a port.

use std::collections::BTreeSet;

use procfs::net::TcpNetEntry;
use procfs::process::{FDTarget, Process, all_processes};

/// Checks that a number is not both: the ID of a process that has TCP sockets, and a port of sockets that it does not have.
///
/// # Errors
///
/// Says in one line what it is, and how to mean one of both.
pub(crate) fn only_one_of(number: u32) -> Result<(), String> {
    let (Ok(port), Ok(pid)) = (u16::try_from(number), i32::try_from(number)) else {
        return Ok(());
    };
    // Of a process that is not there, or may not be looked at, no socket can be meant.
    let Ok(process) = Process::new(pid) else {
        return Ok(());
    };
    let held = sockets_of(&process);
    if held.is_empty() || !tcp_of(&process).iter().any(|it| held.contains(&it.inode)) {
        return Ok(());
    }
    let at_port = |entry: &TcpNetEntry| {
        let ends = [entry.local_address.port(), entry.remote_address.port()];
        // One that waits for its end to be forgotten has no inode.
        ends.contains(&port) && entry.inode != 0 && !held.contains(&entry.inode)
    };
    if !one_of_each_namespace()
        .iter()
        .any(|it| tcp_of(it).iter().any(at_port))
    {
        return Ok(());
    }
    let name = process
        .stat()
        .map_or_else(|_| String::new(), |stat| format!(" ({})", stat.comm));
    Err(format!(
        "{number} is both a process{name} and a port that others use: pid:{number} means the process, port:{number} the port"
    ))
}

/// Returns the inodes of the sockets that a process has; none if it may not be looked at.
fn sockets_of(process: &Process) -> BTreeSet<u64> {
    let descriptors = process.fd().into_iter().flatten().flatten();
    let inodes = descriptors.filter_map(|descriptor| match descriptor.target {
        FDTarget::Socket(inode) => Some(inode),
        _ => None,
    });
    inodes.collect()
}

/// Returns the TCP sockets of the network namespace of a process.
fn tcp_of(process: &Process) -> Vec<TcpNetEntry> {
    let both = [process.tcp(), process.tcp6()];
    both.into_iter().flatten().flatten().collect()
}

/// Returns a process of each network namespace.
fn one_of_each_namespace() -> Vec<Process> {
    let mut seen = BTreeSet::new();
    let processes = all_processes().into_iter().flatten().flatten();
    let first = processes.filter(|process| {
        let namespace = std::fs::read_link(format!("/proc/{}/ns/net", process.pid));
        namespace.is_ok_and(|namespace| seen.insert(namespace))
    });
    first.collect()
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// Starts a program that listens on a port, and returns it with the port once it does.
    fn listening() -> Child {
        let program = "import socket, time\ns = socket.create_server(('127.0.0.1', 0))\nprint(flush=True)\ntime.sleep(60)";
        let mut child = Command::new("python3")
            .args(["-c", program])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
        child
    }

    #[test]
    fn a_number_that_is_a_process_and_anothers_port_is_refused() {
        // One whose ID can be a port, and is none yet.
        let mut all = Vec::new();
        let (pid, listener) = loop {
            let child = listening();
            let pid = child.id();
            all.push(child);
            let port = u16::try_from(pid).ok();
            let bound = port.and_then(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok());
            match bound {
                Some(listener) => break (pid, Some(listener)),
                None if all.len() == 20 || pid > 65_535 => break (pid, None),
                None => {}
            }
        };
        let both = only_one_of(pid);
        let is_tried = listener.is_some();
        drop(listener);
        let one = only_one_of(pid);
        for mut child in all {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        if !is_tried {
            println!("skipped: no process has an ID that can be a port here");
            return;
        }
        let said = both.unwrap_err();
        let forms = [format!("pid:{pid}"), format!("port:{pid}")];
        assert!(forms.iter().all(|form| said.contains(form)), "{said}");
        assert_eq!(one, Ok(()));
    }

    #[test]
    fn a_process_without_connections_leaves_a_port_its_meaning() {
        // The first process has no TCP socket of its own at a port 1, nor any other.
        assert_eq!(only_one_of(1), Ok(()));
        assert_eq!(only_one_of(4_000_000), Ok(()));
    }
}
