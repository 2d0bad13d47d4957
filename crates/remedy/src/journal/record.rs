//! A line of the journal: a checksum and a JSON document.

use serde::{Deserialize, Serialize};
use tinygram_host::hand::Raw;
use tinygram_host::route::RouteKey;
use tinygram_host::tunable::Tunable;

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Record {
    /// A change begins: what it is, and whose.
    Begin {
        id: u64,
        #[serde(flatten)]
        about: About,
    },
    /// These sockets are changed next; the value that each had.
    Sockets { id: u64, before: Vec<(u64, Raw)> },
    /// A change that was undone leaves a socket to a later one, with the value that it had at first.
    Handed { to: u64, before: Vec<(u64, Raw)> },
    /// These sockets are not of the change: they were announced and not changed, or are closed.
    Unchanged { id: u64, sockets: Vec<u64> },
    /// The knob of this place is changed next; the value that it has, or that it had at first.
    Knob {
        id: u64,
        place: JournalPlace,
        before: Raw,
    },
    /// The process that made the change undoes it then, in seconds since the epoch, if it is not stopped before.
    Until { id: u64, at: u64 },
    /// The change was undone.
    Undone { id: u64, at: u64 },
}

impl Record {
    /// Returns one, and one for each socket in it.
    pub(super) fn entries(&self) -> usize {
        1 + match self {
            Self::Sockets { before, .. } | Self::Handed { before, .. } => before.len(),
            Self::Unchanged { sockets, .. } => sockets.len(),
            Self::Begin { .. } | Self::Knob { .. } | Self::Until { .. } | Self::Undone { .. } => 0,
        }
    }
}

/// What is known of a change when it begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The boot in which it was made: `/proc/sys/kernel/random/boot_id`.
    pub boot: String,
    /// The inode of the network namespace.
    pub netns: u32,
    /// When it was made, in seconds since the epoch.
    pub at: u64,
    /// Who made it.
    pub who: Who,
    /// The command.
    pub why: String,
    /// The option or knob.
    pub option: Tunable,
    /// The value that was set.
    pub to: Raw,
    /// Whether the process that made it was to undo it by itself.
    pub is_temporary: bool,
}

/// Where a knob is: a network namespace or one of its routes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct JournalPlace {
    /// The namespace, by the kernel's number that no other has until the machine is started anew.
    pub netns_cookie: u64,
    /// The route, if it is a route's knob.
    pub route: Option<RouteKey>,
}

/// The process that made a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Who {
    /// Its process ID.
    pub pid: u32,
    /// When it began, in the kernel's ticks: another process may have the same ID.
    pub started: u64,
    /// The user, by number.
    pub uid: u32,
}

/// Returns the line of a record.
pub(super) fn encode(record: &Record) -> Vec<u8> {
    let text = serde_json::to_string(record).expect("plain data");
    format!("{:08x} {text}\n", crc32fast::hash(text.as_bytes())).into_bytes()
}

/// Reads a line without its end; `None` if it is damaged.
pub(super) fn decode(line: &[u8]) -> Option<Record> {
    let line = std::str::from_utf8(line).ok()?;
    let (sum, text) = line.split_at_checked(8)?;
    let text = text.strip_prefix(' ')?;
    let sum = u32::from_str_radix(sum, 16).ok()?;
    (sum == crc32fast::hash(text.as_bytes())).then(|| serde_json::from_str(text).ok())?
}
