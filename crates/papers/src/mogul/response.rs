//! The cost of one response, by simulation. The paper stops at the share of vulnerable lengths
//! (section 3.3); this returns how long each response takes and how many segments it needs.
//!
//! The response is the second one of a persistent connection, right after a tiny first one. This is
//! the state in which Heidemann's and the paper's stalls occur. (A server that closes after each
//! response never stalls at its end, because closing sends the rest.) As in the paper's model,
//! "both the application buffer and socket output buffer were large enough to hold the entire
//! message", so it is written at once. The hosts' work takes no time.

use std::sync::Arc;

use tinygram_engine::connection::Config;
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::AckTimer;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::socket::copy_rule::CopyRule;
use tinygram_engine::{Duration, Instant};
use tinygram_naglemark::REQUEST;
use tinygram_naglemark::workload::{Naglemark, Script, Writes};
use tinygram_sim::costs::HostCosts;
use tinygram_sim::dice::{Dice, Purpose};
use tinygram_sim::medium::{Side, Wire};
use tinygram_sim::{Ended, Opening, World, WorldConfig};

/// The hosts and the link between them.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// The rules of both ends, except the server's send policy.
    pub profile: &'static Profile,
    /// The maximum segment size, in octets; at least 1.
    pub mss: u16,
    /// The kernel's copying unit in octets, at least 1, if it copies in such units; `None` for the
    /// profile's own.
    pub mclbytes: Option<u64>,
    /// The rate of a full-duplex link; at least 1.
    pub bits_per_second: u64,
    /// The round-trip time in addition to what the link's rate takes.
    pub rtt: Duration,
}

/// The cost of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The time from the request to the response's last octet.
    pub elapsed: Duration,
    /// Data segments that the server sent.
    pub segments: u64,
}

impl Path {
    /// Sends a response of `length` octets (at least 1) to a client whose ACK clock, if it runs
    /// freely, first ticks at `phase`.
    #[must_use]
    pub fn respond(&self, policy: &SendPolicy, length: u32, phase: Duration) -> Taken {
        let lengths: Arc<[u32]> = Arc::new([FIRST, length]);
        let script = Script {
            lengths,
            request: REQUEST,
            app_buffer: u64::MAX,
            read_size: u64::MAX,
            requests_per_connection: usize::MAX,
            set_up: Duration::ZERO,
            service: Duration::ZERO,
            think: Duration::ZERO,
            writes: Writes::Plain,
        };
        let propagation = Duration::from_nanos(self.rtt.as_nanos() / 2);
        let wire = Wire::new(self.bits_per_second, OVERHEAD, LEAST, propagation);
        let config = WorldConfig::over(wire, [HostCosts::NONE; 2], 0);
        let programs = [
            vec![Naglemark::client(script.clone())],
            vec![Naglemark::server(script)],
        ];
        let mut world = World::new(config, programs);
        let mut client = self.host(length);
        if let AckTimer::Cyclic { phase: first, .. } = &mut client.receiver.timer {
            *first = phase;
        }
        let mut server = self.host(length);
        server.sender.policy = policy.clone();
        world.connect(Opening::Established, [client, server]);
        let ended = world.run(Instant::ZERO + LONGEST);
        let client = world.host(Side::Client).programs().next();
        let elapsed = client.map_or(&[][..], Naglemark::elapsed);
        let (Ended::Stopped, [_, elapsed]) = (ended, elapsed) else {
            panic!("{ended:?}, {length} octets under {policy:?}, {self:?}");
        };
        let counters = world.host(Side::Server).sockets()[0].counters();
        Taken {
            elapsed: *elapsed,
            segments: counters.data_segments - 1,
        }
    }

    fn host(&self, length: u32) -> Config {
        let mut config = (self.profile.config)(&Sizes {
            mss: self.mss,
            send_buffer: u64::from(length).max(64 * 1024),
            receive_buffer: RECEIVE_BUFFER,
        });
        if let (CopyRule::Mclbytes(rule), Some(cluster)) = (&mut config.copy_rule, self.mclbytes) {
            rule.cluster = cluster;
            config.sender.cluster = cluster;
        }
        config
    }

    /// Returns the phases of the client's ACK clock that `count` responses (at least 1) of one
    /// length meet, and how many responses meet each: `at_most` phases, evenly spread from a random
    /// one on. If the clock starts with the segment, all responses have one phase.
    #[must_use]
    pub fn phases(&self, length: u32, count: u64, at_most: u64) -> Vec<(Duration, u64)> {
        let AckTimer::Cyclic { period, .. } = self.host(length).receiver.timer else {
            return vec![(Duration::ZERO, count)];
        };
        let phases = count.min(at_most).max(1);
        let apart = period.as_nanos() / phases;
        let mut dice = Dice::new(length.into(), Purpose::Phase);
        let first = dice.below(apart.clamp(1, 1 << 32));
        (0..phases)
            .map(|phase| {
                let at = Duration::from_nanos(first + phase * apart);
                let share = count / phases + u64::from(phase < count % phases);
                (at, share)
            })
            .collect()
    }
}

