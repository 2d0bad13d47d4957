//! Backends: the TCPs that are measured.

use serde::Serialize;
use tinygram_engine::Duration;
use tinygram_sim::medium::{MediumKind, Wire};

use crate::policy::Policy;
use crate::trial::{Taken, Trial};

/// A TCP that can be measured: two ends, and what joins them.
///
/// A backend opens a connection, sends [`REQUEST`](crate::REQUEST) octets from the client, has the
/// server write an answer of the trial's next length in pieces of [`Trial::app_buffer`], and notes
/// the time from the sending of the request to the answer's last octet at the client. It repeats
/// this for every length, with a new connection after every [`Trial::requests_per_connection`]
/// requests. The time to open a connection is not counted.
pub trait Backend {
    /// Returns the conditions under which it is measured. They do not change from one trial to the
    /// next.
    fn conditions(&self) -> Conditions;

    /// Makes all transfers of a trial, one after the other: a sample for each of its lengths, in their order.
    ///
    /// # Errors
    ///
    /// [`Error::Policy`] if it does not know the trial's policy, [`Error::Failed`] if a transfer
    /// failed.
    fn run(&mut self, trial: &Trial) -> Result<Taken, Error>;

    /// Does the same as [`run`](Self::run) and calls `made` after each transfer, so that a waiting
    /// user sees progress. Backends whose transfers take real time should implement it.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    fn run_telling(&mut self, trial: &Trial, made: &mut dyn FnMut()) -> Result<Taken, Error> {
        let _ = made;
        self.run(trial)
    }

    /// Returns the backend itself if its time is virtual. Trials then run on all threads at once,
    /// without warm-up. The default, `None`, means real time: then nothing else runs beside a
    /// trial.
    fn virtual_time(&self) -> Option<&dyn VirtualTime> {
        None
    }
}

/// A backend whose outcome depends on the trial alone, so any number of threads may run it at once.
pub trait VirtualTime: Sync {
    /// Makes all transfers of a trial, as [`Backend::run`] does.
    ///
    /// # Errors
    ///
    /// Those of [`Backend::run`].
    fn simulate(&self, trial: &Trial) -> Result<Taken, Error>;

    /// Runs the same trial under each of `policies`, whatever its own policy, and returns the
    /// results in their order. Trials that cannot differ may share a run.
    ///
    /// # Errors
    ///
    /// Those of [`Backend::run`].
    fn simulate_each(&self, trial: &Trial, policies: &[Policy]) -> Result<Vec<Share>, Error> {
        let alone = |policy: &Policy| {
            let taken = self.simulate(&trial.under(policy.clone()))?;
            Ok(Share {
                taken,
                is_own: true,
            })
        };
        policies.iter().map(alone).collect()
    }
}

/// The result of a trial under one of several policies.
#[derive(Clone, Debug)]
pub struct Share {
    /// The transfers and counts.
    pub taken: Taken,
    /// Whether it was run for this policy, and not for an earlier one.
    pub is_own: bool,
}

/// The conditions under which a backend is measured.
#[derive(Clone, Debug, Serialize)]
pub struct Conditions {
    /// The backend's name: `sim`, `kernel`, `stack`.
    pub backend: String,
    /// The name of the link that joins the two ends, in a word or two.
    pub link: String,
    /// The TCP in words: a kernel's release, a profile, a library with its version.
    pub stack: String,
    /// The octets that a full segment of a connection carries: the MSS minus the octets that
    /// options take.
    pub mss: u16,
    /// The congestion control in force.
    pub congestion: String,
    /// The medium, on whose rate a score's estimate is based.
    #[serde(skip)]
    pub medium: MediumKind,
    /// The wire of the simulation, on which the earliest possible delivery is based; `None` for real hosts.
    #[serde(skip)]
    pub wire: Option<Wire>,
    /// The round-trip time beyond the medium.
    #[serde(skip)]
    pub rtt: Duration,
}

impl Conditions {
    /// Returns the conditions of a backend over this medium with its usual MSS. The stack has the
    /// backend's name, its congestion control is unknown, and nothing is added to the round-trip
    /// time. The medium must be the one that your segments cross, at its rate: both bounds of a score are reckoned with it.
    /// If they cross another one, set [`wire`](Self::wire) to `None`, and the earliest delivery is not spoken of; for a link
    /// as fast as the machine there is [`NOMINAL_RATE`].
    #[must_use]
    pub fn new(backend: &str, medium: MediumKind) -> Self {
        Self {
            backend: backend.into(),
            link: medium.name().into(),
            stack: backend.into(),
            mss: medium.usual_mss(),
            congestion: "unknown".into(),
            medium,
            wire: Some(medium.wire()),
            rtt: Duration::ZERO,
        }
    }
}

/// The rate that a transfer's delay is measured against if a link is as fast as the machine, in
/// bits per second.
pub const NOMINAL_RATE: u64 = 1_000_000_000;

/// The reason why a backend could not make a trial's transfers.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It does not know this policy.
    #[error("{backend} cannot be told the policy {policy}")]
    Policy {
        /// The backend's name.
        backend: String,
        /// The policy's label.
        policy: String,
    },
    /// There is nothing to compute a result from.
    #[error("no {came} came in the measured time")]
    Nothing {
        /// What was to come.
        came: &'static str,
    },
    /// Something failed on the way.
    #[error("{doing}: {why}")]
    Failed {
        /// The operation that failed.
        doing: String,
        /// The error of the system or the library.
        #[source]
        why: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// Returns the error that `doing` failed, and `why`.
    pub fn failed(
        doing: impl Into<String>,
        why: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Failed {
            doing: doing.into(),
            why: why.into(),
        }
    }

    /// Returns the error that `backend` does not know `policy`.
    #[must_use]
    pub fn policy(backend: &str, policy: &Policy) -> Self {
        Self::Policy {
            backend: backend.into(),
            policy: policy.label().into(),
        }
    }
}
