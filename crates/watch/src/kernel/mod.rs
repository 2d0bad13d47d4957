//! The kernel as a source. BPF programs at its own tracepoints (`bpf/watch.bpf.c`) report when a
//! short segment is held back, why, by whose write, and until when.
//!
//! The programs are attached by links that only this process holds, so they end with it, however it
//! ends. The object is built beforehand (`crates/host/bpf/build`) and is adapted to the running kernel
//! by that kernel's own type information (BTF).

mod counts;
mod record;
pub mod recording;

use std::collections::VecDeque;
use std::time::Duration;

use aya::maps::{HashMap, Map, MapData, PerCpuArray, RingBuf};
use aya::{Btf, Ebpf, EbpfLoader};

pub use tinygram_host::lacking::Lacking;

use crate::event::{Event, Site};
use crate::seen::{Seen, SeenEnd};
use crate::site::{Prepared, Sites};
use tinygram_host::calls::{Calls, attach, has_tracepoint};
use tinygram_host::clock::{clock_ns, moved_ns, tick};
use tinygram_host::ready;
use tinygram_stalls::thresholds::{REPORTED_HOLD_NS, REPORTED_LATE_ACK_NS};

/// The tracepoints at which writes are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hooks {
    /// The end of a write: `sock_send_length`, Linux 6.3; on 6.1 the return of the kernel's function.
    WriteEnd,
    /// Also the beginning of a write: `tcp_sendmsg_locked`, Linux 6.16.
    WriteBegin,
}

impl Hooks {
    /// Returns the name on the command line and in the output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::WriteEnd => "write-end",
            Self::WriteBegin => "write-begin",
        }
    }
}

/// The options of the source.
#[derive(Clone, Debug)]
pub struct SourceOptions {
    /// The tracepoints; if `None`, the best that the kernel has.
    pub hooks: Option<Hooks>,
    /// Shorter holds are counted and not reported one by one.
    pub least_hold: Duration,
    /// Watches only this process and its descendants, and also reports whether their threads sleep.
    pub tree: Option<u32>,
    /// How many stacks are copied in each second on each processor, to find the call sites of held
    /// writes; 0 copies none. An eighth of them may come from sockets that were not held before.
    pub stacks: u32,
    /// Counts what is seen for each connection, too: see [`Source::sights`]. Each write costs a little more.
    pub by_connection: bool,
}

impl Default for SourceOptions {
    fn default() -> Self {
        Self {
            hooks: None,
            least_hold: Duration::from_nanos(REPORTED_HOLD_NS.unsigned_abs()),
            tree: None,
            stacks: 32,
            by_connection: false,
        }
    }
}

/// The attached programs. Dropping it detaches them.
pub struct Source {
    ring: RingBuf<MapData>,
    lost: PerCpuArray<MapData, u64>,
    counts: counts::Counts,
    pythons: HashMap<MapData, u32, record::PythonRecord>,
    sites: Sites,
    hooks: Hooks,
    sees_timers: bool,
    recorder: Option<recording::Recorder<Box<dyn std::io::Write + Send>>>,
    epoch_ns: i64,
    moved_ns: i64,
    _programs: Ebpf,
}

impl Source {
    /// Loads and attaches the programs.
    ///
    /// # Errors
    ///
    /// Returns what the kernel or the privileges lack, in one line with what would help.
    pub fn open(options: &SourceOptions) -> Result<Self, Lacking> {
        let btf = Btf::from_sys_fs().map_err(|_| Lacking::types())?;
        let calls = Calls::of(&btf)?;
        let hooks = choose(options.hooks, &btf)?;
        let delack_timer = options
            .tree
            .and_then(|_| function(DELACK_TIMER))
            .unwrap_or(0);
        let socket_waiter = options
            .tree
            .and_then(|_| function(SOCKET_WAITER))
            .unwrap_or(0);
        let sees_timers = delack_timer != 0 && has_tracepoint(&btf, TIMER_TRACEPOINT.1);
        let mut programs = EbpfLoader::new()
            .btf(Some(&btf))
            .allow_unsupported_maps()
            .override_global("least_hold_ns", &nanoseconds(options.least_hold), true)
            .override_global("least_late_ack_ns", &nanoseconds(least_late_ack()), true)
            .override_global("least_late_ack_jiffies", &jiffies(least_late_ack()), true)
            .override_global("tick_us", &tick_us(), true)
            .override_global("delack_timer", &delack_timer, true)
            .override_global("socket_waiter", &socket_waiter, true)
            .override_global("most_stacks", &options.stacks, true)
            .override_global("by_connection", &u8::from(options.by_connection), true)
            .override_global("tree_only", &u8::from(options.tree.is_some()), true)
            .load(OBJECT)
            .map_err(|error| Lacking::of(&error))?;
        if let Some(process) = options.tree {
            plant(&mut programs, process)?;
        }
        let some = match options.tree {
            Some(_) => &TREE_TRACEPOINTS[..],
            None => &HOST_TRACEPOINTS,
        };
        for (program, tracepoint) in some {
            attach(&mut programs, program, tracepoint, &btf)?;
        }
        let at_calls = match calls {
            Calls::Tracepoints => &CALL_TRACEPOINTS[..],
            Calls::Returns => &CALL_RETURNS,
        };
        for (program, at) in TRACEPOINTS.iter().chain(at_calls) {
            attach(&mut programs, program, at, &btf)?;
        }
        if sees_timers {
            let (program, tracepoint) = TIMER_TRACEPOINT;
            attach(&mut programs, program, tracepoint, &btf)?;
        }
        if hooks == Hooks::WriteBegin {
            attach(&mut programs, "write_goes_on", WRITE_BEGIN, &btf)?;
        }
        let ring = take(&mut programs, "events")?;
        let moved_ns = moved_ns();
        let lost = take(&mut programs, "lost")?;
        let counts =
            counts::Counts::new(take(&mut programs, ".bss")?, take(&mut programs, "seen")?);
        let pythons = take(&mut programs, "pythons")?;
        Ok(Self {
            ring: RingBuf::try_from(ring).map_err(|error| Lacking::of(&error))?,
            lost: PerCpuArray::try_from(lost).map_err(|error| Lacking::of(&error))?,
            counts: counts.map_err(|error| Lacking::of(&error))?,
            pythons: HashMap::try_from(pythons).map_err(|error| Lacking::of(&error))?,
            sites: Sites::default(),
            hooks,
            sees_timers,
            recorder: None,
            epoch_ns: epoch_ns(moved_ns),
            moved_ns,
            _programs: programs,
        })
    }

