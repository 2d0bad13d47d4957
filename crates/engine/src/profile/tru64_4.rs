//! Tru64 UNIX 4.0F, the kernel that Mogul & Minshall modified, as their text describes it.
//!
//! What their results show beyond the text is fitted in the naglemark model instead.

use super::{Profile, Sizes, receiver, sender};
use crate::connection::Config;
use crate::extensions::Extensions;
use crate::receiver::ReceiverConfig;
use crate::receiver::ack_policy::{AckPolicy, AckTimer};
use crate::sender::congestion::restart::IdleRestart;
use crate::sender::send_policy::SendPolicy;
use crate::sender::{RtoRules, SenderConfig};
use crate::socket::copy_rule::{CopyRule, Mclbytes};
use crate::time::Duration;

pub(super) const PROFILE: Profile = Profile {
    name: "tru64_4",
    summary: "Tru64 UNIX 4.0F (Mogul & Minshall): BSD's Nagle, MCLBYTES 8192, 200 ms cyclic ACK timer",
    config,
};

/// "On this system, MCLBYTES = 8192" (section 7).
const MCLBYTES: u64 = 8192;

fn config(sizes: &Sizes) -> Config {
    Config {
        sender: SenderConfig {
            policy: SendPolicy::Nagle,
            cluster: MCLBYTES,
            idle_restart: IdleRestart::None,
            // "We assume that cwnd is 2 * MSS, which is commonly the case after the client's SYN
            // has been acknowledged" (section 3).
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
            policy: AckPolicy::BytesConsumed,
            timer: AckTimer::BSD,
            ..receiver(sizes)
        },
        copy_rule: CopyRule::Mclbytes(Mclbytes {
            cluster: MCLBYTES,
            low_water: Mclbytes::LOW_WATER,
        }),
        time_wait: Duration::from_secs(60),
        extensions: Extensions::NONE,
    }
}
