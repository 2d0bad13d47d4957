//! What only a running process shows of its native code: which files it has mapped, and where. It is read at once,
//! because processes end; names can be looked up later, in the files.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;

use super::maps::{self, Running};
use super::{MOST_PROGRAMS, Stack};

/// The code of a process.
pub(crate) struct Snapshot {
    /// What it runs; `None` if it has ended.
    pub(super) running: Option<Running>,
    pub(super) code: Vec<Mapping>,
}

/// A file that code is run from.
pub(crate) struct Mapping {
    pub(super) range: Range<u64>,
    /// Where in the file the mapping begins.
    pub(super) offset: u64,
    /// The path in the process's own file system.
    pub(super) path: String,
    pub(super) file: Option<File>,
}

impl Snapshot {
    fn of(pid: u32) -> Self {
        let code = maps::code(pid).into_iter().filter_map(|map| {
            // Code that was made at run time has no file either if its memory has a name.
            let (path, open_at) =
                maps::file(pid, &map).filter(|(path, _)| !path.starts_with("/memfd:"))?;
            Some(Mapping {
                range: map.address.0..map.address.1,
                offset: map.offset,
                path,
                file: File::open(open_at).ok(),
            })
        });
        Self {
            running: maps::running(pid),
            code: code.collect(),
        }
    }
}

/// Remembers of which processes there is a snapshot.
#[derive(Default)]
pub(super) struct Snapshots {
    known: HashMap<u32, (Option<Running>, Vec<Range<u64>>)>,
}

impl Snapshots {
    /// Returns the code of the stack's process, unless it is known.
    pub(super) fn take(&mut self, stack: &Stack<'_>) -> Option<Snapshot> {
        let now = maps::running(stack.pid);
        let is_known = self.known.get(&stack.pid).is_some_and(|(running, code)| {
            // Else the process, or another one with the same process ID, runs another program, or it has loaded a
            // library since.
            (now.is_none() || now == *running)
                && code.iter().any(|range| range.contains(&stack.registers[0]))
        });
        if is_known {
            return None;
        }
        let snapshot = Snapshot::of(stack.pid);
        // `native::Programs` forgets at the same number.
        if self.known.len() >= MOST_PROGRAMS && !self.known.contains_key(&stack.pid) {
            self.known.clear();
        }
        let code = snapshot.code.iter().map(|mapping| mapping.range.clone());
        let known = (snapshot.running.clone(), code.collect());
        self.known.insert(stack.pid, known);
        Some(snapshot)
    }
}
