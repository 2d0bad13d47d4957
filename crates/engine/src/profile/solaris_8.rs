//! Solaris 8, as Davids describes it: Nagle's rule with a limit, and a delayed-ACK timer, both of
//! which the administrator can set.

use super::{Profile, Sizes, receiver, sender};
use crate::connection::Config;
use crate::extensions::Extensions;
use crate::receiver::ReceiverConfig;
use crate::receiver::ack_policy::{AckPolicy, AckTimer};
use crate::sender::congestion::restart::IdleRestart;
use crate::sender::send_policy::{NAGLIM_DEFAULT, SendPolicy};
use crate::sender::{RtoRules, SenderConfig};
use crate::socket::copy_rule::{CopyRule, WholeWrite};
use crate::time::Duration;

pub(super) const PROFILE: Profile = Profile {
    name: "solaris_8",
    summary: "Solaris 8 (Davids): tcp_naglim_def, every second segment acknowledged, 100 ms at the most",
    config,
};

fn config(sizes: &Sizes) -> Config {
    let mss = u64::from(sizes.mss);
    Config {
        sender: SenderConfig {
            // "Each connection has its own copy of this value, which is set to the minimum of the
            // MSS for the connection and the default value."
            policy: SendPolicy::naglim(NAGLIM_DEFAULT),
            idle_restart: IdleRestart::Reset,
            // `tcp_slow_start_initial`.
            initial_cwnd: 4 * mss,
            // `tcp_cwnd_max`.
            cwnd_cap: 1 << 20,
            rto: RtoRules {
                // `tcp_rexmit_interval_initial` and `tcp_rexmit_interval_min`.
                initial: Duration::from_secs(3),
                min: Duration::from_millis(400),
                ..RtoRules::RFC_6298
            },
            ..sender(sizes)
        },
        receiver: ReceiverConfig {
            // Without scaling.
            window_cap: 65_535,
            policy: AckPolicy::EverySecond,
            // "On Solaris 8, I think that the default value is 100" (`tcp_deferred_ack_interval`).
            timer: AckTimer::PerConnection(Duration::from_millis(100)),
            ..receiver(sizes)
        },
        // The stream head passes a write on whole.
        copy_rule: CopyRule::WholeWrite(WholeWrite),
        // `tcp_time_wait_interval`.
        time_wait: Duration::from_secs(240),
        // The article mentions no extension.
        extensions: Extensions::NONE,
    }
}
