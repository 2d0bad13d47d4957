//! What the reasons of several kinds have in common.

use tinygram_stalls::thresholds::NOTICED_DISTANCE_NS;
use tinygram_stalls::{Kind, ms};

use crate::findings::finding::Finding;

/// Returns the sentences about what was held behind data of any length.
pub(super) fn pieces_evidence(finding: &Finding) -> Vec<String> {
    let Some(hold) = finding.hold() else {
        return Vec::new();
    };
    let (sender, len, frame, mss) = (
        finding.sender,
        hold.trigger_len,
        hold.trigger.frame,
        hold.mss,
    );
    if let Some(behind) = &hold.behind {
        let first = format!(
            "The {sender} sent {} bytes (frame {}), less than one segment of {mss}, then full segments \
             (the last: frame {}), and nothing after them.",
            behind.len, behind.frame, behind.full
        );
        let mut said = release_evidence(finding, first);
        said.push(
            "By Minshall's rule a short segment waits until the short one before it is acknowledged."
                .to_owned(),
        );
        return said;
    }
    let first = match len {
        _ if len < mss => format!(
            "The {sender} sent {len} bytes (frame {frame}), less than one segment of {mss}, and nothing after them."
        ),
        _ if len.is_multiple_of(mss) => format!(
            "The {sender} sent full segments of {mss} bytes (the last: frame {frame}), and nothing after them."
        ),
        _ => format!(
            "The {sender} sent {len} bytes (frame {frame}), which end in less than one segment of {mss}, and \
             nothing after them."
        ),
    };
    release_evidence(finding, first)
}

/// Returns the sentences that every release by an ACK shares.
pub(super) fn release_evidence(finding: &Finding, first: String) -> Vec<String> {
    let Some(hold) = finding.hold() else {
        return Vec::new();
    };
    let receiver = finding.sender.other();
    let mut said = vec![first];
    if let Some(release) = hold.release {
        said.push(match hold.resent {
            None if finding.kind == Kind::NagleRoundTrip => format!(
                "The {receiver}'s ACK (frame {}) came {} after frame {}, {}.",
                release.frame,
                ms(hold.ack_wait_ns),
                hold.trigger.frame,
                match hold.path_measured {
                    true => "as fast as the path allows",
                    false => "about as fast as its fastest ACK",
                }
            ),
            None => format!(
                "The {receiver}'s ACK (frame {}) came {} after it: a delayed ACK.",
                release.frame,
                ms(hold.ack_wait_ns)
            ),
            Some(resent) => format!(
                "The {receiver} delays its ACKs for longer than the {} waits before it sends again (frame {}, \
                 {} after the first): the ACK of that (frame {}) ended the wait.",
                finding.sender,
                resent.mark.frame,
                ms(resent.after_ns),
                release.frame
            ),
        });
        let there = match hold.sender_distance_ns {
            Some(ns) if ns > NOTICED_DISTANCE_NS => {
                let way = format!(
                    "the round trip from the capture point to the {}",
                    finding.sender
                );
                match hold.path_measured {
                    true => format!(", which is {way} ({})", ms(ns)),
                    false => format!(", and {way} is at most {}", ms(ns)),
                }
            }
            _ => String::new(),
        };
        said.push(format!(
            "{} bytes (frame {}) followed the ACK by {}{there}: they had been ready and were held.",
            hold.held_len,
            hold.held.frame,
            ms(hold.reaction_ns)
        ));
    }
    said
}