/// The first response; no policy holds its only segment.
const FIRST: u32 = 1;
/// The octets of TCP and IP headers and of Ethernet's preamble, header, trailer and gap.
const OVERHEAD: u64 = 40 + 38;
/// The least octets of a frame: 64, plus preamble and gap.
const LEAST: u64 = 84;
/// A limit that no stall reaches: no policy holds forever.
const LONGEST: Duration = Duration::from_secs(10_000_000);
/// Not a limit by itself: the profile's window cap limits what is advertised.
const RECEIVE_BUFFER: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::super::prevalence::Vulnerability;
    use super::*;

    fn path(profile: &str) -> Path {
        Path {
            profile: Profile::named(profile).expect(profile),
            mss: 1460,
            mclbytes: None,
            bits_per_second: 100_000_000,
            rtt: Duration::ZERO,
        }
    }

    /// Returns how much later the response comes than if nothing is held.
    fn stall(path: &Path, policy: &str, length: u32) -> Duration {
        let respond = |name| {
            let policy = SendPolicy::named(name).expect(name);
            path.respond(&policy, length, Duration::from_millis(150))
        };
        let (held, free) = (respond(policy), respond("off"));
        Duration::from_nanos(held.elapsed.as_nanos() - free.elapsed.as_nanos())
    }

    /// The paper's model describes this kernel with large buffers. Its exception for messages below
    /// MCLBYTES requires the whole message to leave in the one call of `tcp_output` that found the
    /// connection idle. The congestion window of three segments stops that call if there are five
    /// segments and a short one.
    #[test]
    fn the_simulated_stalls_are_at_the_lengths_that_the_paper_predicts_but_for_the_window() {
        let path = path("tru64_4");
        let predicted = Vulnerability {
            mss: path.mss,
            mclbytes: Some(8192),
        };
        let differ: Vec<_> = (100..=100_000_u32)
            .step_by(100)
            .filter(|&length| {
                let stalls = stall(&path, "nagle", length) > Duration::from_millis(100);
                stalls != predicted.is_delayed(length.into())
            })
            .collect();
        let cut_by_the_window: Vec<_> = (7400..8192).step_by(100).collect();
        assert_eq!(differ, cut_by_the_window);
    }

    /// A message is cut at multiples of the unit, whose ends are short segments.
    #[test]
    fn the_copying_unit_moves_the_lengths_that_stall() {
        let stalling = |profile, mclbytes| -> Vec<u32> {
            let path = Path {
                mclbytes,
                ..path(profile)
            };
            let lengths = (4_000..24_000).step_by(400);
            lengths
                .filter(|length| stall(&path, "nagle", *length) > Duration::from_millis(100))
                .collect()
        };
        let own = stalling("tru64_4", None);
        assert_eq!(stalling("tru64_4", Some(8192)), own);
        assert_ne!(stalling("tru64_4", Some(2048)), own);
        // A kernel without such units has none to change.
        let none = stalling("linux_6", None);
        assert_eq!(stalling("linux_6", Some(2048)), none);
    }

    #[test]
    fn the_modified_policies_hold_none_of_them() {
        let path = path("tru64_4");
        for policy in ["minshall", "msmv", "dldet", "e+m+d"] {
            for length in [8300, 23_000, 31_000, 100_000] {
                let stall = stall(&path, policy, length);
                assert!(stall < Duration::from_millis(1), "{policy} {length}");
            }
        }
    }

    #[test]
    fn segments_are_those_of_the_second_response() {
        let taken = path("modern").respond(&SendPolicy::Off, 14_601, Duration::ZERO);
        assert_eq!(taken.segments, 11);
    }

    #[test]
    fn phases_are_spread_over_the_period_and_responses_over_the_phases() {
        let phases_of = |profile, count| path(profile).phases(5000, count, 10);
        assert_eq!(phases_of("linux_6", 100), [(Duration::ZERO, 100)]);
        let phases = phases_of("tru64_4", 25);
        let period = Duration::from_millis(200);
        assert!(phases.iter().all(|(phase, _)| *phase < period));
        let apart = phases[9].0.as_nanos() - phases[0].0.as_nanos();
        assert_eq!(apart, 180_000_000);
        let shares: Vec<_> = phases.iter().map(|(_, share)| *share).collect();
        assert_eq!(shares, [3, 3, 3, 3, 3, 2, 2, 2, 2, 2]);
        let alone: Vec<_> = phases_of("tru64_4", 3).iter().map(|it| it.1).collect();
        assert_eq!(alone, [1, 1, 1]);
    }
}
