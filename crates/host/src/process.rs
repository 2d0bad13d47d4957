//! Identifies a process: its name, user, control group and container.

use std::ffi::CStr;
use std::fs;

use serde::Serialize;

/// A process, as far as this process may inspect it. After a process has ended, its data stays
/// known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Process {
    /// The process ID.
    pub pid: u32,
    /// The program's name.
    pub name: String,
    /// The script or class that an interpreter runs, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// The user's name, or the user ID if it has no name.
    pub user: String,
    /// The container or the unit, from the control group's path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<Container>,
    /// The control group's path; `None` if the process had ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
}

impl Process {
    /// Looks a process up; `name` is its name if it has ended meanwhile.
    #[must_use]
    pub fn read(pid: u32, name: &str, user: String) -> Self {
        let folder = format!("/proc/{pid}");
        let comm = fs::read_to_string(format!("{folder}/comm"));
        // The thread's name is not always the program's (Java, Node).
        let name = comm.map_or_else(|_| name.to_owned(), |comm| comm.trim_end().to_owned());
        let arguments = fs::read(format!("{folder}/cmdline")).unwrap_or_default();
        let cgroup = cgroup(pid);
        Process {
            pid,
            script: script(&name, &arguments),
            name,
            user,
            container: cgroup.as_deref().and_then(Container::of),
            cgroup,
        }
    }
}

/// What a control group stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Container {
    /// A Docker container, by the first twelve digits of its ID.
    Docker {
        /// The number.
        id: String,
    },
    /// Podman's.
    Podman {
        /// The number.
        id: String,
    },
    /// A container of containerd's or CRI-O's outside Kubernetes.
    Containerd {
        /// The number.
        id: String,
    },
    /// A pod of Kubernetes'.
    Pod {
        /// The pod's UID.
        uid: String,
        /// The container in it.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// A systemd unit.
    Unit {
        /// Its name.
        name: String,
    },
}

impl Container {
    /// Reads a control group's path.
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let id = parts.iter().rev().find_map(|part| container_id(part));
        if let Some(uid) = parts.iter().find_map(|part| pod_uid(part)) {
            return Some(Self::Pod {
                uid,
                id: id.map(|(_, id)| id),
            });
        }
        if let Some((runtime, id)) = id {
            let under_docker = parts.contains(&"docker");
            return Some(match runtime {
                "docker" => Self::Docker { id },
                "" if under_docker => Self::Docker { id },
                "libpod" => Self::Podman { id },
                _ => Self::Containerd { id },
            });
        }
        let unit = parts.iter().rev().find(|part| part.ends_with(".service"))?;
        // The unit of a user's service manager does not say which service it is.
        (!unit.starts_with("user@")).then(|| Self::Unit {
            name: (*unit).to_owned(),
        })
    }

    /// Returns the first twelve digits of the container's ID; `None` for a unit, and for a pod whose path
    /// names no container.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Docker { id } | Self::Podman { id } | Self::Containerd { id } => Some(id),
            Self::Pod { id, .. } => id.as_deref(),
            Self::Unit { .. } => None,
        }
    }
}

impl std::fmt::Display for Container {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Docker { id } => write!(f, "docker {id}"),
            Self::Podman { id } => write!(f, "podman {id}"),
            Self::Containerd { id } => write!(f, "container {id}"),
            Self::Pod { uid, id: Some(id) } => write!(f, "pod {uid}, container {id}"),
            Self::Pod { uid, id: None } => write!(f, "pod {uid}"),
            Self::Unit { name } => f.write_str(name),
        }
    }
}

/// `docker-3f….scope`, `cri-containerd-3f….scope`, `3f…`: the runtime's name and the short number.
fn container_id(part: &str) -> Option<(&str, String)> {
    let part = part.strip_suffix(".scope").unwrap_or(part);
    let (runtime, digits) = part.rsplit_once('-').unwrap_or(("", part));
    let is_id = digits.len() == 64 && digits.bytes().all(|octet| octet.is_ascii_hexdigit());
    is_id.then(|| (runtime, digits[..12].to_owned()))
}

/// `pod8f0b…` as the cgroupfs driver has it, `kubepods-burstable-pod8f0b_….slice` as systemd's.
fn pod_uid(part: &str) -> Option<String> {
    let part = part.strip_suffix(".slice").unwrap_or(part);
    let uid = match part.rfind("-pod") {
        Some(at) if part.starts_with("kubepods") => &part[at + 4..],
        _ => part.strip_prefix("pod")?,
    };
    let plain = uid
        .bytes()
        .all(|octet| octet.is_ascii_hexdigit() || b"-_".contains(&octet));
    (plain && uid.len() >= 32).then(|| uid.replace('_', "-"))
}

