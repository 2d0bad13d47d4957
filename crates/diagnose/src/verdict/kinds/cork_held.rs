//! TCP_CORK, MSG_MORE or autocorking that nobody ended: the tail of a message waits for the
//! kernel's own limit, one retransmission timeout (200 ms plus the round trip on Linux).

use crate::flow::half::Half;
use crate::flow::hold::Hold;

pub(crate) fn is(hold: &Hold, _: &Half) -> bool {
    hold.release.is_none()
}
