//! A page fetched once, as a tap on the cable sees it.

use tinygram_engine::connection::Config;
use tinygram_engine::{Duration, Instant};
use tinygram_sim::medium::{MediumFrame, Side};
use tinygram_sim::observer::{Observer, Tap};
use tinygram_sim::workload::http::{Fetched, Http, HttpPlan};
use tinygram_sim::{Ended, Opening, World, WorldConfig};

/// What is fetched, how, and over which path.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) plan: HttpPlan,
    pub(super) world: WorldConfig,
    /// The rules of each host.
    pub(super) ends: [Config; 2],
}

/// What the tap saw.
#[derive(Clone, Debug)]
pub(super) struct Transaction {
    /// The times of each document.
    pub(super) fetched: Vec<Fetched>,
    /// The frames that passed on the cable.
    pub(super) passed: Vec<(Side, MediumFrame)>,
    /// When the connections were closed.
    pub(super) over: Instant,
}

/// A stall: the server had more to send, and nothing happened until the client's timer fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stall {
    /// The document that waited, from 0.
    pub(super) document: usize,
    /// The cause.
    pub(super) problem: Problem,
    /// The time between the data segments before and after it.
    pub(super) between: Duration,
}

/// The paper's two problems with delayed ACKs, by what the server may not send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// A full segment, for which the congestion window has no room after a short one (section 2.2).
    ShortInitialSegment,
    /// The short rest, which Nagle's algorithm holds after an odd segment (section 2.3).
    ShortFinalSegment,
}

/// The silence that counts as a stall; no program of these hosts takes as long for anything.
const SILENCE: Duration = Duration::from_millis(15);
/// The time after which a run is considered endless.
const LATE: Instant = Instant::from_nanos(600_000_000_000);

impl Setting {
    pub(super) fn run(self) -> Transaction {
        let world = self.watched(Tap::default());
        Transaction {
            fetched: fetched(&world).to_vec(),
            passed: world.observer().passed(),
            over: world.now(),
        }
    }

    /// Returns the world at the end of the run.
    pub(super) fn watched<O: Observer>(self, observer: O) -> World<Http, O> {
        let connections = self.plan.connections();
        let server = Http::server(&self.plan);
        let programs = [vec![Http::client(self.plan)], server];
        let mut world = World::watched(self.world, programs, observer);
        for _ in 0..connections {
            world.connect(Opening::Handshake, self.ends.clone());
        }
        assert_eq!(world.run(LATE), Ended::Stopped);
        world
    }
}

/// Returns the documents that the client of this world has fetched.
pub(super) fn fetched<O: Observer>(world: &World<Http, O>) -> &[Fetched] {
    let mut programs = world.host(Side::Client).programs();
    programs.next().map_or(&[], Http::fetched)
}

impl Transaction {
    /// Returns the time from wanting the page to its last octet.
    pub(super) fn retrieval(&self) -> Duration {
        self.ended().since(Instant::ZERO)
    }

    /// Returns when the last octet was there.
    pub(super) fn ended(&self) -> Instant {
        self.fetched.last().expect("documents").ended
    }

    /// Returns the stalls, in order: silence, then an ACK, and more data right after it.
    pub(super) fn stalls(&self, mss: u16) -> Vec<Stall> {
        let mut stalls = Vec::new();
        let mut requests = 0;
        let mut last_data = Instant::ZERO;
        for three in self.passed.windows(3) {
            let [(side, before), (acking, ack), (answering, data)] = three else {
                unreachable!("windows of three")
            };
            match side {
                Side::Client => requests += usize::from(before.segment.len > 0),
                Side::Server if before.segment.len > 0 => last_data = before.at,
                Side::Server => {}
            }
            let by_timer = *acking == Side::Client && ack.segment.is_pure_ack();
            let answered = *answering == Side::Server && data.segment.len > 0;
            if by_timer && answered && ack.at.since(before.at) >= SILENCE {
                let full = data.segment.len >= u32::from(mss);
                stalls.push(Stall {
                    document: requests - 1,
                    problem: if full {
                        Problem::ShortInitialSegment
                    } else {
                        Problem::ShortFinalSegment
                    },
                    between: data.at.since(last_data),
                });
            }
        }
        stalls
    }
}