    /// Returns the tracepoints in use.
    #[must_use]
    pub fn hooks(&self) -> Hooks {
        self.hooks
    }

    /// Writes what the kernel says from now on to a recording, too, until writing fails.
    ///
    /// # Errors
    ///
    /// Returns what writing its beginning returns.
    pub fn record(&mut self, into: Box<dyn std::io::Write + Send>) -> std::io::Result<()> {
        self.recorder = Some(recording::Recorder::begin(
            into,
            self.sees_timers,
            self.epoch_ns,
        )?);
        Ok(())
    }

    /// Returns whether timers of delayed acknowledgments are reported ([`Event::DelayedAck`]): if a
    /// process tree is watched, and the kernel says where its function is.
    #[must_use]
    pub fn sees_timers(&self) -> bool {
        self.sees_timers
    }

    /// Passes the events since the last call to `each`. If there are none yet, it waits for at most
    /// `patience`.
    pub fn poll(&mut self, patience: Duration, mut each: impl FnMut(Event)) {
        // The two clocks drift apart, and one of them may be set.
        self.epoch_ns = epoch_ns(self.moved_ns);
        ready::wait(&self.ring, patience);
        let namer = self.sites.namer();
        let mut waiting = VecDeque::new();
        loop {
            self.drain(&mut waiting);
            match waiting.pop_front() {
                Some(Waiting::Event(event)) => each(event),
                Some(Waiting::Stack { record, prepared }) => {
                    let of_hold = record::stack(&record).expect("it was one");
                    // Other processes end meanwhile: what only they show is read before.
                    let call = namer.site(&of_hold.stack, prepared, || self.drain(&mut waiting));
                    if let Some(call) = call {
                        each(Event::Site(Site {
                            cookie: of_hold.cookie,
                            serial: of_hold.serial,
                            call,
                        }));
                    }
                }
                None => break,
            }
        }
    }

    /// Reads what is in the ring, and of each process with a stack what only the running process shows.
    fn drain(&mut self, into: &mut VecDeque<Waiting>) {
        while let Some(record) = self.ring.next() {
            if let Some(recorder) = &mut self.recorder
                && recorder.add(&record).is_err()
            {
                self.recorder = None;
            }
            if let Some(event) = record::decode(&record, self.epoch_ns) {
                into.push_back(Waiting::Event(event));
            } else if record::stack(&record).is_some() {
                let record = record.to_vec();
                let prepared = prepare(&mut self.sites, &mut self.pythons, &record);
                into.push_back(Waiting::Stack { record, prepared });
            } else {
                self.counts.take(&record);
            }
        }
    }

    /// Returns how much was seen of all connections since the start.
    #[must_use]
    pub fn seen(&self) -> Seen {
        self.counts.totals()
    }

    /// Returns the connections that were first written to, or that ended, since the last call; none without
    /// [`SourceOptions::by_connection`].
    pub fn sights(&mut self) -> Vec<SeenEnd> {
        self.counts.news()
    }

    /// Returns the connections that were written to and have not ended.
    #[must_use]
    pub fn open_sights(&self) -> Vec<SeenEnd> {
        self.counts.open()
    }

    /// Returns how many events found no room since the start.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let counts = self.lost.get(&0, 0);
        counts.map_or(0, |counts| counts.iter().sum())
    }
}

/// What was read from the ring and has not been passed on.
enum Waiting {
    Event(Event),
    Stack { record: Vec<u8>, prepared: Prepared },
}

