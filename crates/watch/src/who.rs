//! Remembers the processes that write, and which side of a connection each is.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::time::Duration;

use tinygram_host::names::Names;
use tinygram_host::pace::Pace;
use tinygram_host::process::{Process, user_name};
use tinygram_host::root::Root;
use tinygram_host::start::started;
use tinygram_host::text::plain;
use tinygram_stalls::{Roles, Side};

use crate::event::{Connection, Writer};
use tinygram_host::clock::clock_ns;

/// Looks processes up once and remembers them.
#[derive(Default)]
pub struct Processes {
    names: Names,
    known: HashMap<(u32, String, u32), (Process, Option<u64>)>,
    users: HashMap<u32, String>,
    /// By network namespace.
    listening: HashMap<u32, Listening>,
}

impl Processes {
    /// Returns a memory that has the names of pods and containers of the host with this root.
    #[must_use]
    pub fn below(root: Root) -> Self {
        Self {
            names: Names::below(root),
            ..Self::default()
        }
    }

    /// Returns the process of `writer`, which wrote at `at_ns` since the epoch.
    pub fn of(&mut self, writer: &Writer, at_ns: i64) -> &Process {
        // A program that is replaced (execve) usually comes with another name; unknown processes have users of their own.
        let key = (writer.pid, writer.comm.clone(), writer.uid);
        if self.known.len() >= MOST_KNOWN && !self.known.contains_key(&key) {
            self.known.clear();
        }
        // A process ID that is used again comes with another time.
        let began = started(writer.pid).filter(|&ticks| began_ns(ticks) <= at_ns);
        let (users, names) = (&mut self.users, &mut self.names);
        let mut asked = || {
            let user = users
                .entry(writer.uid)
                .or_insert_with(|| user_name(writer.uid));
            match began {
                Some(_) => Process::read(writer.pid, &writer.comm, user.clone(), names),
                None => gone(writer, user.clone()),
            }
        };
        let known = self.known.entry(key);
        let known = known.or_insert_with(|| (asked(), began));
        // What is known of a process that has ended stays known.
        if began.is_some() && began != known.1 {
            *known = (asked(), began);
        }
        // kubelet makes the link to a container's log after it has started the container.
        if let Some(container) = &mut known.0.container {
            names.give(container);
        }
        &known.0
    }
}

impl Processes {
    /// Returns which side `writer`'s end of the connection is ([`Roles`]). Who listens is looked up only where the
    /// kernel did not say that this end accepted the connection.
    pub fn side(&mut self, writer: &Writer, connection: &Connection) -> Side {
        if connection.accepted == Some(true) {
            return Side::Server;
        }
        if self.listening.len() >= MOST_KNOWN {
            self.listening.clear();
        }
        let listening = self.listening.entry(connection.netns).or_default();
        let mut roles = listening.roles(connection);
        if !(roles.listens || roles.peer_listens) && listening.look(writer.pid) {
            roles = listening.roles(connection);
        }
        roles.side()
    }
}

/// The ports that somebody listens on, or did, in a network namespace.
#[derive(Default)]
struct Listening {
    ports: HashSet<u16>,
    pace: Pace,
}

impl Listening {
    /// Returns what is known of the roles of a connection's ends.
    fn roles(&self, connection: &Connection) -> Roles {
        let has = |end: SocketAddr| self.ports.contains(&end.port());
        let is_here = connection.local.ip() == connection.remote.ip();
        Roles {
            listens: has(connection.local),
            peer_listens: is_here && has(connection.remote),
            ..connection.roles()
        }
    }

    /// Looks again, by a process of the namespace; returns whether it could.
    fn look(&mut self, pid: u32) -> bool {
        let Some(ports) = self.pace.look(Duration::ZERO, || listening_ports(pid)) else {
            return false;
        };
        if self.ports.len() >= MOST_KNOWN {
            self.ports.clear();
        }
        self.ports.extend(ports);
        true
    }
}

/// Returns the time since the epoch at which a process certainly ran that began at `ticks`.
fn began_ns(ticks: u64) -> i64 {
    // SAFETY: asks for a number, which every Linux knows.
    let a_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1);
    let since_boot_ns = clock_ns(libc::CLOCK_REALTIME) - clock_ns(libc::CLOCK_BOOTTIME);
    let ticks = i64::try_from(ticks).unwrap_or(i64::MAX);
    since_boot_ns.saturating_add(ticks.saturating_mul(1_000_000_000 / a_second))
}

/// Returns the ports on which somebody listens in the network namespace of `pid`.
fn listening_ports(pid: u32) -> HashSet<u16> {
    let mut ports = HashSet::new();
    for file in ["tcp", "tcp6"] {
        if let Ok(file) = File::open(format!("/proc/{pid}/net/{file}")) {
            let lines = BufReader::new(file).lines().skip(1).map_while(Result::ok);
            // Those that listen come first, and there may be very many others.
            ports.extend(lines.map_while(|line| listening_port(&line)));
        }
    }
    ports
}

/// Returns the port of a line of `/proc/net/tcp` if its socket listens.
fn listening_port(line: &str) -> Option<u16> {
    // `sl local_address rem_address st ...`; 0A is LISTEN.
    let mut fields = line.split_whitespace().skip(1);
    let (local, state) = (fields.next()?, fields.nth(1)?);
    let (_, port) = local.rsplit_once(':').filter(|_| state == "0A")?;
    u16::from_str_radix(port, 16).ok()
}

/// Returns what the kernel said of a process that has ended.
fn gone(writer: &Writer, user: String) -> Process {
    Process {
        pid: writer.pid,
        name: plain(&writer.comm),
        script: None,
        user,
        container: None,
        cgroup: None,
    }
}

const MOST_KNOWN: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;

    /// The ports alone say the contrary; and of the peer's port only a listener on the same host counts.
    #[test]
    fn whoever_listens_is_the_server() {
        let connection = |remote: [u8; 4]| Connection {
            cookie: 1,
            netns: 1,
            local: ([127, 0, 0, 1], 40_000).into(),
            remote: (remote, 50_000).into(),
            mss: 0,
            srtt_ns: 0,
            min_rtt_ns: None,
            accepted: None,
        };
        let listening = Listening {
            ports: [50_000].into(),
            pace: Pace::default(),
        };
        let side = |remote| listening.roles(&connection(remote)).side();
        assert_eq!(side([127, 0, 0, 1]), Side::Client);
        assert_eq!(side([192, 0, 2, 1]), Side::Server);
    }

    #[test]
    fn lines_of_the_kernels_table_tell_who_listens() {
        let line = |state: &str| {
            format!(
                "   0: 0100007F:1F90 00000000:0000 {state} 00000000:00000000 00:00000000 00000000     0        0 42 1"
            )
        };
        assert_eq!(listening_port(&line("0A")), Some(8080));
        assert_eq!(listening_port(&line("01")), None);
        assert_eq!(listening_port(""), None);
    }
}
