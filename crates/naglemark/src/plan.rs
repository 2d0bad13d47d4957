//! What to measure: every policy with every pair of buffers in every trial type.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::lengths::Lengths;
use crate::policy::{Policy, SocketPolicy};
use crate::trial::{Trial, TrialType};

/// What to measure on every backend alike. Sizes are in octets.
///
/// [`Plan::default`] is the paper's plan (sections 6 and 7), but with one trial type (`S`), one
/// pair of buffers (4096 and 65,536 octets), one repetition, and two policies: the stack's own
/// ([`SocketPolicy::Default`]) and TCP_NODELAY. Each field has a method that replaces it.
///
/// ```
/// use tinygram_naglemark::{Plan, SocketPolicy, TrialType};
///
/// let plan = Plan::default()
///     .policies([SocketPolicy::NoDelay, SocketPolicy::Cork])
///     .app_buffers([512, 4096])
///     .trial_types([TrialType::RandomEach]);
/// assert_eq!(plan.cells().len(), 4);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// The policies, in the order in which they are shown.
    pub policies: Vec<Policy>,
    /// How much the server writes at a time.
    pub app_buffers: Vec<u64>,
    /// The server's send buffers.
    pub socket_buffers: Vec<u64>,
    /// The trial types.
    pub trial_types: Vec<TrialType>,
    /// The lengths of the answers.
    pub lengths: Lengths,
    /// How many requests share a connection in the trial types `S` and `R`; all of them if absent.
    pub requests_per_connection: Option<usize>,
    /// A transfer is delayed if it takes more than this many times the estimate.
    pub multiplier: u32,
    /// How often each trial is run, each time with a seed of its own.
    pub repetitions: u32,
    /// How many transfers are made before each cell and not counted, if time is real: code and
    /// caches are cold at first.
    pub warmup: u32,
    /// The seed of all random numbers.
    pub seed: u64,
}

/// A cell of the tables: a policy, a pair of buffers and a trial type. Sizes are in octets.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The policy of the server's TCP.
    pub policy: Policy,
    /// How much the server writes at a time.
    pub app_buffer: u64,
    /// The server's send buffer.
    pub socket_buffer: u64,
    /// How lengths are chosen, and how many connections there are.
    pub trial_type: TrialType,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            policies: vec![SocketPolicy::Default.into(), SocketPolicy::NoDelay.into()],
            app_buffers: vec![4 * 1024],
            socket_buffers: vec![64 * 1024],
            trial_types: vec![TrialType::SequentialOne],
            lengths: Lengths::PAPER,
            requests_per_connection: None,
            multiplier: Self::PAPER_MULTIPLIER,
            repetitions: 1,
            warmup: 0,
            seed: 1,
        }
    }
}

impl Plan {
    /// "A limit of three times this estimate" (section 6); the paper tried 2 and 4 as well.
    pub const PAPER_MULTIPLIER: u32 = 3;

    /// Replaces the policies.
    #[must_use]
    pub fn policies<P: Into<Policy>>(mut self, policies: impl IntoIterator<Item = P>) -> Self {
        self.policies = policies.into_iter().map(Into::into).collect();
        self
    }

    /// Replaces what the server writes at a time, in octets.
    #[must_use]
    pub fn app_buffers(mut self, octets: impl Into<Vec<u64>>) -> Self {
        self.app_buffers = octets.into();
        self
    }

    /// Replaces the server's send buffers, in octets.
    #[must_use]
    pub fn socket_buffers(mut self, octets: impl Into<Vec<u64>>) -> Self {
        self.socket_buffers = octets.into();
        self
    }

    /// Replaces the trial types.
    #[must_use]
    pub fn trial_types(mut self, types: impl Into<Vec<TrialType>>) -> Self {
        self.trial_types = types.into();
        self
    }

    /// Replaces the lengths of the answers.
    #[must_use]
    pub fn lengths(mut self, lengths: Lengths) -> Self {
        self.lengths = lengths;
        self
    }

    /// Replaces how many requests share a connection: `None` means all of them.
    #[must_use]
    pub fn requests_per_connection(mut self, requests: impl Into<Option<usize>>) -> Self {
        self.requests_per_connection = requests.into();
        self
    }

    /// Replaces how many times the estimate a transfer may take.
    #[must_use]
    pub fn multiplier(mut self, multiplier: u32) -> Self {
        self.multiplier = multiplier;
        self
    }

