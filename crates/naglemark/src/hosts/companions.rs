//! Lets send policies share the run of a trial if they cannot be distinguished in it.
//!
//! The [leader](Company) decides. Its companions observe and are asked the same as the leader. If a
//! companion gave the leader's answer every time, it would have had the same run, to the last
//! segment, because a policy affects a connection by its answers alone. So the run also counts for
//! this companion. The other companions get another run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use tinygram_engine::Offset;
use tinygram_engine::sender::send_policy::{
    Installed, Moment, Offer, Rule, SendPolicy, Vars, Verdict,
};

use crate::backend::{Error, Share};
use crate::policy::Policy;
use crate::trial::{Taken, Trial};

/// The largest number of companions: each has one bit.
const MOST_COMPANIONS: usize = 64;

/// What a run needs.
pub(super) struct Stage<'a> {
    /// Runs a trial.
    pub(super) simulate: &'a dyn Fn(&Trial) -> Result<Taken, Error>,
    /// Returns the policy according to the hosts' reading of the paper.
    pub(super) as_read: &'a dyn Fn(SendPolicy) -> SendPolicy,
    /// Whether the hosts' kernels apply MORE whatever the policy.
    pub(super) always_more: bool,
}

/// Runs the trial for each of `policies`, in their order, but shares runs between policies whose
/// results cannot differ.
pub(super) fn run_each(
    stage: &Stage,
    trial: &Trial,
    policies: &[Policy],
) -> Result<Vec<Share>, Error> {
    let mut shares: Vec<Option<Share>> = vec![None; policies.len()];
    for leader in 0..policies.len() {
        if shares[leader].is_some() {
            continue;
        }
        let companions: Vec<usize> = (leader + 1..policies.len())
            .filter(|other| shares[*other].is_none())
            .filter(|other| are_asked_alike(stage, &policies[leader], &policies[*other]))
            .take(MOST_COMPANIONS)
            .collect();
        let (taken, differ) = run_together(stage, trial, policies, leader, &companions)?;
        for (number, companion) in companions.into_iter().enumerate() {
            if differ & 1 << number == 0 {
                shares[companion] = Some(Share {
                    taken: taken.clone(),
                    is_own: false,
                });
            }
        }
        shares[leader] = Some(Share {
            taken,
            is_own: true,
        });
    }
    Ok(shares.into_iter().flatten().collect())
}

/// Runs the trial under the leader. Also returns, with a bit for each companion, which of them
/// would have decided differently.
fn run_together(
    stage: &Stage,
    trial: &Trial,
    policies: &[Policy],
    leader: usize,
    companions: &[usize],
) -> Result<(Taken, u64), Error> {
    let read = |index: &usize| {
        let policy = (stage.as_read)(rule(&policies[*index])?.clone());
        Some(policy.install())
    };
    let Some(leading) = read(&leader).filter(|_| !companions.is_empty()) else {
        let taken = (stage.simulate)(&trial.under(policies[leader].clone()))?;
        return Ok((taken, 0));
    };
    let differ = Arc::new(AtomicU64::new(0));
    let company = SendPolicy::custom(Company::new(
        leading,
        companions.iter().filter_map(read).collect(),
        differ.clone(),
    ));
    let taken = (stage.simulate)(&trial.under(Policy::Engine {
        label: policies[leader].label().to_owned().into(),
        policy: company,
    }))?;
    Ok((taken, differ.load(Relaxed)))
}

/// Returns the engine's policy, or `None` for a socket option, because with one the program writes
/// differently.
fn rule(policy: &Policy) -> Option<&SendPolicy> {
    match policy {
        Policy::Engine { policy, .. } => Some(policy),
        Policy::Socket(_) => None,
    }
}

/// Returns whether the sender asks both policies the same questions. A policy that looks at what is received, at the peer's
/// counters or at other connections has a run of its own: its answers are not all by which it affects a connection.
fn are_asked_alike(stage: &Stage, one: &Policy, other: &Policy) -> bool {
    let asked = |policy: &Policy| {
        let policy = rule(policy)?.clone().install();
        if policy.heeds_receiving() || policy.heeds_peer() {
            return None;
        }
        let more = stage.always_more || policy.includes_more();
        // A sender with MORE heeds blocking in any case.
        let blocking = more || policy.heeds_blocking();
        Some((policy.takes_window_cuts(), more, blocking))
    };
    asked(one).is_some() && asked(one) == asked(other)
}

