//! The four ways to fetch the page of Table 1, to be run and watched one by one.
//!
//! ```
//! use tinygram_papers::heidemann::retrieval::Way;
//!
//! let [http, p_http] = [Way::Http, Way::PHttp].map(|way| way.measured(1).mean_ms);
//! assert_eq!((p_http / http).round(), 14.0);
//! ```

use tinygram_engine::Duration;
use tinygram_sim::observer::Observer;
use tinygram_sim::workload::http::Fetched;

use super::hosts::BODIES;
use super::published::TABLE_1;
use super::table_1::{first_timed, line, measure};
use super::transaction::fetched;

/// A line of Table 1: how the page's three documents are fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Over a connection for each document.
    Http,
    /// Over one connection.
    PHttp,
    /// The same, with headers and data in one write (section 2.2).
    PHttpFirstFix,
    /// The same, with Nagle's algorithm off, too (section 2.3).
    PHttpBothFixes,
}

/// A hundred retrievals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retrievals {
    /// The mean time from wanting the page to its last octet, in ms.
    pub mean_ms: f64,
    /// The mean that the paper prints, in ms.
    pub published_ms: f64,
    /// The mean number of waits for a client's timer.
    pub stalls: f64,
}

/// One retrieval that was watched.
#[derive(Clone, Debug)]
pub struct Watched<O> {
    /// The observer.
    pub observer: O,
    /// When each document was asked for and when its last octet came.
    pub fetched: Vec<Fetched>,
    /// The number of connections.
    pub connections: u32,
    /// When the run was over.
    pub over: Duration,
}

impl Way {
    /// All ways, in the order of the table.
    pub const ALL: [Self; 4] = [
        Self::Http,
        Self::PHttp,
        Self::PHttpFirstFix,
        Self::PHttpBothFixes,
    ];

    /// Returns its name as the table prints it.
    #[must_use]
    pub fn name(self) -> &'static str {
        TABLE_1[self as usize].name
    }

    /// Fetches the page a hundred times, as the paper did.
    #[must_use]
    pub fn measured(self, seed: u64) -> Retrievals {
        let (over, fixes) = line(self as usize);
        let measured = measure(over, fixes, seed);
        Retrievals {
            mean_ms: measured.mean(),
            published_ms: TABLE_1[self as usize].mean,
            stalls: measured.stalls_per_transaction(None),
        }
    }

    /// Fetches the page once, in step with the clocks, with an observer.
    #[must_use]
    pub fn watched<O: Observer>(self, seed: u64, observer: O) -> Watched<O> {
        let (over, fixes) = line(self as usize);
        let setting = first_timed(over, fixes, seed);
        let connections = setting.plan.connections();
        let world = setting.watched(observer);
        Watched {
            fetched: fetched(&world).to_vec(),
            connections,
            over: world.now().since(tinygram_engine::Instant::ZERO),
            observer: world.into_observer(),
        }
    }

    /// Returns the sizes of the page's documents, in octets.
    #[must_use]
    pub fn documents() -> [u64; 3] {
        BODIES
    }
}
