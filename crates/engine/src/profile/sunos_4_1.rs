//! SunOS 4.1, a descendant of 4.3BSD, as Moldeklev & Gunningberg describe it (section 2).
//! Heidemann's hosts ran it, too.

use super::{Profile, Sizes};
use crate::connection::Config;
use crate::extensions::Extensions;
use crate::receiver::ReceiverConfig;
use crate::receiver::ack_policy::{AckPolicy, AckTimer};
use crate::sender::congestion::{Congestion, restart::IdleRestart};
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
            mss: u32::from(sizes.mss),
            buffer: sizes.send_buffer,
            policy: SendPolicy::Nagle,
            more_in_every_variant: false,
            cluster: rule.cluster,
            congestion: Congestion::Reno,
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
        },
        receiver: ReceiverConfig {
            buffer: sizes.receive_buffer,
            window_cap: 65_535,
            mss: sizes.mss,
            policy: AckPolicy::SunOs,
            // "These 200 ms spaced timer generated acknowledgments are independent of the point of
            // time of connection set-up or the last segment reception" (section 2.2).
            timer: AckTimer::Cyclic {
                period: AckTimer::BSD_TICK,
                phase: Duration::ZERO,
                slow: None,
            },
        },
        copy_rule: CopyRule::SunOs(rule),
        time_wait: Duration::from_secs(60),
        extensions: Extensions::NONE,
    }
}
