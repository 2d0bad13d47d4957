//! Detects the transfers that a small-segment policy delayed, without an arbitrary cutoff: each is
//! compared with the same transfer with the Nagle algorithm disabled.
//!
//! Section 8.1 lacked this: it had "no foolproof way of eliminating [...] every sample that
//! experienced a Nagle-related delay". It needs a medium without collisions, where nothing else
//! delays a transfer for long.

use tinygram_engine::Duration;
use tinygram_engine::receiver::ack_policy::AckTimer;
use tinygram_engine::sender::send_policy::Registered;
use tinygram_naglemark::hosts::{ACK_TICK, Model, PaperHosts};
use tinygram_naglemark::{
    Keep, MediumKind, Outcome, Plan, Policy, Taken, Trial, VirtualTime, measure,
};

/// More than any transfer varies by, and less than all but a tenth of the waits for a tick of 200
/// ms.
const BEYOND: Duration = Duration::from_millis(20);

/// Hosts, and what is asked of them: one cell.
pub(super) struct Setting {
    pub(super) hosts: PaperHosts,
    pub(super) plan: Plan,
}

impl Setting {
    /// Returns the trial type S with the fitted hosts and only the clock of 200 ms.
    pub(super) fn new(medium: MediumKind, variant: &str, buffers: (u64, u64), seed: u64) -> Self {
        let mut hosts = PaperHosts::new(Model::Fitted, medium);
        hosts.ack_timer = Some(AckTimer::Cyclic {
            period: ACK_TICK,
            phase: Duration::ZERO,
            slow: None,
        });
        Self {
            hosts,
            plan: plan(variant, buffers, seed),
        }
    }

    /// Returns the only cell's trial.
    pub(super) fn trial(&self, repetition: u32) -> Trial {
        self.plan.trial(&self.plan.cells()[0], repetition)
    }

    /// Runs a repetition.
    pub(super) fn run(&self, repetition: u32) -> Taken {
        run(&self.hosts, &self.trial(repetition))
    }

    /// Runs the first repetition for each of these variants; runs that cannot differ are made once.
    pub(super) fn run_each(&self, variants: &[&str]) -> Vec<Taken> {
        let policies: Vec<Policy> = variants.iter().map(|variant| policy(variant)).collect();
        let shares = self.hosts.simulate_each(&self.trial(0), &policies);
        let shares = shares.expect(KNOWN).into_iter();
        shares.map(|share| share.taken).collect()
    }

    /// Returns for each transfer of the first repetition whether its policy delayed it.
    pub(super) fn stalled(&self, taken: &Taken) -> Vec<bool> {
        let undisturbed = self.trial(0).under(policy(UNDISTURBED));
        stalled(taken, &run(&self.hosts, &undisturbed))
    }
}

/// The variant that delays nothing.
pub(super) const UNDISTURBED: &str = "OFF";

/// Returns for each transfer whether its policy delayed it, given the same transfers
/// [undisturbed](UNDISTURBED).
pub(super) fn stalled(taken: &Taken, undisturbed: &Taken) -> Vec<bool> {
    let pairs = taken.samples.iter().zip(&undisturbed.samples);
    pairs
        .map(|(ours, undisturbed)| ours.elapsed > undisturbed.elapsed + BEYOND)
        .collect()
}

/// Returns a plan of one cell of the trial type S, with the paper's lengths.
pub(super) fn plan(variant: &str, (app_buffer, socket_buffer): (u64, u64), seed: u64) -> Plan {
    Plan::default()
        .policies([policy(variant)])
        .app_buffers([app_buffer])
        .socket_buffers([socket_buffer])
        .seed(seed)
}

/// Runs a plan on the paper's hosts.
pub(super) fn outcome(plan: &Plan, mut hosts: PaperHosts, keep: Keep) -> Outcome {
    let outcomes = measure(plan, &mut [&mut hosts], keep, &|_| {});
    outcomes.expect(KNOWN).remove(0)
}

/// Returns a variant of Table 3.
pub(super) fn policy(variant: &str) -> Policy {
    let entry = Registered::named(variant).expect("Table 3's variants are registered");
    entry.into()
}

fn run(hosts: &PaperHosts, trial: &Trial) -> Taken {
    hosts.simulate(trial).expect(KNOWN)
}

const KNOWN: &str = "the paper's hosts know every send policy of the engine's";
