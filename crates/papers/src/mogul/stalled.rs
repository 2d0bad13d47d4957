//! Which transfers a small-segment policy delayed, without an arbitrary cutoff: each is held against
//! the same transfer with the Nagle algorithm disabled.
//!
//! This is what section 8.1 lacked, "no foolproof way of eliminating [...] every sample that
//! experienced a Nagle-related delay". It needs a medium without collisions, where nothing else
//! delays a transfer for long.

use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::{Duration, sender::send_policy::Registered};
use tinygram_naglemark::model::{ACK_TICK, Model};
use tinygram_naglemark::parameters::{AckTimerKind, Measured, MediumKind, Parameters, Trial};

/// More than any transfer varies by, less than all but a tenth of the waits for a tick of 200 ms.
const BEYOND: Duration = Duration::from_millis(20);

/// A trial of type S with the fitted hosts and no clock but the one of 200 ms.
#[must_use]
pub(super) fn trial(
    medium: MediumKind,
    variant: &str,
    buffers: (u64, u64),
    seed: u64,
) -> Parameters {
    let (app_buffer, socket_buffer) = buffers;
    let mut parameters = Parameters::paper(
        Model::Fitted,
        medium,
        policy(variant),
        app_buffer,
        socket_buffer,
        Trial::SequentialOne,
    );
    parameters.ack_timer = Some(AckTimerKind::Cyclic(ACK_TICK));
    parameters.seed = seed;
    parameters
}

/// For each transfer of `measured`, a run of `parameters`, whether its policy delayed it.
pub(super) fn stalled(parameters: &Parameters, measured: &Measured) -> Vec<bool> {
    let mut undisturbed = parameters.clone();
    undisturbed.policy = policy("OFF");
    let undisturbed = undisturbed.run().samples;
    let pairs = measured.samples.iter().zip(&undisturbed);
    pairs
        .map(|(ours, undisturbed)| ours.elapsed > undisturbed.elapsed + BEYOND)
        .collect()
}

/// A variant of Table 3.
pub(super) fn policy(variant: &str) -> SendPolicy {
    let entry = Registered::named(variant).expect("Table 3's variants are registered");
    (entry.make)()
}