    /// Replaces how often each trial is run.
    #[must_use]
    pub fn repetitions(mut self, repetitions: u32) -> Self {
        self.repetitions = repetitions;
        self
    }

    /// Replaces how many transfers are made before each cell and not counted.
    #[must_use]
    pub fn warmup(mut self, transfers: u32) -> Self {
        self.warmup = transfers;
        self
    }

    /// Replaces the seed of all random numbers.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Returns the cells, in the order in which they are shown.
    #[must_use]
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for policy in &self.policies {
            for &app_buffer in &self.app_buffers {
                for &socket_buffer in &self.socket_buffers {
                    cells.extend(self.trial_types.iter().map(|&trial_type| Cell {
                        policy: policy.clone(),
                        app_buffer,
                        socket_buffer,
                        trial_type,
                    }));
                }
            }
        }
        cells
    }

    /// Returns a repetition of a cell's trial. A repetition's seed is the same for every policy and
    /// buffer size, so that all of them have the same lengths and the same timer phases.
    #[must_use]
    pub fn trial(&self, cell: &Cell, repetition: u32) -> Trial {
        let seed = seed_of(self.seed, repetition);
        let requests_per_connection = if cell.trial_type.one_connection() {
            self.requests_per_connection.unwrap_or(usize::MAX)
        } else {
            1
        };
        Trial {
            policy: cell.policy.clone(),
            app_buffer: cell.app_buffer,
            socket_buffer: cell.socket_buffer,
            lengths: self.lengths.draw(cell.trial_type, seed),
            requests_per_connection,
            seed,
        }
    }

    /// Returns the same plan with one repetition and every `each`-th length (or one `each`-th as
    /// many random lengths). The share of the whole that it takes is about the share that
    /// [`Plan::effort`] says, because all cells are measured in the same way.
    #[must_use]
    pub fn thinned(&self, each: u32) -> Self {
        Self {
            lengths: self.lengths.thinned(each),
            repetitions: 1,
            warmup: self.warmup.min(1),
            ..self.clone()
        }
    }

    /// Returns how many transfers one backend makes, including those of [`Plan::warmup`].
    #[must_use]
    pub fn effort(&self) -> u64 {
        self.transfers() + u64::from(self.warmup) * self.cells().len() as u64
    }

    /// Returns how many transfers one backend makes, without those of [`Plan::warmup`].
    #[must_use]
    pub fn transfers(&self) -> u64 {
        let buffers = self.app_buffers.len() * self.socket_buffers.len();
        let of = |trial_type: &TrialType| u64::from(self.lengths.transfers(*trial_type));
        let of_all_types: u64 = self.trial_types.iter().map(of).sum();
        (self.policies.len() * buffers) as u64 * of_all_types * u64::from(self.repetitions)
    }
}

/// By the names of `tinygram naglemark`'s documents. Lengths that no trial type uses are absent.
impl Serialize for Plan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Every field, so that a new one cannot be forgotten here.
        let Self {
            policies,
            app_buffers,
            socket_buffers,
            trial_types,
            lengths: Lengths { series, random },
            requests_per_connection,
            multiplier,
            repetitions,
            warmup,
            seed,
        } = self;
        let is_run = |random| trial_types.iter().any(|it| it.is_random() == random);
        let mut fields = serializer.serialize_struct("Plan", 11)?;
        fields.serialize_field("variants", policies)?;
        fields.serialize_field("app_buffers", app_buffers)?;
        fields.serialize_field("socket_buffers", socket_buffers)?;
        fields.serialize_field("trials", trial_types)?;
        fields.serialize_field("sequential", &is_run(false).then_some(series))?;
        fields.serialize_field("random", &is_run(true).then_some(random))?;
        fields.serialize_field("requests_per_connection", requests_per_connection)?;
        fields.serialize_field("multiplier", multiplier)?;
        fields.serialize_field("warmup", warmup)?;
        fields.serialize_field("repetitions", repetitions)?;
        fields.serialize_field("seed", seed)?;
        fields.end()
    }
}

/// Returns the seed of a repetition: seeds that follow each other give unlike ones.
pub(crate) fn seed_of(first: u64, repetition: u32) -> u64 {
    let seed = first.wrapping_add(u64::from(repetition));
    seed.wrapping_mul(0xd134_2543_de82_ef95)
}
