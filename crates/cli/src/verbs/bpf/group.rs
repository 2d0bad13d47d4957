//! The control group whose connections get the policy: one that is there, or one made for a program.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::outcome::{Failure, plain};
use crate::verbs::run::own_group;

/// A control group made for a run; it is removed at the end, unless the program left others in it.
pub(super) struct Made {
    folder: PathBuf,
}

impl Made {
    pub(super) fn new() -> Result<Self, Failure> {
        let parent = own_group().ok_or_else(|| {
            Failure::Input("bpf takes control groups of version 2 (a mounted cgroup2 file system), and there are none".into())
        })?;
        let folder = parent.join(format!("tinygram-bpf-{}", std::process::id()));
        fs::create_dir(&folder).map_err(|error| {
            Failure::Input(format!(
                "making a control group {}: {}",
                folder.display(),
                plain(&error)
            ))
        })?;
        Ok(Self { folder })
    }

    pub(super) fn open(&self) -> Result<File, Failure> {
        open(&self.folder)
    }

    /// Lets a program join when it starts.
    pub(super) fn admit(&self, command: &mut Command) -> io::Result<()> {
        let members = OpenOptions::new()
            .write(true)
            .open(self.folder.join("cgroup.procs"))?;
        // SAFETY: one write to an open file, between fork and exec.
        unsafe { command.pre_exec(move || (&members).write_all(b"0")) };
        Ok(())
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Opens a control group of version 2.
pub(super) fn open(folder: &Path) -> Result<File, Failure> {
    if !folder.join("cgroup.procs").exists() {
        return Err(Failure::Input(format!(
            "--cgroup {}: not a control group; accepted is a folder of a cgroup2 file system, such as /sys/fs/cgroup/my.slice",
            folder.display()
        )));
    }
    File::open(folder).map_err(|error| {
        Failure::Input(format!("--cgroup {}: {}", folder.display(), plain(&error)))
    })
}
