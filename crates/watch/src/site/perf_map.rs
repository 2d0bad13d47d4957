//! Reads the names of code that a program generated at run time, if it writes them into
//! `/tmp/perf-PID.map`: Node with `--perf-basic-prof`, Java by `jcmd PID Compiler.perfmap` or an
//! agent.
//!
//! The format is that of `tools/perf/Documentation/jit-interface.txt` in Linux: each line has a
//! start, a size (both hexadecimal) and a name. The file grows while it is read, so its last line
//! may be incomplete. The JDK writes `0x` before its numbers. Lines that cannot be parsed are
//! skipped.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

use super::StackFrame;

/// The maps of the processes that were asked for.
#[derive(Default)]
pub(super) struct PerfMaps {
    known: HashMap<u32, PerfMap>,
}

#[derive(Default)]
pub(super) struct PerfMap {
    /// The file's number in its file system, and how much of it has been read.
    inode: u64,
    read: u64,
    /// The functions by their start: the length, and the name. A later line replaces an earlier
    /// one.
    functions: BTreeMap<u64, (u64, String)>,
}

impl PerfMaps {
    /// Returns the current map of `pid`. Code is moved and thrown away while a program runs, so the
    /// function at an address may have changed since the last call.
    pub(super) fn of(&mut self, pid: u32) -> &PerfMap {
        if self.known.len() >= MOST_MAPS && !self.known.contains_key(&pid) {
            self.known.clear();
        }
        let map = self.known.entry(pid).or_default();
        map.read_on(pid);
        map
    }

    /// Forgets the map of `pid`, because another program now runs there.
    pub(super) fn forget(&mut self, pid: u32) {
        self.known.remove(&pid);
    }
}

impl PerfMap {
    /// Returns the function at `address`; `None` if the map has none.
    pub(super) fn frame(&self, address: u64) -> Option<StackFrame> {
        self.name(address).map(frame)
    }

    fn name(&self, address: u64) -> Option<&str> {
        let (start, (length, name)) = self.functions.range(..=address).next_back()?;
        (address - start < *length).then_some(name)
    }

    /// Reads what has been added since the last time. If the process has ended, the map stays as it
    /// is.
    fn read_on(&mut self, pid: u32) {
        let Some((mut file, inode, length)) = open(pid) else {
            return;
        };
        if inode != self.inode || length < self.read {
            *self = Self {
                inode,
                ..Self::default()
            };
        }
        let mut text = Vec::new();
        let added = file
            .seek(SeekFrom::Start(self.read))
            .and_then(|_| file.take(MOST_OCTETS).read_to_end(&mut text));
        let whole = text.iter().rposition(|&octet| octet == b'\n');
        if let (Ok(_), Some(end)) = (added, whole) {
            self.read += end as u64 + 1;
            self.add(&text[..end]);
        }
    }

    fn add(&mut self, text: &[u8]) {
        for line in text.split(|&octet| octet == b'\n') {
            if let Some((start, length, name)) = function(&String::from_utf8_lossy(line)) {
                // The functions that were there before are gone.
                let covered = self.functions.range(start..start.saturating_add(length));
                for old in covered.map(|(&at, _)| at).collect::<Vec<_>>() {
                    self.functions.remove(&old);
                }
                self.functions.insert(start, (length, name.to_owned()));
            }
        }
    }
}

/// Opens the map of `pid` in the process's own file system. Its name has the process ID in the
/// process's own namespace.
fn open(pid: u32) -> Option<(File, u64, u64)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NStgid:"));
    let own = numbers.and_then(|numbers| numbers.split_whitespace().next_back());
    let own = own.map_or_else(|| pid.to_string(), str::to_owned);
    let mut options = OpenOptions::new();
    // Anybody may put a file there, so a pipe must not make this wait, and a link must not lead
    // elsewhere.
    options
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW);
    let file = options
        .open(format!("/proc/{pid}/root/tmp/perf-{own}.map"))
        .ok()?;
    let about = file.metadata().ok()?;
    about.is_file().then(|| (file, about.ino(), about.len()))
}

/// Returns start, length and name.
fn function(line: &str) -> Option<(u64, u64, &str)> {
    let mut words = line.splitn(3, ' ');
    let mut number = || {
        let word = words.next()?;
        u64::from_str_radix(word.trim_start_matches("0x"), 16).ok()
    };
    let (start, length) = (number()?, number()?);
    let name = words.next()?.trim();
    (!name.is_empty()).then_some((start, length, name))
}

/// Returns the frame for a name. V8 writes the file and the place where a function begins; the JDK
/// writes the signature.
fn frame(name: &str) -> StackFrame {
    v8(name)
        .or_else(|| java(name))
        .unwrap_or_else(|| StackFrame {
            function: name.to_owned(),
            file: None,
            line: None,
            is_library: true,
        })
}

