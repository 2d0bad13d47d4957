//! What a command means: a process, a port, a name or a control group.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;

use crate::process::Process;

/// What a person typed for a process, a connection or a group of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A process id or a port, whichever applies.
    Number(u32),
    /// A process by its ID, never a port.
    Process(u32),
    /// A process, the program that its interpreter runs, a unit or a container.
    Name(String),
    /// A control group with those below it.
    Cgroup(String),
}

impl Target {
    /// Reads all of `typed`.
    ///
    /// # Errors
    ///
    /// Those of [`Self::parse`].
    pub fn all(typed: &[String]) -> Result<Vec<Self>, String> {
        typed.iter().map(|text| Self::parse(text)).collect()
    }

    /// Reads a target.
    ///
    /// # Errors
    ///
    /// Says in one line what is wrong and what is accepted.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("an empty name: accepted are a process id, a process name, a port, or a control group's path".to_owned());
        }
        if text.contains('/') {
            let path = text
                .trim_start_matches("/sys/fs/cgroup/unified")
                .trim_start_matches("/sys/fs/cgroup");
            let path = format!("/{}", path.trim_matches('/'));
            return match is_missing(&path) {
                true => Err(format!(
                    "{text}: there is no control group {path} beneath /sys/fs/cgroup"
                )),
                false => Ok(Self::Cgroup(path)),
            };
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
        self.is_port_of(ends).is_some() || self.is_process(process, thread)
    }

    /// Returns whether this process is meant.
    #[must_use]
    pub fn is_process(&self, process: &Process, thread: &str) -> bool {
        match self {
            Self::Number(number) | Self::Process(number) => process.pid == *number,
            Self::Name(name) => {
                let called = [
                    Some(&*process.name),
                    process.script.as_deref(),
                    Some(thread),
                ];
                called.into_iter().flatten().any(|called| called == name)
                    || process.container.as_ref().is_some_and(|container| {
                        container
                            .to_string()
                            .split([' ', ','])
                            .any(|word| word == name)
                    })
            }
            Self::Cgroup(path) => process.cgroup.as_ref().is_some_and(|cgroup| {
                cgroup
                    .strip_prefix(path.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                    || path == "/"
            }),
        }
    }

    /// Returns the port of the ends that this target is, if it is one.
    #[must_use]
    pub fn is_port_of(&self, ends: [SocketAddr; 2]) -> Option<u16> {
        let Self::Number(number) = self else {
            return None;
        };
        let ports = ends.map(|end| end.port());
        ports.into_iter().find(|port| u32::from(*port) == *number)
    }

    /// Returns what a connection would have had to be.
    #[must_use]
    pub fn sought(&self) -> String {
        match self {
            Self::Process(number) => format!("process {number}"),
            Self::Number(number) if *number > u32::from(u16::MAX) => format!("process {number}"),
            Self::Number(number) => format!("process {number} or port {number}"),
            Self::Name(name) => format!("a process, script, unit or container named {name}"),
            Self::Cgroup(path) => format!("the control group {path}"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) | Self::Process(number) => write!(f, "{number}"),
            Self::Name(text) | Self::Cgroup(text) => f.write_str(text),
        }
    }
}

/// Returns whether the hierarchy of control groups can be read and does not contain `path`.
fn is_missing(path: &str) -> bool {
    let roots = [
        "/sys/fs/cgroup",
        "/sys/fs/cgroup/unified",
        "/sys/fs/cgroup/systemd",
    ];
    let is_mounted = Path::new(roots[0])
        .read_dir()
        .is_ok_and(|mut entries| entries.next().is_some());
    is_mounted
        && !roots
            .iter()
            .any(|root| Path::new(&format!("{root}{path}")).exists())
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
        assert!(!is_missing("/"));
        if !is_missing("/system.slice") {
            let slice = Ok(Target::Cgroup("/system.slice".into()));
            assert_eq!(one("/sys/fs/cgroup/system.slice/"), slice);
        }
        for bad in ["", "0", "4194305", "99999999999999999999", "no/such/group"] {
            assert!(one(bad).is_err(), "{bad}");
        }
    }
}
