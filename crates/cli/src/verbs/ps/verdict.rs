//! Judges a connection by its counts and options: a stall, a flood, or nothing in particular.
//!
//! The results are signs, not proofs; a capture can prove them (`tinygram diagnose`).

use serde::Serialize;
use tinygram_stalls::flood;
use tinygram_stalls::thresholds::{
    ENOUGH_SEGMENTS, LEAST_WAIT_NS, SEVERAL_PER_ANSWER, SMALL_SHARE, WAITING_ROUND_TRIPS,
};

use super::socket::{Counts, Options};

/// A sign of trouble, with the figures on which it is based.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// Bytes wait for an acknowledgment at this instant: Nagle's algorithm holds a runt.
    HeldNow { bytes: u32 },
    /// The program's own cork holds a runt at this instant.
    CorkedNow { bytes: u32 },
    /// Small segments that stay unacknowledged much longer than the path takes, because writes wait
    /// for delayed acknowledgments.
    LooksLikeStall {
        bytes_per_segment: f64,
        busy_ms_per_segment: f64,
    },
    /// With Nagle off, segments far smaller than necessary, and several for each that comes back.
    LooksLikeFlood {
        bytes_per_segment: f64,
        segments_per_received: f64,
    },
}

impl Verdict {
    /// Returns one line for a person.
    pub(crate) fn explain(&self) -> String {
        match self {
            Self::HeldNow { bytes } => {
                format!("stall: {bytes} bytes wait for an acknowledgment now (Nagle)")
            }
            Self::CorkedNow { bytes } => {
                format!("stall: {bytes} bytes are corked by the program now")
            }
            Self::LooksLikeStall {
                bytes_per_segment,
                busy_ms_per_segment,
            } => format!(
                "looks like a stall: {bytes_per_segment:.0} bytes a segment, each {busy_ms_per_segment:.0} ms on the way \
                 (writes waiting for delayed acknowledgments)"
            ),
            Self::LooksLikeFlood {
                bytes_per_segment,
                segments_per_received,
            } => format!(
                "looks like a flood: {bytes_per_segment:.0} bytes a segment, {segments_per_received:.1} segments for \
                 each received (writes that one writev could send)"
            ),
        }
    }
}

/// Returns the first sign that applies, the surest first.
pub(crate) fn judge(options: Option<&Options>, counts: &Counts) -> Option<Verdict> {
    let bytes_per_segment = counts.bytes_per_segment();
    let runt = counts.bytes_not_sent > 0 && counts.bytes_not_sent < counts.mss;
    // A closed window and a full congestion window hold bytes too, but a runt only by chance.
    let window_open = counts.segments_unacknowledged < counts.congestion_window;
    if let Some(options) = options.filter(|_| runt && window_open) {
        let bytes = counts.bytes_not_sent;
        if options.cork {
            return Some(Verdict::CorkedNow { bytes });
        }
        if !options.nodelay && counts.segments_unacknowledged > 0 {
            return Some(Verdict::HeldNow { bytes });
        }
    }
    let bytes_per_segment = bytes_per_segment?;
    let small = bytes_per_segment < f64::from(counts.mss) * SMALL_SHARE;
    if !small || counts.data_segments_sent < ENOUGH_SEGMENTS {
        return None;
    }
    let nodelay = options?.nodelay;
    let sent = f64::from(counts.data_segments_sent);
    let segments_per_received = sent / f64::from(counts.data_segments_received.max(1));
    let several = segments_per_received >= SEVERAL_PER_ANSWER;
    if nodelay {
        return is_flood(counts).then_some(Verdict::LooksLikeFlood {
            bytes_per_segment,
            segments_per_received,
        });
    }
    // The smoothed round trip contains the delayed acknowledgments; the least one does not.
    let busy_ms_per_segment = counts.busy_us as f64 / sent / 1e3;
    let path_ms = f64::from(counts.min_rtt_us) / 1e3;
    let waits = busy_ms_per_segment > path_ms * WAITING_ROUND_TRIPS + LEAST_WAIT_NS as f64 / 1e6;
    (several && waits).then_some(Verdict::LooksLikeStall {
        bytes_per_segment,
        busy_ms_per_segment,
    })
}

