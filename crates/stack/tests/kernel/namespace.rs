//! A network of our own.

use std::fs;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::{getegid, geteuid};

const OURS: CloneFlags = CloneFlags::CLONE_NEWNET.union(CloneFlags::CLONE_NEWNS);

/// Moves the process, which must have only one thread, into a fresh network namespace in which it
/// has all privileges.
///
/// # Errors
///
/// Why that cannot be done here.
pub(crate) fn enter() -> Result<(), String> {
    let said = |what: &'static str| move |error| format!("{what}: {error}");
    let (user, group) = (geteuid(), getegid());
    if user.is_root() {
        unshare(OURS).map_err(said("no network namespace"))?;
    } else {
        unshare(CloneFlags::CLONE_NEWUSER | OURS).map_err(said("no user and network namespace"))?;
        let map = |file: &str, text: String| fs::write(format!("/proc/self/{file}"), text);
        map("setgroups", "deny".into())
            .and_then(|()| map("uid_map", format!("0 {user} 1")))
            .and_then(|()| map("gid_map", format!("0 {group} 1")))
            .map_err(|error| format!("no user namespace: {error}"))?;
    }
    fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/net/tun")
        .map_err(|error| format!("/dev/net/tun: {error}"))?;
    // A thousand connections at once need as many descriptors.
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).map_err(said("limits"))?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most).map_err(said("limits"))
}

/// Makes `/sys` show that network's devices.
///
/// # Errors
///
/// Why that cannot be done here.
pub(crate) fn mount_sysfs() -> Result<(), String> {
    // Mounts made here are not visible elsewhere.
    let private = MsFlags::MS_PRIVATE | MsFlags::MS_REC;
    mount(None::<&str>, "/", None::<&str>, private, None::<&str>)
        .and_then(|()| {
            mount(
                Some("sysfs"),
                "/sys",
                Some("sysfs"),
                MsFlags::empty(),
                None::<&str>,
            )
        })
        .map_err(|error| format!("no /sys of our own: {error}"))
}
