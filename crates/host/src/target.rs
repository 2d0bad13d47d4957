//! What a command means: a process, a port, a name or a control group.

use std::fmt;
use std::net::SocketAddr;

use procfs::process::all_processes;

use crate::groups::roots;
use crate::meaning;
use crate::names::Names;
use crate::place::Place;
use crate::process::Process;
use crate::root::Root;

/// What a person typed for a process, a connection or a group of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A process id or a port, whichever applies.
    Number(u32),
    /// A process by its ID, never a port: `pid:22766`.
    Process(u32),
    /// A port, never a process: `port:8080`.
    Port(u16),
    /// A process, the program that its interpreter runs, a unit or a container.
    Name(String),
    /// A control group with those below it.
    Cgroup(String),
    /// What runs in these pods and containers: all of it, or what a target means there.
    Within(Place, Option<Box<Self>>),
}

impl Target {
    /// Reads all of `typed`; of these, what runs in `place` is meant.
    ///
    /// # Errors
    ///
    /// Those of [`Self::parse`], and that a number is both the ID of a process that has connections and a port of others.
    pub fn all(typed: &[String], place: &Place, root: &Root) -> Result<Vec<Self>, String> {
        let targets = typed.iter().map(|text| Self::parse_below(text, root));
        let targets: Vec<Self> = targets.collect::<Result<_, _>>()?;
        for target in &targets {
            if let Self::Number(number) = target {
                meaning::only_one_of(*number)?;
            }
        }
        if place.is_everywhere() {
            return Ok(targets);
        }
        if targets.is_empty() {
            return Ok(vec![Self::Within(place.clone(), None)]);
        }
        let within = |target| Self::Within(place.clone(), Some(Box::new(target)));
        Ok(targets.into_iter().map(within).collect())
    }

