//! Packets as a source: reads the packets on the host's interfaces and judges them as `tinygram
//! diagnose` judges a capture. It is for kernels that cannot be asked, and for users who have
//! CAP_NET_RAW alone.
//!
//! Packets do not show what only the kernel knows: what a write waited for before it became a
//! segment, and the call site. The process comes from `/proc`.

mod owners;
mod ring;

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tinygram_diagnose::{
    Analyzer, ConnectionReport, Facts as Measured, Finding as Diagnosed, Kind, Parameters, Side,
};

use tinygram_host::lacking::takes;

use crate::event::{Connection, Reason, Release, Timer};
use crate::finding::{Facts, Finding, Part};
use crate::seen::{Seen, SeenEnd};
use owners::{Owner, Owners, nobody};
use ring::Ring;

/// The open interfaces. Dropping it closes them.
pub struct Source {
    ring: Ring,
    analyzer: Analyzer,
    owners: Owners,
    /// Connections by their number in the analysis.
    cookies: HashMap<u32, u64>,
    /// Findings whose connection was no longer known.
    unplaced: u64,
    seen: Seen,
    sights: Vec<SeenEnd>,
}

/// The reason why packets cannot be read, in one line.
#[derive(Debug, thiserror::Error)]
pub enum NoPackets {
    /// Not allowed.
    #[error("not permitted to read packets: {}", takes(&["CAP_NET_RAW"]))]
    Privilege,
    /// There is no such interface.
    #[error("there is no network interface {0}; `any` is all of them")]
    Interface(String),
    /// Anything else.
    #[error("packets: {0}")]
    Other(io::Error),
}

impl Source {
    /// Opens one interface of this network namespace, or all of them.
    ///
    /// # Errors
    ///
    /// Returns what the privileges lack, or that there is no such interface.
    pub fn open(interface: Option<&str>) -> Result<Self, NoPackets> {
        let ring =
            Ring::open(interface).map_err(|error| match (error.raw_os_error(), interface) {
                (Some(libc::EPERM | libc::EACCES), _) => NoPackets::Privilege,
                (Some(libc::ENODEV | libc::ENXIO), Some(name)) => {
                    NoPackets::Interface(name.to_owned())
                }
                _ => NoPackets::Other(error),
            })?;
        Ok(Self {
            ring,
            analyzer: Analyzer::new(Parameters::default()),
            owners: Owners::default(),
            cookies: HashMap::new(),
            unplaced: 0,
            seen: Seen::default(),
            sights: Vec::new(),
        })
    }

    /// Passes the findings in the packets since the last call to `each`. If there are no packets,
    /// it waits for at most `patience`.
    pub fn poll(&mut self, patience: Duration, mut each: impl FnMut(Finding)) {
        let analyzer = &mut self.analyzer;
        self.ring.poll(patience, |frame| analyzer.frame(frame));
        self.owners.look();
        for (found, connection) in self.analyzer.drain() {
            match connection {
                Some(connection) => each(self.place(&found, &connection)),
                None => self.unplaced += 1,
            }
        }
    }

    /// Judges what is still open, because there will be no more packets.
    pub fn finish(&mut self, mut each: impl FnMut(Finding)) {
        let analyzer = std::mem::replace(&mut self.analyzer, Analyzer::new(Parameters::default()));
        let report = analyzer.finish();
        self.seen = Seen {
            connections: report.summary.connections.into(),
            writes: None,
            segments: report.summary.segments,
            timed: report.summary.sight.timed,
        };
        for connection in &report.connections {
            self.see(connection);
        }
        for found in &report.findings {
            let at = report
                .connections
                .binary_search_by_key(&found.connection, |connection| connection.id);
            match at {
                Ok(at) => each(self.place(found, &report.connections[at])),
                Err(_) => self.unplaced += 1,
            }
        }
    }

    /// Returns how much was seen since the start, once it is finished.
    #[must_use]
    pub fn seen(&self) -> Seen {
        self.seen
    }

    /// Returns the connections that were seen, once it is finished. Of very many, the last.
    pub fn sights(&mut self) -> Vec<SeenEnd> {
        std::mem::take(&mut self.sights)
    }

