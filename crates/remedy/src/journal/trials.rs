//! Trials that are under way: a file for each process beside the journal, so that two of them do not try on the same sockets.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tinygram_host::start::started;

use super::{Journal, JournalError, refused};

/// The two ends of a connection, the lesser first.
pub type TriedEnds = (SocketAddr, SocketAddr);

/// A trial of this process; it ends with this value.
#[derive(Debug)]
pub struct TrialClaim {
    path: PathBuf,
}

/// A trial of another process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialUnderWay {
    /// The process.
    pub pid: u32,
    started: u64,
    /// Its command, without the program's name.
    pub command: String,
    sockets: BTreeSet<TriedEnds>,
}

impl Journal {
    /// Writes down that this process tries something on these connections, by their two ends, the lesser first; returns the trial of another process that
    /// has one of them, if there is one.
    ///
    /// # Errors
    ///
    /// Returns what the system refuses.
    pub fn begin_trial(
        &mut self,
        command: &str,
        sockets: BTreeSet<TriedEnds>,
    ) -> Result<Result<TrialClaim, TrialUnderWay>, JournalError> {
        let pid = std::process::id();
        if let Some(other) = self
            .trials()?
            .into_iter()
            .find(|trial| trial.pid != pid && !trial.sockets.is_disjoint(&sockets))
        {
            return Ok(Err(other));
        }
        let trial = TrialUnderWay {
            pid,
            started: started(pid).unwrap_or(0),
            command: command.to_owned(),
            sockets,
        };
        let name = format!("{NAME}{pid}");
        let path = self.folder.path(&name);
        let text = serde_json::to_vec(&trial).expect("plain data");
        let mut file = self.folder.file(&name)?;
        file.set_len(0)
            .and_then(|()| file.write_all(&text))
            .map_err(|error| refused(&path, "writing", error))?;
        Ok(Ok(TrialClaim { path }))
    }

    /// Returns the trials of processes that run; what others left is removed.
    fn trials(&self) -> Result<Vec<TrialUnderWay>, JournalError> {
        let folder = self.folder.path("");
        let entries =
            fs::read_dir(&folder).map_err(|error| refused(&folder, "reading the folder", error))?;
        let mut all = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| name.starts_with(NAME)) else {
                continue;
            };
            let mut text = String::new();
            let mut file = self.folder.file(name)?;
            file.read_to_string(&mut text)
                .map_err(|error| refused(&entry.path(), "reading", error))?;
            let trial: Option<TrialUnderWay> = serde_json::from_str(&text).ok();
            match trial.filter(|trial| started(trial.pid) == Some(trial.started)) {
                Some(trial) => all.push(trial),
                None => {
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
        Ok(all)
    }
}

impl Drop for TrialClaim {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Of such a file; the process's ID follows.
const NAME: &str = "trial-";

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(port: u16) -> TriedEnds {
        let end = |port| SocketAddr::from(([127, 0, 0, 1], port));
        (end(80), end(1000 + port))
    }

    #[test]
    fn a_trial_keeps_others_from_its_sockets_while_its_process_runs() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let mut journal = Journal::open(&state).unwrap();
        // Of another process that runs: that of the tests' parent.
        let other = std::os::unix::process::parent_id();
        let theirs = |started| TrialUnderWay {
            pid: other,
            started,
            command: "cure 80".to_owned(),
            sockets: [ends(1), ends(2)].into(),
        };
        let file = format!("{NAME}{other}");
        let write = |trial: &TrialUnderWay| {
            let text = serde_json::to_vec(trial).unwrap();
            let mut file = journal.folder.file(&file).unwrap();
            file.set_len(0).unwrap();
            file.write_all(&text).unwrap();
        };
        write(&theirs(started(other).unwrap()));
        let refused = journal
            .begin_trial("cure 81", [ends(2), ends(3)].into())
            .unwrap();
        assert_eq!(refused.unwrap_err().command, "cure 80");
        let beside = journal
            .begin_trial("cure 81", [ends(3)].into())
            .unwrap()
            .unwrap();
        assert!(beside.path.exists());
        let own = beside.path.clone();
        drop(beside);
        assert!(!own.exists(), "it ends with its value");
        // Another process has its number by now.
        let mut file = journal.folder.file(&file).unwrap();
        file.set_len(0).unwrap();
        file.write_all(&serde_json::to_vec(&theirs(1)).unwrap())
            .unwrap();
        assert!(
            journal
                .begin_trial("cure 81", [ends(2)].into())
                .unwrap()
                .is_ok()
        );
    }
}
