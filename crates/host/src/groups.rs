//! Where the control groups are.

use std::path::{Path, PathBuf};

/// Returns the folder of the control groups that sockets belong to: those of version 2.
pub(crate) fn groups_root() -> PathBuf {
    let is_v2 = |root: &&&str| Path::new(root).join("cgroup.controllers").exists();
    GROUP_ROOTS
        .iter()
        .find(is_v2)
        .unwrap_or(&GROUP_ROOTS[0])
        .into()
}

/// Where control groups of version 2 are mounted: by themselves, or beside those of version 1.
const GROUP_ROOTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
