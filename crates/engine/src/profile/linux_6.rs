//! Linux 6: Minshall's test, quick ACKs, an initial window of ten segments.

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
    name: "linux_6",
    summary: "Linux 6: Minshall's test with CORK and MORE, quick ACKs then 40 ms, 10 segments at first",
    config,
};

fn config(sizes: &Sizes) -> Config {
    let mss = u64::from(sizes.mss);
    Config {
        sender: SenderConfig {
            policy: SendPolicy::Linux,
            congestion: Congestion::CubicLinux,
            // `tcp_slow_start_after_idle` is on as shipped.
            idle_restart: IdleRestart::Decay,
            // RFC 6928.
            initial_cwnd: 10 * mss,
            cwnd_cap: 1 << 30,
            rto: RtoRules {
                min: Duration::from_millis(200),
                margin: Duration::from_millis(200),
                max: Duration::from_secs(120),
                granularity: Duration::from_millis(4),
                give_up_after: 15,
                every_ack: true,
                ..RtoRules::RFC_6298
            },
            ..sender(sizes)
        },
        receiver: ReceiverConfig {
            window_cap: 1 << 30,
            policy: AckPolicy::Linux,
            timer: AckTimer::PerConnection(Duration::from_millis(40)),
            ..receiver(sizes)
        },
        copy_rule: CopyRule::Linux(Linux),
        time_wait: Duration::from_secs(60),
        extensions: Extensions::LINUX_6,
    }
}
