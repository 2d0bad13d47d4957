//! Which sockets are SSH's: they are left alone unless SSH is named, for a mistake there locks its maker out.

use std::collections::BTreeSet;

/// SSH's own port.
pub(crate) const PORT: u16 = 22;

/// What is known of SSH on this host: besides port 22, where its programs serve.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ssh {
    /// Network namespaces, by inode, with a port of each.
    served: BTreeSet<(u32, u16)>,
}

/// What shows whose a socket is.
pub(crate) struct Ends<'a, Names: Iterator<Item = &'a str>> {
    /// The inode of its network namespace.
    pub(crate) netns: u32,
    pub(crate) local_port: u16,
    pub(crate) remote_port: u16,
    /// The names of the programs that have it or made it.
    pub(crate) programs: Names,
}

impl Ssh {
    /// Returns whether a socket is SSH's.
    pub(crate) fn has<'a>(&self, mut ends: Ends<'a, impl Iterator<Item = &'a str>>) -> bool {
        ends.local_port == PORT
            || ends.remote_port == PORT
            || self.served.contains(&(ends.netns, ends.local_port))
            || ends.programs.any(is_program)
    }

    /// Says that a program listens on a port.
    pub(crate) fn listens(&mut self, netns: u32, port: u16, program: &str) {
        if is_program(program) {
            self.served.insert((netns, port));
        }
    }
}

/// Returns whether a program of this name is OpenSSH's or Dropbear.
pub(crate) fn is_program(name: &str) -> bool {
    name.starts_with("ssh") || name == "dropbear"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_known_by_its_port_by_its_program_and_by_who_listens() {
        let mut ssh = Ssh::default();
        ssh.listens(1, 2222, "sshd");
        ssh.listens(1, 8080, "nginx");
        for (netns, local_port, remote_port, program, is_its) in [
            (1, 22, 40_000, "", true),
            (2, 40_000, 22, "python3", true),
            (1, 2222, 40_000, "", true),
            (2, 2222, 40_000, "", false),
            (1, 8080, 40_000, "nginx", false),
            (1, 40_000, 8080, "curl", false),
            (1, 40_000, 2222, "ssh", true),
            (1, 6010, 40_000, "sshd-session", true),
            (1, 443, 40_000, "dropbear", true),
        ] {
            let ends = Ends {
                netns,
                local_port,
                remote_port,
                programs: [program].into_iter(),
            };
            assert_eq!(
                ssh.has(ends),
                is_its,
                "{local_port} {remote_port} {program}"
            );
        }
    }
}
