//! Linux 2.2, as Doupnik tested it (section 3.0): liberal Nagle, ACKs delayed by 10 ms, 16 KB of
//! window.

use super::{Profile, Sizes, receiver, sender};
use crate::connection::Config;
use crate::extensions::Extensions;
use crate::receiver::ReceiverConfig;
use crate::receiver::ack_policy::{AckPolicy, AckTimer};
use crate::sender::congestion::restart::IdleRestart;
use crate::sender::send_policy::SendPolicy;
use crate::sender::{RtoRules, SenderConfig};
use crate::socket::copy_rule::{CopyRule, WholeWrite};
use crate::time::Duration;

pub(super) const PROFILE: Profile = Profile {
    name: "linux_2_2",
    summary: "Linux 2.2 (Doupnik): liberal Nagle, every second segment acknowledged, 10 ms at the most",
    config,
};

fn config(sizes: &Sizes) -> Config {
    let mss = u64::from(sizes.mss);
    Config {
        sender: SenderConfig {
            policy: SendPolicy::LiberalNagle,
            idle_restart: IdleRestart::None,
            // RFC 2001's one segment, plus one for the handshake's ACK.
            initial_cwnd: 2 * mss,
            cwnd_cap: 1 << 20,
            rto: RtoRules {
                initial: Duration::from_secs(3),
                min: Duration::from_millis(200),
                granularity: Duration::from_millis(10),
                ..RtoRules::RFC_6298
            },
            ..sender(sizes)
        },
        receiver: ReceiverConfig {
            window_cap: 32_767,
            policy: AckPolicy::EverySecond,
            // "10ms dynamically adjusted delayed ACK" (section 3.0); the adjustment is not
            // described, and no experiment has this stack as its receiver.
            timer: AckTimer::PerConnection(Duration::from_millis(10)),
            ..receiver(sizes)
        },
        // "Some systems expose the entire application buffer to the protocol stack" (section 2.0).
        copy_rule: CopyRule::WholeWrite(WholeWrite),
        time_wait: Duration::from_secs(60),
        // The draft mentions no extension.
        extensions: Extensions::NONE,
    }
}
