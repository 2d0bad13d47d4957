//! A message torn by a buffer whose size is no multiple of the MSS (Mogul and Minshall, section
//! 3.1): 4100 bytes through a buffer of 4096 leave as 1460, 1460, 1176, and 4 that are held.

use crate::flow::half::Half;
use crate::flow::hold::Hold;
use tinygram_stalls::buffer;

pub(crate) fn is(hold: &Hold, _: &Half) -> bool {
    hold.release.is_some() && hold.held_len < hold.mss && buffer::tears(hold.flight, hold.mss)
}
