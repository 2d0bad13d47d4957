//! A running process that `tinygram run` covers: what the rule in it shows, and the one setting that
//! can be changed while it runs.
//!
//! Both are accessed through the process's memory, which leaves nothing behind and needs the same
//! privilege as reading its descriptors.

// The rule is put into Go and static programs on x86-64 only.
#[cfg_attr(not(target_arch = "x86_64"), path = "covered/elsewhere.rs")]
mod grafted;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use object::{Object, ObjectSymbol};
use serde::Serialize;
use tinygram_coalesce::Policy;
use tinygram_preload::live::{Live, MAGIC, POLICY_AT, SYMBOL};

use grafted::Grafted;

/// Returns whether a file name is that of the library, of any version.
fn is_the_library(name: &str) -> bool {
    name == "libtinygram.so" || (name.starts_with("libtinygram-") && name.ends_with(".so"))
}

/// The rule in a process.
pub(crate) struct Covered {
    memory: PathBuf,
    by: By,
}

/// How it came there, and where its state is.
enum By {
    /// The library was loaded: the address of its [`Live`].
    Library(u64),
    /// It was put into a Go or static program.
    Graft(Grafted),
}

/// What the library shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct State {
    pub(crate) policy: &'static str,
    pub(crate) writes_held: u64,
    pub(crate) writes_merged: u64,
    pub(crate) watchdog_rescues: u64,
    pub(crate) went_over_to_nodelay: u64,
    /// Services (ports) whose writes pass, because holding was measured to be worse.
    pub(crate) services_over_to_nodelay: u64,
    /// Writes that passed for this reason, or in a trial.
    pub(crate) writes_passed_by_trial: u64,
}

impl Covered {
    /// Returns the rule in process `pid`; `None` if it is not there, or did not start.
    pub(crate) fn find(pid: u32) -> io::Result<Option<Self>> {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
        let line = maps.lines().find(|line| {
            let path = line.split_whitespace().nth(5).unwrap_or_default();
            let name = path.rsplit('/').next().unwrap_or_default();
            is_the_library(name) && line.split_whitespace().nth(2) == Some("00000000")
        });
        let memory = PathBuf::from(format!("/proc/{pid}/mem"));
        let Some(line) = line else {
            return Ok(Grafted::in_maps(&maps).map(|grafted| Self {
                memory,
                by: By::Graft(grafted),
            }));
        };
        let words: Vec<_> = line.split_whitespace().collect();
        let start = words[0].split('-').next().unwrap_or_default();
        let Ok(base) = u64::from_str_radix(start, 16) else {
            return Ok(None);
        };
        let file =
            fs::read(format!("/proc/{pid}/root{}", words[5])).or_else(|_| fs::read(words[5]))?;
        let offset = object::File::parse(file.as_slice()).ok().and_then(|file| {
            let mut symbols = file.dynamic_symbols();
            symbols
                .find(|symbol| symbol.name() == Ok(SYMBOL))
                .map(|symbol| symbol.address())
        });
        Ok(offset.map(|offset| Self {
            memory,
            by: By::Library(base + offset),
        }))
    }

    /// Returns what the rule shows now; `None` if it has another version, or rests for good.
    pub(crate) fn state(&self) -> io::Result<Option<State>> {
        match &self.by {
            By::Library(address) => self.state_of_the_library(*address),
            By::Graft(grafted) => grafted.state(&File::open(&self.memory)?),
        }
    }

    fn state_of_the_library(&self, address: u64) -> io::Result<Option<State>> {
        let mut bytes = [0_u64; size_of::<Live>() / 8];
        let room = bytes.as_mut_slice();
        // SAFETY: any bytes are valid integers.
        let room = unsafe {
            std::slice::from_raw_parts_mut(room.as_mut_ptr().cast::<u8>(), size_of::<Live>())
        };
        File::open(&self.memory)?.read_exact_at(room, address)?;
        // SAFETY: aligned as its first field, of the same length, and made of integers except for a
        // flag, which is never read as such.
        let live = unsafe { &*bytes.as_ptr().cast::<Live>() };
        let get =
            |count: &std::sync::atomic::AtomicU64| count.load(std::sync::atomic::Ordering::Relaxed);
        Ok((get(&live.magic) == MAGIC).then(|| State {
            policy: live.policy().name(),
            writes_held: get(&live.held),
            writes_merged: get(&live.merged),
            watchdog_rescues: get(&live.rescued),
            went_over_to_nodelay: get(&live.went_over),
            services_over_to_nodelay: get(&live.services_over).count_ones().into(),
            writes_passed_by_trial: get(&live.passed),
        }))
    }

    /// Switches to another policy.
    pub(crate) fn switch(&self, policy: Policy) -> io::Result<()> {
        let memory = OpenOptions::new().write(true).open(&self.memory)?;
        match &self.by {
            By::Library(address) => {
                memory.write_all_at(&[policy as u8], address + POLICY_AT as u64)
            }
            By::Graft(grafted) => grafted.switch(&memory, policy),
        }
    }
}
