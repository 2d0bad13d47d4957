//! SunOS 4.1, a descendant of 4.3BSD, as Moldeklev & Gunningberg describe it (section 2).
//! Heidemann's hosts ran it, too.

use super::{Profile, Sizes, receiver, sender};
use crate::connection::Config;
use crate::extensions::Extensions;
use crate::receiver::ReceiverConfig;
use crate::receiver::ack_policy::{AckPolicy, AckTimer};
use crate::sender::congestion::restart::IdleRestart;
use crate::sender::send_policy::SendPolicy;
use crate::sender::{RtoRules, SenderConfig};
use crate::socket::copy_rule::{CopyRule, SunOs};
use crate::time::Duration;

pub(super) const PROFILE: Profile = Profile {
    name: "sunos_4_1",
    summary: "SunOS 4.1 (Moldeklev & Gunningberg; Heidemann): BSD's Nagle, 4096-octet pieces, ACKs by reads of 35 % or by the 200 ms tick",
    config,
};

fn config(sizes: &Sizes) -> Config {
    let rule = SunOs::AS_SHIPPED;
    Config {
        sender: SenderConfig {
            policy: SendPolicy::Nagle,
            cluster: rule.cluster,
            idle_restart: IdleRestart::None,
            // After the SYN has been acknowledged (Heidemann, section 2.1). Between hosts of one
            // subnet 4.3BSD uses no slow start (Moldeklev & Gunningberg, section 3).
            initial_cwnd: 2 * u64::from(sizes.mss),
            cwnd_cap: 65_535,
            // BSD's slow timer ticks every 500 ms; the timeout is at least two ticks.
            rto: RtoRules {
                granularity: Duration::from_millis(500),
                ..RtoRules::RFC_6298
            },
            ..sender(sizes)
        },
        receiver: ReceiverConfig {
            window_cap: 65_535,
            policy: AckPolicy::SunOs,
            // "These 200 ms spaced timer generated acknowledgments are independent of the point of
            // time of connection set-up or the last segment reception" (section 2.2).
            timer: AckTimer::BSD,
            ..receiver(sizes)
        },
        copy_rule: CopyRule::SunOs(rule),
        time_wait: Duration::from_secs(60),
        extensions: Extensions::NONE,
    }
}
