//! Solaris 7, as Doupnik tested it (section 3.0): liberal Nagle, ACKs delayed by 50 ms, 8 KB of
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
    name: "solaris_7",
    summary: "Solaris 7 (Doupnik): liberal Nagle, every second segment acknowledged, 50 ms at the most",
    config,
};

fn config(sizes: &Sizes) -> Config {
    let mss = u64::from(sizes.mss);
    Config {
        sender: SenderConfig {
            policy: SendPolicy::LiberalNagle,
            idle_restart: IdleRestart::Reset,
            // `tcp_slow_start_initial` as shipped.
            initial_cwnd: mss,
            // `tcp_cwnd_max` as shipped.
            cwnd_cap: 32_768,
            rto: RtoRules {
                // `tcp_rexmit_interval_initial` and `tcp_rexmit_interval_min`.
                initial: Duration::from_secs(3),
                min: Duration::from_millis(200),
                ..RtoRules::RFC_6298
            },
            ..sender(sizes)
        },
        receiver: ReceiverConfig {
            window_cap: 65_535,
            policy: AckPolicy::EverySecond,
            // "50ms delayed ACK" (section 3.0); Davids: 50 before Solaris 8.
            timer: AckTimer::PerConnection(Duration::from_millis(50)),
            ..receiver(sizes)
        },
        // The stream head passes a write on whole: "some systems expose the entire application
        // buffer to the protocol stack" (section 2.0).
        copy_rule: CopyRule::WholeWrite(WholeWrite),
        time_wait: Duration::from_secs(240),
        // The draft mentions no extension.
        extensions: Extensions::NONE,
    }
}