/// Returns the path of a process's control group, of version 2 or of systemd's own hierarchy of version 1; `None`
/// if the process has ended.
#[must_use]
pub fn cgroup(pid: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let path = |prefix: &str| {
        text.lines()
            .find_map(|line| line.split_once(':')?.1.strip_prefix(prefix))
            .map(str::to_owned)
    };
    let unified = path(":").filter(|path| path != "/");
    unified
        .or_else(|| path("name=systemd:"))
        .or_else(|| path(":"))
}

/// Returns what an interpreter was told to run.
fn script(name: &str, arguments: &[u8]) -> Option<String> {
    let interprets = [
        "python", "ruby", "node", "java", "perl", "php", "beam.smp", "bash", "sh",
    ];
    if !interprets
        .iter()
        .any(|interpreter| name.starts_with(interpreter))
    {
        return None;
    }
    let mut words = arguments
        .split(|octet| *octet == 0)
        .skip(1)
        .map(String::from_utf8_lossy);
    loop {
        let word = words.next().filter(|word| !word.is_empty())?;
        match &*word {
            "-m" | "-jar" | "-cp" | "-classpath" if name == "java" && word.starts_with("-c") => {
                words.next();
            }
            "-m" | "-jar" => return words.next().map(|word| base(&word)),
            "-c" | "-e" => return None,
            word if word.starts_with('-') => {}
            word => return Some(base(word)),
        }
    }
}

fn base(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

/// Returns a user's name, or the number if it has no name.
#[must_use]
pub fn user_name(uid: u32) -> String {
    let mut buffer = vec![0; 4096];
    // SAFETY: the call only writes to its arguments, within the given lengths, and the name is
    // copied before the buffer is dropped.
    unsafe {
        let mut entry: libc::passwd = std::mem::zeroed();
        let mut found = std::ptr::null_mut();
        let failed = libc::getpwuid_r(
            uid,
            &raw mut entry,
            buffer.as_mut_ptr(),
            buffer.len(),
            &raw mut found,
        );
        if failed == 0 && !found.is_null() {
            return CStr::from_ptr(entry.pw_name).to_string_lossy().into_owned();
        }
    }
    uid.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "3fa1b2c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f80";

    #[test]
    fn control_groups_name_their_container() {
        let shown = |path: String| Container::of(&path).map(|container| container.to_string());
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(shown(format!("/docker/{ID}")), some("docker 3fa1b2c4d5e6"));
        assert_eq!(
            shown(format!("/system.slice/docker-{ID}.scope")),
            some("docker 3fa1b2c4d5e6")
        );
        assert_eq!(
            shown(format!("/machine.slice/libpod-{ID}.scope")),
            some("podman 3fa1b2c4d5e6")
        );
        assert_eq!(
            shown(format!("/default/{ID}")),
            some("container 3fa1b2c4d5e6")
        );
        let uid = "8f0b6d52-1c2d-4e3f-9a8b-7c6d5e4f3a2b";
        assert_eq!(
            shown(format!("/kubepods/burstable/pod{uid}/{ID}")),
            some(&format!("pod {uid}, container 3fa1b2c4d5e6"))
        );
        let slice = format!("kubepods-besteffort-pod{}.slice", uid.replace('-', "_"));
        assert_eq!(
            shown(format!(
                "/kubepods.slice/kubepods-besteffort.slice/{slice}/cri-containerd-{ID}.scope"
            )),
            some(&format!("pod {uid}, container 3fa1b2c4d5e6"))
        );
        assert_eq!(
            shown("/system.slice/nginx.service".into()),
            some("nginx.service")
        );
        assert_eq!(
            shown("/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope".into()),
            None
        );
        assert_eq!(shown("/".into()), None);
    }

    #[test]
    fn an_interpreter_is_known_by_what_it_runs() {
        let of = |name: &str, words: &str| script(name, words.replace(' ', "\0").as_bytes());
        assert_eq!(
            of("python3", "python3 -u /srv/app.py -v"),
            Some("app.py".into())
        );
        assert_eq!(
            of("python3", "python3 -m http.server"),
            Some("http.server".into())
        );
        assert_eq!(of("python3", "python3 -c pass"), None);
        assert_eq!(of("java", "java -cp /x Main"), Some("Main".into()));
        assert_eq!(
            of("java", "java -Xmx1g -jar /srv/app.jar"),
            Some("app.jar".into())
        );
        assert_eq!(of("nginx", "nginx -g x"), None);
    }
}
