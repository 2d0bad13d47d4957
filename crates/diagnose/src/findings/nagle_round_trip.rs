//! A short segment held for a round trip although nobody delayed an ACK: on a long path Nagle's
//! algorithm alone costs every message of two writes one more round trip (RFC 896).

use super::finding::Finding;
use super::said::pieces_evidence;

/// Returns the reasons, one sentence each.
pub(super) fn evidence(f: &Finding) -> Vec<String> {
    let Some(h) = f.hold() else { return Vec::new() };
    let tells = if h.path_measured {
        ""
    } else {
        " as far as its ACKs tell,"
    };
    let mut said = pieces_evidence(f);
    said.push(format!(
        "The wait was one round trip of the path,{tells} and the {} answered after the held bytes.",
        f.sender.other()
    ));
    said
}
