//! Our recommendation to the author of a stack today: flush-on-block-simple at the sender, and a
//! receiver that acknowledges every second segment and no later than 40 ms.

use super::{Profile, Sizes, receiver, sender};
use crate::connection::Config;
use crate::extensions::Extensions;
use crate::receiver::ReceiverConfig;
use crate::receiver::ack_policy::{AckPolicy, AckTimer};
use crate::sender::congestion::{Congestion, restart::IdleRestart};
use crate::sender::send_policy::SendPolicy;
use crate::sender::{RtoRules, SenderConfig};
use crate::socket::copy_rule::{CopyRule, Linux};
use crate::time::Duration;

pub(super) const PROFILE: Profile = Profile {
    name: "modern",
    summary: "our recommendation: flush-on-block-simple, every second segment acknowledged, 40 ms at the most",
    config,
};

fn config(sizes: &Sizes) -> Config {
    let mss = u64::from(sizes.mss);
    Config {
        sender: SenderConfig {
            policy: SendPolicy::FlushOnBlockSimple,
            congestion: Congestion::Cubic,
            idle_restart: IdleRestart::Reset,
            initial_cwnd: 10 * mss,
            cwnd_cap: 1 << 30,
            rto: RtoRules {
                min: Duration::from_millis(200),
                ..RtoRules::RFC_6298
            },
            ..sender(sizes)
        },
        receiver: ReceiverConfig {
            window_cap: 1 << 30,
            policy: AckPolicy::EverySecond,
            timer: AckTimer::PerConnection(Duration::from_millis(40)),
            ..receiver(sizes)
        },
        copy_rule: CopyRule::Linux(Linux),
        time_wait: Duration::from_secs(60),
        extensions: Extensions::MODERN,
    }
}
