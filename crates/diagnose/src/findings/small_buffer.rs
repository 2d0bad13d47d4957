//! A send or receive buffer too small for the MSS (Moldeklev and Gunningberg; Mogul 1993): the
//! sender has filled it and waits for an ACK, while the receiver has less than two segments to
//! acknowledge or has freed too little of its buffer to announce it. Only the delayed-ACK timer
//! ends the deadlock.

use super::finding::Finding;
use super::said::release_evidence;
use crate::verdict::kinds::small_buffer::{fills_with_one_write, is_receivers, leaves_a_short_one};

/// Returns the reasons, one sentence each.
pub(super) fn evidence(f: &Finding) -> Vec<String> {
    let Some(h) = f.hold() else { return Vec::new() };
    let whose = match is_receivers(h) {
        true => format!("the {}'s receive window was full", f.blame),
        false if fills_with_one_write(h) => format!(
            "again after {} bytes, as it went on right upon the ACKs of as many before: its send \
                 buffer takes no more",
            h.flight
        ),
        false if leaves_a_short_one(h) => format!(
            "again after {} bytes, as large as its send buffer lets it; the {} that fit in \
                 behind them were held, being less than a segment",
            h.flight, h.held_len
        ),
        false => format!(
            "again after {} bytes, so its send buffer was full",
            h.flight
        ),
    };
    release_evidence(
        f,
        format!(
            "The {} stopped after frame {}: {whose}.",
            f.sender, h.trigger.frame
        ),
    )
}
