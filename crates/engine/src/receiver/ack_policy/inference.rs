//! TRU64-INFERENCE: the receiver infers that the sender's buffer is small
//! (Mogul & Minshall, section 9).

use super::{AckVerdict, AckView, Arrival, BytesConsumed, Rule};

/// BYTES-CONSUMED, with the largest distance seen between what was sent and what was acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Inference {
    base: BytesConsumed,
    /// "The largest difference between the sender's sequence number and the receiver's own
    /// acknowledgment number", over the connection. Octets.
    largest: u64,
}

impl Default for Inference {
    fn default() -> Self {
        Self {
            base: BytesConsumed::BSD,
            largest: 0,
        }
    }
}

impl Rule for Inference {
    fn on_arrival(&mut self, arrival: &Arrival, view: &AckView) -> AckVerdict {
        self.largest = self.largest.max(arrival.end.since(view.acked));
        self.base.on_arrival(arrival, view)
    }

    fn on_read(&mut self, view: &AckView) -> AckVerdict {
        let mss = u64::from(view.mss);
        if self.largest >= mss && 2 * view.advance() >= self.largest {
            AckVerdict::Now
        } else {
            self.base.on_read(view)
        }
    }
}
