//! A trial: the task of a backend, and its result.

use std::fmt::{self, Write as _};
use std::str::FromStr;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use tinygram_engine::Duration;

use crate::policy::Policy;

/// The paper's trial types (Table 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrialType {
    /// `S`: sequential lengths, one connection for all requests.
    SequentialOne,
    /// `s`: sequential lengths, a connection per request.
    SequentialEach,
    /// `R`: random lengths, one connection for all requests.
    RandomOne,
    /// `r`: random lengths, a connection per request.
    RandomEach,
}

impl TrialType {
    /// All trial types. If scores tie, the paper's tables name the first in this order.
    pub const ALL: [Self; 4] = [
        Self::SequentialOne,
        Self::SequentialEach,
        Self::RandomOne,
        Self::RandomEach,
    ];

    /// Returns the paper's letter.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::SequentialOne => 'S',
            Self::SequentialEach => 's',
            Self::RandomOne => 'R',
            Self::RandomEach => 'r',
        }
    }

    /// Returns the trial type with this letter.
    #[must_use]
    pub fn with_letter(letter: char) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.letter() == letter)
    }

    /// Returns whether lengths are random.
    #[must_use]
    pub const fn is_random(self) -> bool {
        matches!(self, Self::RandomOne | Self::RandomEach)
    }

    /// Returns whether all requests share a connection.
    #[must_use]
    pub const fn one_connection(self) -> bool {
        matches!(self, Self::SequentialOne | Self::RandomOne)
    }
}

impl Serialize for TrialType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_char(self.letter())
    }
}

/// Writes the name in tables, which is the paper's letter.
impl fmt::Display for TrialType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char(self.letter())
    }
}

/// Reads the name in tables. Capitals and small letters differ.
///
/// ```
/// use tinygram_naglemark::TrialType;
///
/// assert_eq!("r".parse(), Ok(TrialType::RandomEach));
/// assert_eq!(TrialType::RandomEach.to_string(), "r");
/// ```
impl FromStr for TrialType {
    type Err = UnknownTrialType;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter();
        let known = all.find(|it| it.to_string() == name);
        known.ok_or_else(|| UnknownTrialType(name.into()))
    }
}

/// The error for a name that is no trial type's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no trial type is called `{0}`; there are S, s, R, r")]
pub struct UnknownTrialType(pub String);

/// The task of a backend: to answer requests, one after the other, each with a given number of
/// octets. Sizes are in octets.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Trial {
    /// The policy of the server's TCP.
    pub policy: Policy,
    /// How much the server writes at a time; the last write of an answer is the rest.
    pub app_buffer: u64,
    /// The server's send buffer.
    pub socket_buffer: u64,
    /// The length of each answer, in order.
    pub lengths: Arc<[u32]>,
    /// How many requests share a connection; [`usize::MAX`] means all of them.
    pub requests_per_connection: usize,
    /// The seed, for backends that use random numbers.
    pub seed: u64,
}

impl Trial {
    /// Returns the same trial with another policy.
    #[must_use]
    pub fn under(&self, policy: Policy) -> Self {
        Self {
            policy,
            ..self.clone()
        }
    }
}

/// The length of every request, in octets. The paper does not give it; any length that fits one
/// segment will do.
pub const REQUEST: u64 = 100;

/// One transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The answer's length in octets.
    pub length: u32,
    /// The time from the sending of the request to the answer's last octet, at the client.
    pub elapsed: Duration,
}

/// The result of a trial.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// The transfers: one for each of the [trial's lengths](Trial::lengths), in their order; other ones are refused.
    pub samples: Vec<Sample>,
    /// Data segments that the server sent, retransmissions included; `None` if the backend does not see them.
    pub data_segments: Option<u64>,
    /// Data segments below the MSS, if they are counted.
    pub short_segments: Option<u64>,
    /// Retransmissions among the data segments, if they are counted.
    pub retransmitted_segments: Option<u64>,
    /// Events that a simulator handled; 0 if there is no simulator.
    pub events: u64,
}
