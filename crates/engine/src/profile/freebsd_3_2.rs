//! FreeBSD 3.2, as Doupnik tested it (section 3.0): strict Nagle, and ACKs that wait for the
//! application to read or for a tick of 200 ms.

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
    name: "freebsd_3_2",
    summary: "FreeBSD 3.2 (Doupnik): strict Nagle, MCLBYTES 2048, 200 ms cyclic ACK timer",
    config,
};

/// As shipped.
const MCLBYTES: u64 = 2048;

fn config(sizes: &Sizes) -> Config {
    let mss = u64::from(sizes.mss);
    Config {
        sender: SenderConfig {
            // "Strict Nagle mode" (section 3.0), which the draft tests for every segment (1.4). The
            // source tests idleness once per pass (`nagle`). What the draft measured of this server
            // cannot tell the two apart.
            policy: SendPolicy::StrictNagle,
            cluster: MCLBYTES,
            // 4.4BSD: after an idle timeout, back to one segment.
            idle_restart: IdleRestart::Reset,
            initial_cwnd: mss,
            cwnd_cap: 65_535,
            // BSD's slow timer ticks every 500 ms; the timeout is at least two ticks.
            rto: RtoRules {
                initial: Duration::from_secs(3),
                granularity: Duration::from_millis(500),
                ..RtoRules::RFC_6298
            },
            ..sender(sizes)
        },
        receiver: ReceiverConfig {
            window_cap: 65_535,
            policy: AckPolicy::BytesConsumed,
            // "200ms delayed ACK" (section 3.0): BSD's fast timer.
            timer: AckTimer::BSD,
            ..receiver(sizes)
        },
        copy_rule: CopyRule::Mclbytes(Mclbytes {
            cluster: MCLBYTES,
            low_water: Mclbytes::LOW_WATER,
        }),
        time_wait: Duration::from_secs(60),
        // The draft mentions no extension.
        extensions: Extensions::NONE,
    }
}
