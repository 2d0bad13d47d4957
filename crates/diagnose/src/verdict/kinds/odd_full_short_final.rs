//! An odd number of full segments and a short final one (OF+SFS; Mogul and Minshall, section 2):
//! the receiver acknowledges every second segment at once and the odd one late, and Nagle's
//! original rule holds the short one until that ACK. Minshall's rule (Linux) does not.

use crate::flow::half::Half;
use crate::flow::hold::Hold;

pub(crate) fn is(hold: &Hold, _: &Half) -> bool {
    hold.release.is_some()
        && hold.behind.is_none()
        && hold.held_len < hold.mss
        && hold.trigger_len >= hold.mss
        && hold.trigger_len.is_multiple_of(hold.mss)
}