/// A policy that decides, and other policies that are also asked until they answer differently.
#[derive(Debug)]
struct Company {
    leader: Installed,
    /// The companions that had not answered differently at the last observation.
    companions: Vec<Companion>,
    /// A bit for each companion that has answered differently, on any connection of the trial.
    differ: Arc<AtomicU64>,
    /// The value of `differ` when `companions` was last filtered.
    known: u64,
    /// The last question and the answers to it.
    answers: Mutex<Answers>,
}

/// A policy that is asked and does not decide.
#[derive(Clone, Debug)]
struct Companion {
    policy: Installed,
    /// Its bit in `differ`.
    bit: u64,
}

/// The answers of all of them about a runt.
#[derive(Debug, Default)]
struct Answers {
    /// The offset at which the runt starts, until it is sent.
    start: Option<Offset>,
    leader: Option<Verdict>,
    /// The answers, in the order of the companions; for a companion that differs, an old answer.
    companions: Vec<Option<Verdict>>,
}

impl Company {
    fn new(leader: Installed, companions: Vec<Installed>, differ: Arc<AtomicU64>) -> Self {
        let companions = companions.into_iter().enumerate();
        let companions = companions.map(|(number, policy)| Companion {
            policy,
            bit: 1 << number,
        });
        Self::of(leader, companions.collect(), differ)
    }

    fn of(leader: Installed, companions: Vec<Companion>, differ: Arc<AtomicU64>) -> Self {
        let answers = Mutex::new(Answers {
            companions: vec![None; companions.len()],
            ..Answers::default()
        });
        Self {
            leader,
            companions,
            differ,
            known: 0,
            answers,
        }
    }

    /// Removes the companions that have answered differently.
    #[cold]
    fn part(&mut self, differ: u64) {
        let agree = |companion: &Companion| companion.bit & differ == 0;
        let answers = self
            .answers
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        let mut asked = self.companions.iter();
        answers
            .companions
            .retain(|_| asked.next().is_some_and(agree));
        self.companions.retain(agree);
        self.known = differ;
    }
}

impl Rule for Company {
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        let leader = self.leader.decide(offer, vars);
        let differ = self.differ.load(Relaxed);
        if self.companions.is_empty() {
            return leader;
        }
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.start = Some(offer.span.start);
        answers.leader = Some(leader);
        for (companion, answer) in self.companions.iter().zip(&mut answers.companions) {
            if companion.bit & differ == 0 {
                let own = companion.policy.decide(offer, vars);
                if !come_to_the_same(leader, own) {
                    self.differ.fetch_or(companion.bit, Relaxed);
                }
                *answer = Some(own);
            }
        }
        leader
    }

    /// Lets each observe the moment; a companion whose reason for sending differs from the leader's
    /// observes its own.
    fn observe(&mut self, moment: Moment, vars: &Vars) {
        self.leader.observe(moment, vars);
        let differ = self.differ.load(Relaxed);
        if differ != self.known {
            self.part(differ);
        }
        if self.companions.is_empty() {
            return;
        }
        let answers = self
            .answers
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        let Moment::Sent {
            span,
            short,
            because,
        } = moment
        else {
            for companion in &mut self.companions {
                companion.policy.observe(moment, vars);
            }
            return;
        };
        let was_asked =
            answers.start == Some(span.start) && answers.leader == Some(Verdict::Send(because));
        for (companion, answer) in self.companions.iter_mut().zip(&answers.companions) {
            let because = match answer {
                Some(Verdict::Send(own)) if was_asked => *own,
                _ => because,
            };
            let own = Moment::Sent {
                span,
                short,
                because,
            };
            companion.policy.observe(own, vars);
        }
        answers.start = None;
    }

    fn takes_window_cuts(&self) -> bool {
        self.leader.takes_window_cuts()
    }

    fn heeds_blocking(&self) -> bool {
        self.leader.heeds_blocking()
    }

    fn includes_more(&self) -> bool {
        self.leader.includes_more()
    }
}

/// A clone begins with the memory that the policies have now, and still knows which companions have
/// differed.
impl Clone for Company {
    fn clone(&self) -> Self {
        Self::of(
            self.leader.clone(),
            self.companions.clone(),
            self.differ.clone(),
        )
    }
}

/// Returns whether the sender does the same after both answers. The sender counts the reasons for a
/// hold, but they have no effect unless the application sets TCP_NODELAY, which this benchmark does
/// not do.
fn come_to_the_same(one: Verdict, other: Verdict) -> bool {
    match (one, other) {
        (Verdict::Send(_), Verdict::Send(_)) => true,
        (Verdict::Hold { until: one, .. }, Verdict::Hold { until: other, .. }) => one == other,
        _ => false,
    }
}
