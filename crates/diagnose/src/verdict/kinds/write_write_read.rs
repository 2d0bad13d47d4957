//! Two writes, then a read: the second write is held until the first is acknowledged, and the peer,
//! which has half a message and nothing to answer, delays that ACK (RFC 896 meets RFC 813).

use crate::flow::half::Half;
use crate::flow::hold::Hold;

pub(crate) fn is(hold: &Hold, _: &Half) -> bool {
    hold.release.is_some() && hold.held_len < hold.mss
}
