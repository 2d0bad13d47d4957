//! Whether a pair of buffers deadlocks, by the paper's inequalities.

use tinygram_engine::receiver::ReceiverConfig;
use tinygram_engine::receiver::ack_policy::AckPolicy;

/// So many octets make the receiver acknowledge by itself once they have been read; what is less may
/// wait for the timer.
#[must_use]
pub fn acknowledges_after(receiver: &ReceiverConfig) -> u64 {
    let mss = u64::from(receiver.mss);
    match receiver.policy {
        AckPolicy::BytesConsumed(rule) => {
            let share = (rule.percent * receiver.buffer).div_ceil(100);
            if rule.two_segments {
                share.min(2 * mss)
            } else {
                share
            }
        }
        _ => 2 * mss,
    }
}