/// Reads what only the running process of a stack shows. From now on the frames of its threads are copied if it runs
/// Python.
fn prepare(
    sites: &mut Sites,
    pythons: &mut HashMap<MapData, u32, record::PythonRecord>,
    record: &[u8],
) -> Prepared {
    let of_hold = record::stack(record).expect("a stack");
    for thread in sites.python_threads(&of_hold.stack) {
        // A full map forgets the oldest; without an entry there are just no frames.
        let record = record::PythonRecord::from(thread);
        let _ = pythons.insert(thread.thread, record, 0);
    }
    sites.prepare(&of_hold.stack)
}

/// Returns the tracepoints to use, from the ones asked for and the ones that the kernel has.
fn choose(asked: Option<Hooks>, btf: &Btf) -> Result<Hooks, Lacking> {
    match asked {
        Some(Hooks::WriteBegin) if !has_tracepoint(btf, WRITE_BEGIN) => {
            Err(Lacking::Tracepoint(WRITE_BEGIN, "6.16"))
        }
        Some(hooks) => Ok(hooks),
        None => Ok(Hooks::WriteEnd),
    }
}

/// Returns the address of a function of the kernel; `None` if the kernel does not say
/// (`kernel.kptr_restrict`).
fn function(name: &str) -> Option<u64> {
    // Ten megabytes of lines: an address, a letter for the kind, a name.
    let symbols = std::fs::read_to_string("/proc/kallsyms").ok()?;
    let end = memchr::memmem::find(symbols.as_bytes(), format!(" {name}\n").as_bytes())?;
    let line = symbols[..end].lines().next_back()?;
    let address = u64::from_str_radix(line.split_ascii_whitespace().next()?, 16).ok()?;
    (address != 0).then_some(address)
}

/// Makes `process` the root of the watched tree.
fn plant(programs: &mut Ebpf, process: u32) -> Result<(), Lacking> {
    // The map is borrowed and not taken, because the programs are loaded with it afterwards.
    let missing = || Lacking::Other("tree is not in the object".to_owned());
    let tree = programs.map_mut("tree").ok_or_else(missing)?;
    let mut tree: HashMap<&mut MapData, u32, u8> =
        HashMap::try_from(tree).map_err(|error| Lacking::of(&error))?;
    tree.insert(process, 1, 0)
        .map_err(|error| Lacking::of(&error))
}

fn take(programs: &mut Ebpf, map: &'static str) -> Result<Map, Lacking> {
    let missing = || Lacking::Other(format!("{map} is not in the object"));
    programs.take_map(map).ok_or_else(missing)
}

/// Returns after how long an acknowledgment is late.
fn least_late_ack() -> Duration {
    Duration::from_nanos(REPORTED_LATE_ACK_NS.unsigned_abs())
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the length of a tick of the kernel's coarse clock, in microseconds.
fn tick_us() -> u32 {
    u32::try_from(tick().as_micros()).unwrap_or(u32::MAX)
}

/// Returns how many ticks of the kernel's coarse clock are at least as long as `time`.
fn jiffies(time: Duration) -> u32 {
    let ticks = time.as_nanos().div_ceil(tick().as_nanos());
    u32::try_from(ticks).unwrap_or(u32::MAX)
}

/// Returns the difference between the time since the epoch and the kernel's monotonic clock, which this process sees
/// moved by `moved_ns`.
fn epoch_ns(moved_ns: i64) -> i64 {
    clock_ns(libc::CLOCK_REALTIME) - clock_ns(libc::CLOCK_MONOTONIC) + moved_ns
}

/// Each program with its tracepoint, in the order in which they are attached.
const TRACEPOINTS: [(&str, &str); 2] = [
    ("segment_leaves", "net_dev_queue"),
    ("socket_ends", "tcp_destroy_sock"),
];
/// Those that see where calls end.
const CALL_TRACEPOINTS: [(&str, &str); 2] = [
    ("read_ended", "sock_recv_length"),
    ("write_ended", "sock_send_length"),
];
/// The same, each with the kernel's function.
const CALL_RETURNS: [(&str, &str); 3] = [
    ("recvmsg_returns", "tcp_recvmsg"),
    ("sendpage_returns", "tcp_sendpage"),
    ("sendmsg_returns", "tcp_sendmsg"),
];
/// The additional tracepoints for a process tree.
const TREE_TRACEPOINTS: [(&str, &str); 2] = [
    ("process_forks", "sched_process_fork"),
    ("thread_sleeps", "sched_switch"),
];
/// The additional tracepoint for all other processes.
const HOST_TRACEPOINTS: [(&str, &str); 1] = [("state_changes", "inet_sock_set_state")];
/// The additional tracepoint that shows a receiver's timers, and the kernel's function for them.
const TIMER_TRACEPOINT: (&str, &str) = ("acknowledgment_is_due", "timer_expire_entry");
const DELACK_TIMER: &str = "tcp_delack_timer";
/// What wakes a thread that sleeps in a read of a socket.
const SOCKET_WAITER: &str = "woken_wake_function";
const WRITE_BEGIN: &str = "tcp_sendmsg_locked";

static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/watch.bpf.o");