    /// Reads a target on this host.
    ///
    /// # Errors
    ///
    /// Says in one line what is wrong and what is accepted.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::parse_below(text, &Root::default())
    }

    /// Reads a target on the host with this root.
    fn parse_below(text: &str, root: &Root) -> Result<Self, String> {
        if text.is_empty() {
            return Err("an empty name: accepted are a process id, a process name, a port, or a control group's path".to_owned());
        }
        if text.contains('/') {
            let mounted = roots(root)
                .into_iter()
                .rev()
                .find_map(|root| text.strip_prefix(root.to_str()?));
            let path = format!("/{}", mounted.unwrap_or(text).trim_matches('/'));
            return match is_missing(&path, root) {
                true => Err(format!(
                    "{text}: there is no control group {path} beneath /sys/fs/cgroup"
                )),
                false => Ok(Self::Cgroup(path)),
            };
        }
        if let Some(number) = text.strip_prefix("pid:") {
            let pid = number
                .parse()
                .ok()
                .filter(|pid| (1..=MAX_PID).contains(pid));
            return pid.map(Self::Process).ok_or_else(|| {
                format!("{text}: accepted is pid: with a process id up to {MAX_PID}")
            });
        }
        if let Some(number) = text.strip_prefix("port:") {
            let port = number.parse().ok().filter(|port| *port != 0);
            return port
                .map(Self::Port)
                .ok_or_else(|| format!("{text}: accepted is port: with a port up to 65535"));
        }
        if !text.bytes().all(|octet| octet.is_ascii_digit()) {
            return Ok(Self::Name(text.to_owned()));
        }
        let number = text
            .parse()
            .ok()
            .filter(|number| (1..=MAX_PID).contains(number));
        number.map(Self::Number).ok_or_else(|| {
            format!("{text}: accepted are a process id up to {MAX_PID} or a port up to 65535")
        })
    }

    /// Returns whether a connection of `process` between these ends is meant. `thread` is the name of its thread that
    /// wrote, which may differ from the program's (Java, Node).
    #[must_use]
    pub fn is_met_by(&self, process: &Process, thread: &str, ends: [SocketAddr; 2]) -> bool {
        match self {
            Self::Within(place, what) => {
                let is_met = |what: &Self| what.is_met_by(process, thread, ends);
                place.has(process.container.as_ref()) && what.as_deref().is_none_or(is_met)
            }
            _ => self.is_port_of(ends).is_some() || self.is_process(process, thread),
        }
    }

    /// Returns whether this process is meant.
    #[must_use]
    pub fn is_process(&self, process: &Process, thread: &str) -> bool {
        match self {
            Self::Number(number) | Self::Process(number) => process.pid == *number,
            Self::Port(_) => false,
            Self::Name(name) => {
                let called = [
                    Some(&*process.name),
                    process.script.as_deref(),
                    Some(thread),
                ];
                called.into_iter().flatten().any(|called| called == name)
                    || process
                        .container
                        .as_ref()
                        .is_some_and(|container| container.is_named(name))
            }
            Self::Cgroup(path) => process.cgroup.as_ref().is_some_and(|cgroup| {
                cgroup
                    .strip_prefix(path.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                    || path == "/"
            }),
            Self::Within(place, what) => {
                let is_process = |what: &Self| what.is_process(process, thread);
                place.has(process.container.as_ref()) && what.as_deref().is_none_or(is_process)
            }
        }
    }

    /// Returns the port of the ends that this target is, if it is one. Of a target within a place, the place remains
    /// to be asked for.
    #[must_use]
    pub fn is_port_of(&self, ends: [SocketAddr; 2]) -> Option<u16> {
        let number = match self {
            Self::Number(number) => *number,
            Self::Port(port) => u32::from(*port),
            Self::Within(_, Some(what)) => return what.is_port_of(ends),
            _ => return None,
        };
        let ports = ends.map(|end| end.port());
        ports.into_iter().find(|port| u32::from(*port) == number)
    }

    /// Returns whether it is a process by its ID or its name, and there is none.
    #[must_use]
    pub fn names_nobody(&self, root: &Root) -> bool {
        matches!(self, Self::Name(_) | Self::Process(_)) && !self.is_anybody(root)
    }

    /// Returns whether a process is meant.
    fn is_anybody(&self, root: &Root) -> bool {
        let mut names = Names::below(root.clone());
        let mut processes = all_processes().into_iter().flatten().flatten();
        processes.any(|process| {
            let pid = process.pid.cast_unsigned();
            let about = Process::read(pid, "", String::new(), &mut names);
            self.is_process(&about, &about.name)
        })
    }

    /// Returns what a connection would have had to be.
    #[must_use]
    pub fn sought(&self) -> String {
        match self {
            Self::Process(number) => format!("process {number}"),
            Self::Port(port) => format!("port {port}"),
            Self::Number(number) if *number > u32::from(u16::MAX) => format!("process {number}"),
            Self::Number(number) => format!("process {number} or port {number}"),
            Self::Name(name) => format!("a process, script, unit or container named {name}"),
            Self::Cgroup(path) => format!("the control group {path}"),
            Self::Within(place, None) => place.to_string(),
            Self::Within(place, Some(what)) => format!("{} in {place}", what.sought()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Process(pid) => write!(f, "pid:{pid}"),
            Self::Port(port) => write!(f, "port:{port}"),
            Self::Name(text) | Self::Cgroup(text) => f.write_str(text),
            Self::Within(place, None) => place.fmt(f),
            Self::Within(place, Some(what)) => write!(f, "{what} in {place}"),
        }
    }
}

/// Returns whether the hierarchy of control groups can be read and does not contain `path`.
fn is_missing(path: &str, root: &Root) -> bool {
    let roots = roots(root);
    let is_mounted = roots[0]
        .read_dir()
        .is_ok_and(|mut entries| entries.next().is_some());
    let relative = path.trim_start_matches('/');
    is_mounted && !roots.iter().any(|root| root.join(relative).exists())
}

/// `PID_MAX_LIMIT` of a 64-bit kernel.
const MAX_PID: u32 = 1 << 22;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_number_a_name_or_a_path() {
        let one = |text: &str| Target::parse(text);
        assert_eq!(one("80"), Ok(Target::Number(80)));
        assert_eq!(one("redis-server"), Ok(Target::Name("redis-server".into())));
        assert_eq!(one("/sys/fs/cgroup/"), Ok(Target::Cgroup("/".into())));
        assert_eq!(one("pid:80"), Ok(Target::Process(80)));
        assert_eq!(one("port:80"), Ok(Target::Port(80)));
        let is_nobody = |text: &str| one(text).unwrap().names_nobody(&Root::default());
        assert!(is_nobody("nosuchprogram-of-anybody"));
        assert!(!is_nobody(&format!("pid:{}", std::process::id())));
        assert!(!is_nobody("port:1"), "a port is no process");
        for text in ["80", "pid:80", "port:80", "redis-server"] {
            assert_eq!(one(text).unwrap().to_string(), text);
        }
        let root = Root::default();
        assert!(!is_missing("/", &root));
        if !is_missing("/system.slice", &root) {
            let slice = Ok(Target::Cgroup("/system.slice".into()));
            assert_eq!(one("/sys/fs/cgroup/system.slice/"), slice);
        }
        let inner = one("/sys/fs/cgroup/unified/");
        assert_eq!(inner, Ok(Target::Cgroup("/".into())));
        for bad in [
            "",
            "0",
            "4194305",
            "99999999999999999999",
            "no/such/group",
            "pid:",
            "pid:0",
            "port:0",
            "port:65536",
            "port:http",
        ] {
            assert!(one(bad).is_err(), "{bad}");
        }
    }
}
