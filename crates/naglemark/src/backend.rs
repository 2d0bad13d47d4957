//! What is measured: a TCP that answers requests.

use serde::Serialize;
use tinygram_engine::Duration;
use tinygram_sim::medium::MediumKind;

use crate::policy::Policy;
use crate::trial::{Taken, Trial};

/// A TCP that can be measured: two ends with something between them.
///
/// A backend opens a connection, sends [`REQUEST`](crate::REQUEST) octets from the client, has the
/// server write an answer of the trial's next length in pieces of [`Trial::app_buffer`], and notes the
/// time from the request's sending to the answer's last octet at the client; and so on to the last
/// length, with a new connection after every [`Trial::requests_per_connection`] requests. What opening
/// takes is not counted.
pub trait Backend {
    /// Under what conditions it is measured. They do not change from one trial to the next.
    fn conditions(&self) -> Conditions;

    /// Makes all transfers of a trial, one after the other.
    ///
    /// # Errors
    ///
    /// [`Error::Policy`] if it cannot be told the trial's policy, [`Error::Failed`] if a transfer
    /// failed.
    fn run(&mut self, trial: &Trial) -> Result<Taken, Error>;

    /// Does the same, and says so after each transfer, so that whoever waits sees that it goes on. Backends
    /// whose transfers take real time should have it.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    fn run_telling(&mut self, trial: &Trial, made: &mut dyn FnMut()) -> Result<Taken, Error> {
        let _ = made;
        self.run(trial)
    }

    /// Itself, if its time is not the machine's: then trials run on all threads at once, and none is
    /// warmed up for. Real time is measured with nothing beside it, and is the default.
    fn virtual_time(&self) -> Option<&dyn VirtualTime> {
        None
    }
}

/// A backend whose outcome is a function of the trial: any number of threads may run it at once.
pub trait VirtualTime: Sync {
    /// As [`Backend::run`].
    ///
    /// # Errors
    ///
    /// Those of [`Backend::run`].
    fn simulate(&self, trial: &Trial) -> Result<Taken, Error>;

    /// Returns the same trial under each of `policies`, whatever its own, in their order. What cannot differ
    /// may be run once.
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

/// What a trial came to under one of several policies.
#[derive(Clone, Debug)]
pub struct Share {
    /// What came of it.
    pub taken: Taken,
    /// It was run for this policy, and not for one before it.
    pub is_own: bool,
}

/// Under what conditions a backend is measured.
#[derive(Clone, Debug, Serialize)]
pub struct Conditions {
    /// The backend's name: `sim`, `kernel`, `stack`.
    pub backend: String,
    /// What joins the two ends, in a word or two.
    pub link: String,
    /// The TCP in words: a kernel's release, a profile, a library with its version.
    pub stack: String,
    /// The octets that a full segment of a connection carries: the MSS without what options take.
    pub mss: u16,
    /// The congestion control in force.
    pub congestion: String,
    /// What a score's estimate is based on, and the earliest possible delivery: rate and frames.
    #[serde(skip)]
    pub medium: MediumKind,
    /// The round-trip time beyond the medium.
    #[serde(skip)]
    pub rtt: Duration,
}

impl Conditions {
    /// Those of a backend over such a medium with its usual MSS; the stack has no other name, its
    /// congestion control is not known, and nothing is added to the round-trip time.
    #[must_use]
    pub fn new(backend: &str, medium: MediumKind) -> Self {
        Self {
            backend: backend.into(),
            link: medium.name().into(),
            stack: backend.into(),
            mss: medium.usual_mss(),
            congestion: "unknown".into(),
            medium,
            rtt: Duration::ZERO,
        }
    }
}

/// What a transfer's delay is measured against where a link is as fast as the machine, in bits per
/// second.
pub const NOMINAL_RATE: u64 = 1_000_000_000;

/// Why a backend could not make a trial's transfers.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It cannot be told this policy.
    #[error("{backend} cannot be told the policy {policy}")]
    Policy {
        /// The backend's name.
        backend: String,
        /// The policy's label.
        policy: String,
    },
    /// Something failed on the way.
    #[error("{doing}: {why}")]
    Failed {
        /// What was being done.
        doing: String,
        /// What the system or the library said.
        #[source]
        why: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// That `doing` failed, and `why`.
    pub fn failed(
        doing: impl Into<String>,
        why: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Failed {
            doing: doing.into(),
            why: why.into(),
        }
    }

    /// That `backend` cannot be told `policy`.
    #[must_use]
    pub fn policy(backend: &str, policy: &Policy) -> Self {
        Self::Policy {
            backend: backend.into(),
            policy: policy.label().into(),
        }
    }
}
