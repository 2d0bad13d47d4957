//! Where the control groups are.

use std::path::PathBuf;

use crate::root::Root;

/// Returns the folder of the control groups that sockets belong to: those of version 2.
pub(crate) fn groups_root() -> PathBuf {
    groups_below(&Root::default())
}

/// Returns the same of the host with this root.
pub(crate) fn groups_below(root: &Root) -> PathBuf {
    let roots = roots(root);
    let is_v2 = |root: &&PathBuf| root.join("cgroup.controllers").exists();
    roots
        .iter()
        .take(V2)
        .find(is_v2)
        .unwrap_or(&roots[0])
        .clone()
}

/// Returns where hierarchies of control groups are mounted. The first two may be of version 2.
pub(crate) fn roots(root: &Root) -> [PathBuf; 3] {
    GROUP_ROOTS.map(|path| root.join(path))
}

/// Version 2 by itself, or beside those of version 1; and systemd's own of version 1.
const GROUP_ROOTS: [&str; 3] = [
    "/sys/fs/cgroup",
    "/sys/fs/cgroup/unified",
    "/sys/fs/cgroup/systemd",
];
const V2: usize = 2;
