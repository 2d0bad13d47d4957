//! `--policy observe`: finds the lines of the program that make the writes that wait.
//!
//! The library leaves a copy of the stack of each such write in a file beside the statistics. In
//! the process that shows the statistics, a thread finds the lines while the program's processes
//! still exist.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use memmap2::{MmapMut, MmapOptions};
use rustix::fs::Timespec;
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::futex;
use serde::Serialize;
use tinygram_preload::traces::{PythonFrames, SUFFIX, Taken, Traces};
use tinygram_watch::site::{CallSite, PythonThread, Sites, Stack};

/// The file of traces, and the thread that reads it.
pub(crate) struct Traced {
    path: PathBuf,
    map: Arc<MmapMut>,
    is_over: Arc<AtomicBool>,
    reader: RefCell<Option<JoinHandle<Found>>>,
}

/// The results from the traces.
#[derive(Debug, Default)]
pub(crate) struct Found {
    sites: BTreeMap<CallSite, Waited>,
    /// Waits whose line is not known, because the process had ended or shows no function names.
    unnamed: Waited,
}

#[derive(Clone, Debug, Default)]
struct Waited {
    times: u64,
    ns: u64,
    processes: BTreeSet<u32>,
}

/// A line of the program whose writes waited.
#[derive(Debug, Serialize)]
pub(crate) struct StallSite {
    #[serde(flatten)]
    pub(crate) site: CallSite,
    /// How many of its writes waited.
    pub(crate) stalls: u64,
    /// The sum of their waits.
    pub(crate) stalled_ms: f64,
    /// The processes that made them.
    #[serde(skip)]
    pub(crate) processes: BTreeSet<u32>,
}

impl Traced {
    /// Creates the file that belongs to the statistics at `page`. Only this user can read it,
    /// because stacks contain secrets.
    pub(crate) fn create(page: &Path) -> std::io::Result<Self> {
        let mut path = page.as_os_str().to_owned();
        path.push(SUFFIX);
        let path = PathBuf::from(path);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        let map = map(&file).inspect_err(|_| {
            let _ = std::fs::remove_file(&path);
        })?;
        Ok(Self {
            path,
            map: Arc::new(map),
            is_over: Arc::default(),
            reader: RefCell::default(),
        })
    }

    /// Starts reading. Call it in the process that will show the results, because threads do not
    /// survive a fork.
    pub(crate) fn read(&self) {
        let (map, is_over) = (Arc::clone(&self.map), Arc::clone(&self.is_over));
        // Not earlier: what the reader learns about programs stays in its thread.
        let reader = thread::spawn(move || Reader::default().until(&is_over, traces(&map)));
        self.reader.replace(Some(reader));
    }

    /// Ends the reading and returns the results. The file is then removed.
    pub(crate) fn end(&self) -> Found {
        self.remove();
        self.is_over.store(true, SeqCst);
        let Some(reader) = self.reader.take() else {
            return Found::default();
        };
        let traces = traces(&self.map);
        traces.ready.fetch_add(1, SeqCst);
        let _ = futex::wake(&traces.ready, futex::Flags::empty(), 1);
        let mut found = reader.join().unwrap_or_default();
        found.unnamed.times += traces.missed.load(Relaxed);
        found
    }

    /// Removes the file. Processes that have it mapped leave further traces that nobody reads.
    pub(crate) fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Found {
    /// Returns the lines, those with the most waits first.
    pub(crate) fn sites(&self) -> Vec<StallSite> {
        let mut sites: Vec<_> = self
            .sites
            .iter()
            .map(|(site, waited)| StallSite {
                site: site.clone(),
                stalls: waited.times,
                stalled_ms: waited.ns as f64 / 1e6,
                processes: waited.processes.clone(),
            })
            .collect();
        // Equal ones keep their order, which is by name.
        sites.sort_by_key(|site| std::cmp::Reverse(site.stalls));
        sites
    }
}

/// The state of the reading thread.
#[derive(Default)]
struct Reader {
    sites: Sites,
    found: Found,
    read: u64,
}

impl Reader {
    fn until(mut self, is_over: &AtomicBool, traces: &Traces) -> Found {
        loop {
            let seen = traces.ready.load(SeqCst);
            let over = is_over.load(SeqCst);
            self.drain(traces);
            if over {
                return self.found;
            }
            if self.read > AT_ONCE {
                // If a server stalls on every connection, some traces are enough.
                thread::sleep(PAUSE);
            }
            let _ = futex::wait(&traces.ready, futex::Flags::empty(), seen, Some(&ROUND));
        }
    }

    fn drain(&mut self, traces: &Traces) {
        // Names are looked up only after all have been read, so that slots become free first.
        let mut taken = Vec::new();
        traces.drain(|one| taken.push(one));
        for one in taken {
            self.read += 1;
            self.name(one, traces);
        }
        traces.forget_processes(has_ended);
    }

    fn name(&mut self, taken: Taken, traces: &Traces) {
        let [instruction, stack, frame] = taken.registers;
        let stack = Stack {
            pid: taken.pid,
            thread: 0,
            registers: [instruction, stack, frame, 0],
            octets: &taken.octets,
            python: taken.python,
        };
        for thread in self.sites.python_threads(&stack) {
            traces.know_python(frames_of(&thread));
        }
        let waited = match self.sites.of(&stack) {
            Some(site) => self.found.sites.entry(CallSite::clone(&site)).or_default(),
            None => &mut self.found.unnamed,
        };
        waited.times += 1;
        waited.ns += taken.waited_ns;
        waited.processes.insert(taken.pid);
    }
}

/// Returns what the library needs to know of a thread's frames. It is the same, said twice: the library is loaded into
/// programs and names neither `watch` nor what that names, and `watch` has no use for the library.
fn frames_of(thread: &PythonThread) -> PythonFrames {
    PythonFrames {
        thread: thread.thread,
        state: thread.state,
        current: thread.current,
        indirect: thread.indirect,
        code: thread.code,
        previous: thread.previous,
        instruction: thread.instruction,
    }
}

fn has_ended(pid: u32) -> bool {
    let asked = Pid::from_raw(pid as i32).map(rustix::process::test_kill_process);
    asked == Some(Err(Errno::SRCH))
}

fn map(file: &File) -> std::io::Result<MmapMut> {
    file.set_len(size_of::<Traces>() as u64)?;
    // SAFETY: the file is ours; other processes that map it write only into slots that they have
    // claimed.
    unsafe { MmapOptions::new().len(size_of::<Traces>()).map_mut(file) }
}

fn traces(map: &MmapMut) -> &Traces {
    // SAFETY: a mapping is aligned to pages and as long as a `Traces`, of which any content is valid.
    unsafe { &*map.as_ptr().cast::<Traces>() }
}

/// The number of traces that are read as they come; later ones are read at intervals.
const AT_ONCE: u64 = 200;
const PAUSE: Duration = Duration::from_millis(100);
/// How often it checks for processes that have ended.
const ROUND: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};
