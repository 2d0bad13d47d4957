//! What was installed: on disk before the first file is written, so that it can be taken out after a crash, too.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files::{Content, Item};

/// The manifest of a system or an image.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    entries: Vec<Entry>,
    /// Folders that were made for them, each after the one that it is in.
    folders: Vec<PathBuf>,
    #[serde(skip)]
    root: PathBuf,
}

/// A file or link that was written, or was about to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// Below the root.
    pub(super) path: PathBuf,
    /// Whether a file of policies asked for it.
    pub(super) by_config: bool,
    /// The checksums that it may have: the last one, and one from before if it was being changed.
    sums: Vec<String>,
}

/// What became of a file that was to be taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    Out(PathBuf),
    /// Somebody has changed it since, so it stays.
    Changed(PathBuf),
}

impl Manifest {
    /// Reads the manifest below `root`; there may be none.
    ///
    /// # Errors
    ///
    /// Says in one line what is wrong.
    pub(super) fn read(root: &Path) -> Result<Self, String> {
        let mut manifest = match fs::read(root.join(MANIFEST)) {
            Ok(octets) => serde_json::from_slice(&octets)
                .map_err(|error| format!("/{MANIFEST} is damaged: {error}"))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::default(),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(format!(
                    "cannot tell what is installed: {} is not for this user; it takes root (sudo)",
                    root.join(MANIFEST).display()
                ));
            }
            Err(error) => return Err(format!("/{MANIFEST}: {error}")),
        };
        root.clone_into(&mut manifest.root);
        Ok(manifest)
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Checks that nothing but what was installed here would be written over, and no link be followed out of an image.
    ///
    /// # Errors
    ///
    /// Says in one line what is in the way.
    pub(super) fn check(&self, items: &[Item]) -> Result<(), String> {
        for item in items {
            let there = self.place(&item.path);
            let own = self.entries.iter().find(|entry| entry.path == item.path);
            if let Some(found) = read_any(&there).map_err(|error| said(&item.path, &error))? {
                let is_own = own.is_some_and(|entry| entry.sums.contains(&sum(&found)));
                if !is_own && found != item.content.octets() {
                    return Err(format!(
                        "{} is there already and is not tinygram's; nothing was written",
                        item.path.display()
                    ));
                }
            }
            if self.root != Path::new("/") {
                self.check_folders(&item.path)?;
            }
        }
        Ok(())
    }

    fn check_folders(&self, path: &Path) -> Result<(), String> {
        for folder in path.ancestors().skip(1) {
            let is_link = fs::symlink_metadata(self.place(folder))
                .is_ok_and(|about| about.file_type().is_symlink());
            if is_link && folder != Path::new("/") {
                return Err(format!(
                    "{} is a symbolic link, which could lead out of the image; nothing was written",
                    folder.display()
                ));
            }
        }
        Ok(())
    }

    /// Writes the items, after the manifest has them.
    ///
    /// # Errors
    ///
    /// Says in one line what the system refused; `remove` then takes out what there is.
    pub(super) fn write(&mut self, items: &[Item], by_config: bool) -> Result<(), String> {
        for item in items {
            let new = sum(item.content.octets());
            let found = read_any(&self.place(&item.path)).unwrap_or(None);
            match self
                .entries
                .iter_mut()
                .find(|entry| entry.path == item.path)
            {
                Some(entry) => {
                    entry.by_config = by_config;
                    entry.sums.retain(|sum| *sum != new);
                    entry.sums.push(new);
                }
                // The same file, from elsewhere: it stays when this is taken out.
                None if found.is_some() => {}
                None => self.entries.push(Entry {
                    path: item.path.clone(),
                    by_config,
                    sums: vec![new],
                }),
            }
            self.note_folders(&item.path);
        }
        self.note_folders(&Path::new("/").join(MANIFEST));
        self.save()?;
        for item in items {
            self.write_one(item)
                .map_err(|error| said(&item.path, &error))?;
            if let Some(entry) = self
                .entries
                .iter_mut()
                .find(|entry| entry.path == item.path)
            {
                entry.sums = vec![sum(item.content.octets())];
            }
        }
        self.save()
    }

    /// Notes the folders that are missing for a path.
    fn note_folders(&mut self, path: &Path) {
        let above: Vec<&Path> = path.ancestors().skip(1).collect();
        for folder in above.into_iter().rev() {
            let is_known = self.folders.iter().any(|known| known == folder);
            if !is_known && !self.place(folder).exists() {
                self.folders.push(folder.to_owned());
            }
        }
    }

