//! UnixWare 7, as Doupnik tested it (section 3.0): strict Nagle, ACKs delayed by 200 ms, 32 KB of
//! window. "Source code was not available."

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
    name: "unixware_7",
    summary: "UnixWare 7 (Doupnik): strict Nagle, every second segment acknowledged, 200 ms cyclic ACK timer",
    config,
};

fn config(sizes: &Sizes) -> Config {
    let mss = u64::from(sizes.mss);
    Config {
        sender: SenderConfig {
            // "Strict Nagle mode" (section 3.0).
            policy: SendPolicy::StrictNagle,
            idle_restart: IdleRestart::Reset,
            initial_cwnd: mss,
            cwnd_cap: 65_535,
            rto: RtoRules {
                initial: Duration::from_secs(3),
                granularity: Duration::from_millis(500),
                ..RtoRules::RFC_6298
            },
            ..sender(sizes)
        },
        receiver: ReceiverConfig {
            window_cap: 65_535,
            // "Typically, every other arrival generates an ACK" (section 1.6). It must mean
            // arrivals worth two full segments, as in RFC 1122: if arrivals of any size counted,
            // the short file of Table 1 would not stall on this client.
            policy: AckPolicy::EverySecond,
            // "200ms delayed ACK" (section 3.0); a tick of this length gives the five requests per
            // second.
            timer: AckTimer::BSD,
            ..receiver(sizes)
        },
        // A System V stream head passes a write on whole.
        copy_rule: CopyRule::WholeWrite(WholeWrite),
        time_wait: Duration::from_secs(60),
        // The draft mentions no extension.
        extensions: Extensions::NONE,
    }
}