/// Returns whether the counts are a flood's by the law's measure: so many segments for each answer that it is one whatever
/// their rate is, which the counts do not tell.
fn is_flood(counts: &Counts) -> bool {
    let (sent, received) = (counts.data_segments_sent, counts.data_segments_received);
    let mergeable = sent.saturating_sub(received);
    let measured = flood::Counts {
        segments: sent,
        short: sent,
        bytes: counts.bytes_sent,
        // They are not counted: every second segment is acknowledged.
        acks: sent / 2,
        mergeable,
        mergeable_bytes: counts.bytes_sent * u64::from(mergeable) / u64::from(sent.max(1)),
        runs: received,
        lasted_ns: i64::MAX,
        mss: counts.mss.max(1),
        ..flood::Counts::default()
    };
    measured.flood().is_some_and(|flood| flood.accuses())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(nodelay: bool, cork: bool) -> Options {
        Options {
            nodelay,
            cork,
            quickack: true,
            delayed_ack_max_us: None,
            rto_min_us: None,
            send_buffer: 1,
            receive_buffer: 1,
        }
    }

    /// Returns the counts of a stalled sender after 100 exchanges of two writes of 100 bytes and
    /// one answer.
    fn two_writes(busy_us: u64) -> Counts {
        Counts {
            mss: 1448,
            min_rtt_us: 20,
            congestion_window: 10,
            data_segments_sent: 200,
            data_segments_received: 100,
            bytes_sent: 20_000,
            busy_us,
            ..Counts::default()
        }
    }

    #[test]
    fn a_stall_is_small_segments_long_on_the_way() {
        let stalled = two_writes(100 * 40_000);
        assert!(matches!(
            judge(Some(&options(false, false)), &stalled),
            Some(Verdict::LooksLikeStall { .. })
        ));
        let quick = two_writes(100 * 60);
        assert_eq!(judge(Some(&options(false, false)), &quick), None);
    }

    #[test]
    fn a_long_path_is_no_stall() {
        let far = Counts {
            min_rtt_us: 40_000,
            ..two_writes(100 * 60_000)
        };
        assert_eq!(judge(Some(&options(false, false)), &far), None);
    }

    #[test]
    fn a_flood_is_many_small_segments_an_answer() {
        let counts = Counts {
            data_segments_received: 40,
            ..two_writes(0)
        };
        assert!(matches!(
            judge(Some(&options(true, false)), &counts),
            Some(Verdict::LooksLikeFlood { .. })
        ));
        // Twice the packets are a remark (`FLOOD_LEAST_FACTOR`), and three times are a flood at a rate, which is not told.
        for received in [100, 67] {
            let fewer = Counts {
                data_segments_received: received,
                ..counts.clone()
            };
            assert_eq!(judge(Some(&options(true, false)), &fewer), None);
        }
        let one_each = Counts {
            data_segments_received: 200,
            ..counts.clone()
        };
        assert_eq!(judge(Some(&options(true, false)), &one_each), None);
        let full = Counts {
            bytes_sent: 200 * 1448,
            ..counts
        };
        assert_eq!(judge(Some(&options(true, false)), &full), None);
    }

    #[test]
    fn bytes_held_at_this_instant_are_named_after_who_holds_them() {
        let held = Counts {
            bytes_not_sent: 100,
            segments_unacknowledged: 1,
            ..two_writes(0)
        };
        assert_eq!(
            judge(Some(&options(false, false)), &held),
            Some(Verdict::HeldNow { bytes: 100 })
        );
        assert_eq!(
            judge(Some(&options(false, true)), &held),
            Some(Verdict::CorkedNow { bytes: 100 })
        );
        let window_full = Counts {
            congestion_window: 1,
            ..held
        };
        assert_eq!(judge(Some(&options(false, false)), &window_full), None);
    }

    #[test]
    fn without_options_nothing_is_said() {
        assert_eq!(judge(None, &two_writes(100 * 40_000)), None);
    }
}