    /// Adds a connection to what was seen, at each end that is on this host; if none is known to be, as it is.
    fn see(&mut self, connection: &ConnectionReport) {
        let ends = [Side::Server, Side::Client].map(|side| {
            let end = connection.end(side);
            SocketAddr::new(end.address(), end.port)
        });
        let mut owners = Vec::new();
        for (local, remote) in [(ends[0], ends[1]), (ends[1], ends[0])] {
            owners.extend(
                self.owners
                    .of(local, remote)
                    .cloned()
                    .map(|owner| (owner, local, remote)),
            );
        }
        if owners.is_empty() {
            let unknown = Owner {
                writer: nobody(None),
                netns: 0,
            };
            owners.push((unknown, ends[0], ends[1]));
        }
        for (owner, local, remote) in owners {
            self.sights.push(SeenEnd {
                connection: Connection {
                    cookie: connection.id.into(),
                    netns: owner.netns,
                    local,
                    remote,
                    mss: 0,
                    srtt_ns: 0,
                    min_rtt_ns: connection.rtt_ns,
                    accepted: None,
                },
                writer: owner.writer,
                seen: Seen {
                    connections: 1,
                    writes: None,
                    segments: connection.frames.into(),
                    timed: connection.timed.into(),
                },
                at_ns: connection.last_ns,
            });
        }
    }

    /// Returns how many packets found no room in the ring since the start.
    pub fn dropped(&mut self) -> u64 {
        self.ring.dropped()
    }

    /// Returns how many findings could not be reported because their connection was no longer
    /// known.
    #[must_use]
    pub fn unplaced(&self) -> u64 {
        self.unplaced
    }

    /// Returns the finding, seen from this host's end.
    fn place(&mut self, found: &Diagnosed, connection: &ConnectionReport) -> Finding {
        let end = |side: Side| {
            let end = connection.end(side);
            SocketAddr::new(end.address(), end.port)
        };
        let (sender, receiver) = (end(found.sender), end(found.sender.other()));
        let sends = self.owners.of(sender, receiver).cloned();
        let receives = match &sends {
            Some(_) => None,
            None => self.owners.of(receiver, sender).cloned(),
        };
        // If a connection is over or is only forwarded, the finding is reported for the sender's
        // end.
        let part = match (&sends, &receives) {
            (None, Some(_)) => Part::AcknowledgedLate,
            _ => Part::Sent,
        };
        let Owner { writer, netns } = sends.or(receives).unwrap_or_else(|| Owner {
            writer: nobody(None),
            netns: 0,
        });
        let senders = match connection.handshake {
            true => found.sender,
            // Without a SYN the analysis goes by the ports alone; the host knows who listens.
            false => self
                .owners
                .roles(sender, receiver)
                .told()
                .unwrap_or(found.sender),
        };
        let (local, remote, side) = match part {
            Part::Sent => (sender, receiver, senders),
            Part::AcknowledgedLate => (receiver, sender, senders.other()),
        };
        let next = self.cookies.len() as u64 + 1;
        let cookie = *self.cookies.entry(found.connection).or_insert(next);
        if self.cookies.len() >= MOST_COOKIES {
            self.cookies.clear();
        }
        Finding {
            kind: found.kind,
            tier: found.tier(),
            part,
            connection: Connection {
                cookie,
                netns,
                local,
                remote,
                mss: mss(found),
                srtt_ns: connection.rtt_ns.unwrap_or(0),
                min_rtt_ns: connection.rtt_ns,
                accepted: Some(side == Side::Server),
            },
            side,
            process: writer,
            start_ns: found.start_ns,
            cost: found.cost(),
            facts: facts(found, part, connection),
            call: None,
        }
    }
}

fn mss(found: &Diagnosed) -> u32 {
    match &found.facts {
        Measured::Hold(hold) => hold.mss,
        Measured::Flood(_) => 0,
    }
}

fn facts(found: &Diagnosed, part: Part, connection: &ConnectionReport) -> Facts {
    match &found.facts {
        Measured::Hold(hold) if part == Part::AcknowledgedLate => Facts::LateAck {
            length: hold.held_len,
            before: hold.flight,
        },
        Measured::Hold(hold) => Facts::Held {
            held: hold.held_len,
            behind: hold.flight,
            // A capture does not show them.
            writes: None,
            reason: match found.kind {
                Kind::CorkHeld => Reason::Cork,
                Kind::ShortInitialSegment | Kind::SlowStartDelayedAck | Kind::IdleRestart => {
                    Reason::CongestionWindow
                }
                Kind::SmallBuffer => Reason::Buffer,
                _ => Reason::Nagle,
            },
            release: match hold.release {
                Some(_) => Release::Ack,
                None => Release::Timer,
            },
            path_ns: connection.rtt_ns,
            timer: Timer::Unknown,
            slept: false,
        },
        Measured::Flood(flood) => Facts::Flood {
            segments: u64::from(flood.segments),
            // A capture does not show them.
            writes: None,
            turns: 0,
            bytes: flood.bytes,
            lasted_ns: connection.duration_ns(),
            unseen: 0,
        },
    }
}

const MOST_COOKIES: usize = 200_000;
