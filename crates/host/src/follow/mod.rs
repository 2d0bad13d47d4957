//! Connections to come: reports each that is opened, and sets its options once the caller has written down what it had.
//!
//! A sockops program at the root of the control groups (`bpf/follow.bpf.c`) sees each connection when it is
//! established. What [`Follow::approve`] is told is set at the connection's next sample of its round-trip time, if
//! the values are still those that were reported. A connection that only receives has no such sample: for those the
//! caller uses the [`Hand`](crate::hand::Hand).

mod record;
mod rules;

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use aya::Ebpf;
use aya::maps::{Array, HashMap, MapData};

use crate::hand::{ChangeOutcome, Did, Raw, Setting, SocketOption, argument};
use crate::lacking::Lacking;
use crate::programs::{Programs, attach_to_groups};
use crate::record::read;
use crate::ring::Ring;
use crate::ssh::{Ends, Ssh};
use record::{EventRecord, MOST_PEERS, MOST_SETTINGS, Order, PeerRecord, SettingRecord};
pub use rules::{Rule, Rules};

/// The attached program. Dropping it detaches it; what was set stays set.
pub struct Follow {
    events: Ring,
    approved: HashMap<MapData, u64, u32>,
    settings: Vec<Setting>,
    /// What is known of SSH, if its connections are left alone.
    leaves: Option<Ssh>,
    _object: Ebpf,
}

/// What the program saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowEvent {
    /// A connection was opened.
    Opened {
        /// The socket.
        cookie: u64,
        /// The inode of its network namespace.
        netns: u32,
        /// What it has for each option that is to be set.
        before: BTreeMap<SocketOption, Raw>,
    },
    /// The options of an approved connection were set, or not: an outcome for each.
    Done {
        /// The inode of its network namespace.
        netns: u32,
        /// When, in nanoseconds of the kernel's monotonic clock.
        at_ns: u64,
        /// The outcomes.
        outcomes: Vec<(SocketOption, ChangeOutcome)>,
    },
    /// A connection that was reported is closed.
    Closed {
        /// The socket.
        cookie: u64,
    },
}

impl Follow {
    /// Attaches the program.
    ///
    /// # Errors
    ///
    /// Returns what the kernel or the privileges lack, in one line.
    pub fn open(rules: &Rules, settings: &[Setting]) -> Result<Self, Lacking> {
        if rules.peers.len() > MOST_PEERS {
            return Err(Lacking::Other(format!(
                "{} other ends: accepted are up to {MOST_PEERS} where connections to come are followed",
                rules.peers.len()
            )));
        }
        if rules.all.len() > MOST_RULES {
            return Err(Lacking::Other(format!(
                "{} services to follow: accepted are up to {MOST_RULES}",
                rules.all.len()
            )));
        }
        if let Some(by_descriptor) = settings.iter().find(|one| one.option.takes_descriptor()) {
            return Err(Lacking::Other(format!(
                "{by_descriptor} cannot be given to connections to come"
            )));
        }
        let mut programs = Programs::load(OBJECT)?;
        let mut order: Array<MapData, Order> = programs.map("order")?;
        let mut table: HashMap<MapData, record::RuleRecord, u32> = programs.map("rules")?;
        order
            .set(0, order_of(rules, settings), 0)
            .map_err(|error| Lacking::of(&error))?;
        for rule in &rules.all {
            table
                .insert(rule.record(), 1, 0)
                .map_err(|error| Lacking::of(&error))?;
        }
        attach_to_groups(
            &mut programs.object,
            "follow",
            "following connections to come",
        )?;
        Ok(Self {
            events: Ring::of(&mut programs, "events", "unreported")?,
            approved: programs.map("approved")?,
            settings: settings.to_vec(),
            leaves: rules.leaves.clone(),
            _object: programs.object,
        })
    }