    fn write_one(&self, item: &Item) -> io::Result<()> {
        let there = self.place(&item.path);
        let folder = there.parent().unwrap_or(Path::new("/"));
        make_folders(folder)?;
        let draft = draft(&there);
        remove_file(&draft)?;
        match &item.content {
            Content::Link(target) => symlink(target, &draft)?,
            content => {
                let mode = match content {
                    Content::Library(_) => 0o755,
                    _ => 0o644,
                };
                let mut options = fs::OpenOptions::new();
                let mut file = options
                    .write(true)
                    .create_new(true)
                    .mode(mode)
                    .open(&draft)?;
                // Whatever the umask.
                file.set_permissions(fs::Permissions::from_mode(mode))?;
                file.write_all(content.octets())?;
                file.sync_all()?;
            }
        }
        fs::rename(&draft, &there)?;
        File::open(folder)?.sync_all()
    }

    /// Takes out the entries that `is_meant` names, and with the last one the folders and the manifest itself.
    ///
    /// # Errors
    ///
    /// Says in one line what the system refused; it can be tried again.
    pub(super) fn remove(
        &mut self,
        is_meant: impl Fn(&Entry) -> bool,
    ) -> Result<Vec<Taken>, String> {
        let mut taken = Vec::new();
        let (meant, stays) = self.entries.drain(..).partition(|entry| is_meant(entry));
        self.entries = stays;
        let meant: Vec<Entry> = meant;
        for entry in meant.iter().rev() {
            let there = self.place(&entry.path);
            let gone = remove_file(&draft(&there)).and_then(|()| match read_any(&there)? {
                Some(found) if !entry.sums.contains(&sum(&found)) => Ok(Some(false)),
                Some(_) => remove_file(&there).map(|()| Some(true)),
                None => Ok(None),
            });
            match gone.map_err(|error| said(&entry.path, &error))? {
                Some(true) => taken.push(Taken::Out(entry.path.clone())),
                Some(false) => taken.push(Taken::Changed(entry.path.clone())),
                None => {}
            }
        }
        if self.entries.is_empty() {
            remove_file(&self.root.join(MANIFEST))
                .map_err(|error| said(Path::new(MANIFEST), &error))?;
            for folder in self.folders.iter().rev() {
                // Others may have put something there since.
                let _ = fs::remove_dir(self.place(folder));
            }
        } else {
            self.save()?;
        }
        Ok(taken)
    }

    /// Writes the manifest anew, through to the disk.
    fn save(&self) -> Result<(), String> {
        let there = self.root.join(MANIFEST);
        let text = serde_json::to_vec_pretty(self).expect("plain data");
        let written = || {
            let folder = there.parent().unwrap_or(Path::new("/"));
            make_folders(folder)?;
            let draft = draft(&there);
            remove_file(&draft)?;
            let mut options = fs::OpenOptions::new();
            let mut file = options
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&draft)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&draft, &there)?;
            File::open(folder)?.sync_all()
        };
        written().map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => format!(
                "this user may not write {}: it takes root (sudo); nothing was written",
                there.display()
            ),
            _ => format!("/{MANIFEST}: {error}; nothing else was written"),
        })
    }

    /// Returns where a path of the system is.
    pub(super) fn place(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }
}

fn said(path: &Path, error: &io::Error) -> String {
    format!(
        "{}: {error}; what was written can be taken out with tinygram install --remove",
        path.display()
    )
}

/// Returns a file's content, or where a link leads; `None` if there is neither.
fn read_any(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
        Ok(about) if about.file_type().is_symlink() => {
            Ok(Some(fs::read_link(path)?.as_os_str().as_bytes().to_vec()))
        }
        Ok(_) => fs::read(path).map(Some),
    }
}

/// Removes a file or link; there may be none.
fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes a folder and those above it, for all to read; the journal's is for its owner alone.
fn make_folders(folder: &Path) -> io::Result<()> {
    let above: Vec<&Path> = folder.ancestors().collect();
    for one in above
        .into_iter()
        .rev()
        .filter(|one| !one.as_os_str().is_empty())
    {
        if one.exists() {
            continue;
        }
        fs::create_dir(one)?;
        let mode = if one.ends_with(STATE) { 0o700 } else { 0o755 };
        fs::set_permissions(one, fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// Returns the name under which a file is written first.
fn draft(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.tinygram-new"))
}

fn sum(octets: &[u8]) -> String {
    format!("{:08x}-{}", crc32fast::hash(octets), octets.len())
}

const STATE: &str = "var/lib/tinygram";
const MANIFEST: &str = "var/lib/tinygram/installed.json";
