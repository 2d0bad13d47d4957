//! Identifies a process: its name, user, control group and container.

use std::ffi::CStr;
use std::fs;

use serde::Serialize;

use crate::container::Container;
use crate::names::Names;
use crate::text::plain;

/// A process, as far as this process may inspect it. After a process has ended, its data stays
/// known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Process {
    /// The process ID; 0 if it is unknown.
    pub pid: u32,
    /// The program's name.
    pub name: String,
    /// The script or class that an interpreter runs, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// The user's name, or the user ID if it has no name; `?` if it is unknown.
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
    pub fn read(pid: u32, name: &str, user: String, names: &mut Names) -> Self {
        let folder = format!("/proc/{pid}");
        let comm = fs::read_to_string(format!("{folder}/comm"));
        // The thread's name is not always the program's (Java, Node).
        let name = comm.map_or_else(|_| name.to_owned(), |comm| comm.trim_end().to_owned());
        let arguments = fs::read(format!("{folder}/cmdline")).unwrap_or_default();
        let cgroup = cgroup(pid);
        let mut container = cgroup.as_deref().and_then(Container::of);
        if let Some(container) = &mut container {
            names.give(container);
        }
        Process {
            pid,
            script: script(&name, &arguments).map(|script| plain(&script)),
            name: plain(&name),
            user,
            container,
            cgroup,
        }
    }
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
    // Where nobody has systemd, only the hierarchies of version 1 with controllers show a container.
    let of_container = || {
        let paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
        let mut known = paths.filter(|path| Container::of(path).is_some());
        known.next().map(str::to_owned)
    };
    unified
        .or_else(|| path("name=systemd:").filter(|path| path != "/"))
        .or_else(of_container)
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

/// The user ID that no user has (POSIX, `(uid_t) -1`): the user is unknown.
pub const NO_USER: u32 = u32::MAX;

/// Returns a user's name, or the number if it has no name; `?` for [`NO_USER`].
#[must_use]
pub fn user_name(uid: u32) -> String {
    if uid == NO_USER {
        return "?".to_owned();
    }
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