    /// Passes what happened since the last call to `each`. If nothing has, waits for at most `patience`; only a connection that
    /// is opened ends the wait before that.
    pub fn poll(&mut self, patience: Duration, mut each: impl FnMut(FollowEvent)) {
        let (settings, leaves) = (&self.settings, &mut self.leaves);
        self.events.poll(patience, |octets| {
            let Some(record) = read::<EventRecord>(octets) else {
                return;
            };
            match (record.event, &mut *leaves) {
                (record::LISTENS, Some(ssh)) => {
                    ssh.listens(record.netns, record.local_port, record.program());
                }
                (record::LISTENS, None) => {}
                (record::OPENED, Some(ssh))
                    if record.by_process == 0 && ssh.has(ends_of(&record)) => {}
                _ => each(event(&record, settings)),
            }
        });
    }

    /// Lets the program set this connection's options from now on.
    ///
    /// # Errors
    ///
    /// Returns what the kernel refuses.
    pub fn approve(&mut self, cookie: u64) -> io::Result<()> {
        let inserted = self.approved.insert(cookie, 1, 0);
        inserted.map_err(io::Error::other)
    }

    /// Takes an approval back; there may be none.
    pub fn forget(&mut self, cookie: u64) {
        let _ = self.approved.remove(&cookie);
    }

    /// Returns how many connections could not be reported since the start.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.events.lost(BEGINNINGS)
    }

    /// Returns of how many that were reported the end could not be.
    #[must_use]
    pub fn lost_ends(&self) -> u64 {
        self.events.lost(ENDS)
    }
}

fn order_of(rules: &Rules, settings: &[Setting]) -> Order {
    let mut order = Order {
        setting_count: u32::try_from(settings.len()).expect("an option each"),
        peer_count: u32::try_from(rules.peers.len()).expect("a few"),
        ..Order::default()
    };
    for (slot, setting) in order.settings.iter_mut().zip(settings) {
        *slot = SettingRecord {
            to: setting.value,
            option: setting.option.number(),
            argument: argument(setting.option, &setting.value),
        };
    }
    for (slot, peer) in order.peers.iter_mut().zip(&rules.peers) {
        let (address, mask) = peer
            .network
            .map_or(([0; 16], [0; 16]), |(address, length)| {
                let length = match address.is_ipv4() {
                    true => u32::from(length.min(32)) + 96,
                    false => u32::from(length.min(128)),
                };
                let mask = u128::MAX
                    .checked_shl(128 - length)
                    .unwrap_or(0)
                    .to_be_bytes();
                let mut octets = rules::octets(address);
                for (octet, mask) in octets.iter_mut().zip(mask) {
                    *octet &= mask;
                }
                (octets, mask)
            });
        *slot = PeerRecord {
            address,
            mask,
            port: peer.port.unwrap_or(0),
            unused: [0; 3],
        };
    }
    order
}

fn ends_of(record: &EventRecord) -> Ends<'_, impl Iterator<Item = &str>> {
    Ends {
        netns: record.netns,
        local_port: record.local_port,
        remote_port: record.remote_port,
        programs: std::iter::once(record.program()),
    }
}

fn event(record: &EventRecord, settings: &[Setting]) -> FollowEvent {
    let (cookie, netns) = (record.cookie, record.netns);
    let options = settings.iter().enumerate();
    if record.event == record::CLOSED {
        return FollowEvent::Closed { cookie };
    }
    if record.event == record::OPENED {
        let before = options.map(|(index, setting)| (setting.option, record.values[index]));
        return FollowEvent::Opened {
            cookie,
            netns,
            before: before.collect(),
        };
    }
    let outcomes = options.map(|(index, setting)| {
        let before = record.values[index];
        let did = Did::of(record.results[index], record.errors[index]);
        let outcome = ChangeOutcome {
            cookie,
            before,
            after: if did == Did::Set {
                setting.value
            } else {
                before
            },
            did,
        };
        (setting.option, outcome)
    });
    FollowEvent::Done {
        netns,
        at_ns: record.at_ns,
        outcomes: outcomes.collect(),
    }
}

/// Each option at most once, but for the one that takes a descriptor.
const _: () = assert!(SocketOption::ALL.len() - 1 <= MOST_SETTINGS);
/// What the map `unreported` counts.
const BEGINNINGS: u32 = 0;
const ENDS: u32 = 1;
/// `MOST_RULES` of `follow.bpf.c`.
const MOST_RULES: usize = 4096;

static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/follow.bpf.o");