/// `JS:~ask /srv/app.js:2:13`; the mark after the colon says how it was compiled.
fn v8(name: &str) -> Option<StackFrame> {
    let (kind, rest) = name.split_once(':')?;
    if !["JS", "LazyCompile", "Function", "Eval", "Script"].contains(&kind) {
        return None;
    }
    let rest = rest.trim_start_matches(['~', '^', '+', '*', '\'']);
    let (function, place) = rest.split_once(' ')?;
    let mut parts = place.rsplitn(3, ':');
    let (_column, line, file) = (parts.next()?, parts.next()?, parts.next()?);
    let function = match function {
        "" => "(anonymous)",
        function => function,
    };
    Some(StackFrame {
        function: function.to_owned(),
        file: Some(file.trim_start_matches("file://").to_owned()),
        line: line.parse().ok(),
        is_library: file.starts_with("node:") || file.contains("/node_modules/"),
    })
}

/// `void Shop.ask(java.io.OutputStream, java.io.InputStream)`.
fn java(name: &str) -> Option<StackFrame> {
    let (head, _) = name.split_once('(')?;
    let function = head.rsplit(' ').next()?;
    let is_library = JAVA_LIBRARIES
        .iter()
        .any(|package| function.starts_with(package));
    (function.contains('.') && !name.contains("::")).then(|| StackFrame {
        function: function.to_owned(),
        file: None,
        line: None,
        is_library,
    })
}

const JAVA_LIBRARIES: [&str; 7] = [
    "java.", "javax.", "jdk.", "sun.", "com.sun.", "kotlin.", "scala.",
];
const MOST_MAPS: usize = 24;
/// How much is read at one time; the map of a large program has some megabytes.
const MOST_OCTETS: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn shown(name: &str) -> (String, Option<String>, Option<u32>, bool) {
        let frame = frame(name);
        (frame.function, frame.file, frame.line, frame.is_library)
    }

    #[test]
    fn names_of_v8_have_file_and_line() {
        let own = (
            "ask".to_owned(),
            Some("/srv/my app.js".to_owned()),
            Some(2),
            false,
        );
        assert_eq!(shown("JS:~ask /srv/my app.js:2:13"), own);
        assert_eq!(shown("LazyCompile:*ask /srv/my app.js:2:13"), own);
        assert_eq!(shown("JS:^ask file:///srv/my app.js:2:13"), own);
        assert_eq!(shown("JS:~ /srv/app.js:3:33").0, "(anonymous)");
        assert!(shown("JS:^Writable.write node:internal/streams/writable:334:36").3);
        assert!(shown("JS:*send /srv/node_modules/ws/lib/sender.js:1:2").3);
        assert!(shown("BytecodeHandler:LdaZero").3);
    }

    #[test]
    fn names_of_the_jdk_are_methods() {
        let (function, _, _, is_library) = shown("void Shop.ask(java.io.OutputStream, int)");
        assert_eq!((function.as_str(), is_library), ("Shop.ask", false));
        assert!(shown("int java.lang.Object.hashCode()").3);
        assert!(shown("Interpreter").3);
        assert!(shown("StubRoutines::call_stub").3);
    }

    /// A half-written line is ignored until it is complete; a later line replaces an earlier one.
    #[test]
    fn a_map_that_grows_is_read_on() {
        let mut map = PerfMap::default();
        map.add(b"1000 20 first\nnonsense\n0x2000 0x10 second");
        assert_eq!(map.name(0x1000), Some("first"));
        assert_eq!(map.name(0x101f), Some("first"));
        assert_eq!(map.name(0x1020), None);
        assert_eq!(map.name(0x200f), Some("second"));
        map.add(b"1000 8 other");
        assert_eq!(map.name(0x1007), Some("other"));
        assert_eq!(map.name(0x1008), None);
        assert_eq!(map.name(0xfff), None);
        map.add(b"ffc 10 over it");
        assert_eq!(map.name(0x1007), Some("over it"));
    }

    #[test]
    fn a_map_is_found_where_its_process_writes_it() {
        let pid = std::process::id();
        let path = format!("/tmp/perf-{pid}.map");
        let mut maps = PerfMaps::default();
        fs::write(&path, "5000 10 JS:~ask /a.js:1:1\n6000 10 JS:~half").expect("a map");
        let first = maps.of(pid).frame(0x5004).map(|frame| frame.function);
        let half = maps.of(pid).frame(0x6004);
        fs::write(
            &path,
            "5000 10 JS:~ask /a.js:1:1\n6000 10 JS:~half /a.js:2:1\n",
        )
        .expect("a map");
        let whole = maps.of(pid).frame(0x6004).map(|frame| frame.function);
        let mut file = OpenOptions::new().append(true).open(&path).expect("a map");
        file.write_all(b"5000 10 JS:~moved /a.js:3:1\n")
            .expect("a line");
        let moved = maps.of(pid).frame(0x5004).map(|frame| frame.function);
        fs::remove_file(&path).expect("the map");
        assert_eq!(first.as_deref(), Some("ask"));
        assert_eq!(half, None);
        assert_eq!(whole.as_deref(), Some("half"));
        assert_eq!(moved.as_deref(), Some("moved"));
        assert_eq!(
            maps.of(pid).frame(0x6000).map(|frame| frame.line),
            Some(Some(2))
        );
    }
}
